//! Rules of exclusive leadership that are not sound, evaluated on the worlds in which the sound one
//! leads: how long each would have had two leaders.
//!
//! A rule is asked each millisecond and changes nothing: its requests go to a copy of the
//! coordinator.

use std::time::Duration;

use tandem::groups::{Coordinator, Token};
use tandem::ids::PartitionId;
use tandem::neli::membership::{GroupMember, Request, Response};
use tandem::time::Mono;

use super::faults::Fault;
use super::groups::scene;
use super::leaders::{BOTH, THRESHOLD};
use super::network::asker;
use super::world::{SESSION, Story, World, ms};

/// `G` of the paper's rule: `T + e + rtt + poll`, of which `e` is nothing in one world.
const GRACE: Duration = Duration::from_millis(800 + 10 + 50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// A member leads what it holds while it hears messages that brokers stamped less than `T` ago,
    /// from `G` after it was given that until the group or its own session takes it away. Here all
    /// hear messages all the time.
    Papers,
    /// It leads what it was given while a commit of its was acknowledged less than `T` ago.
    Commits,
    /// The same of a heartbeat.
    Heartbeats,
    /// What is shipped: both, and nothing from the first 27 on.
    Both,
}

const RULES: [Rule; 4] = [Rule::Papers, Rule::Commits, Rule::Heartbeats, Rule::Both];

/// What a member believes under a rule.
#[derive(Debug, Clone, Default)]
struct Belief {
    member_id: String,
    generation: i32,
    held: Vec<PartitionId>,
    /// When it was given that.
    since: Option<Mono>,
    /// `P` or `V[k]`.
    proof: Option<Mono>,
}

impl Belief {
    /// What a member holds now, if it is in a new generation.
    fn renew(&mut self, now: Mono, core: &GroupMember) {
        let generation = core.generation().unwrap_or(-1);
        let id = core.member_id().unwrap_or_default();
        if core.is_stable() && (self.generation, self.member_id.as_str()) != (generation, id) {
            let (held, member_id) = (core.held().collect(), id.to_owned());
            *self = Self { member_id, generation, held, since: Some(now), proof: None };
        }
    }

    fn leads(&self, now: Mono, partition: PartitionId, lasts: Duration) -> bool {
        self.held.contains(&partition) && self.proof.is_some_and(|proof| now < proof + lasts)
    }

    /// What it makes of an answer.
    fn heed(&mut self, now: Mono, rule: Rule, answer: Option<&Response>) {
        match answer {
            Some(Response::Done) => self.proof = Some(now),
            // The group rebalances, or is done without this member.
            Some(_) if rule == Rule::Papers => self.held.clear(),
            Some(_) | None => {}
        }
    }
}

impl World {
    /// What the coordinator that a member reaches would answer.
    fn would_answer(&self, place: usize, request: Request) -> Option<Response> {
        if self.is_deposed_for(place) {
            return matches!(request, Request::Heartbeat { .. }).then_some(Response::Done);
        }
        let mut copy: Coordinator = self.coordinator.clone();
        let asker = asker(self, place, Token(0));
        model::ask(&mut copy, self.coordinator_now(), asker, Token(0), request)
    }

    /// What a member asks by which it proves its membership.
    fn asks(rule: Rule, belief: &Belief) -> Option<Request> {
        let Belief { member_id, generation, held, .. } = belief.clone();
        let partition = *held.first()?;
        match rule {
            Rule::Papers | Rule::Heartbeats => Some(Request::Heartbeat { member_id, generation }),
            Rule::Commits => {
                Some(Request::Commit { member_id, generation, offsets: vec![(partition, 0)] })
            }
            Rule::Both => None,
        }
    }

    fn leaders(&self, rule: Rule, beliefs: &[Belief], k: PartitionId) -> usize {
        let leads = |(place, belief): &(usize, &Belief)| match rule {
            Rule::Both => {
                self.places[*place].neli.as_ref().is_some_and(|neli| neli.leads(self.now, k))
            }
            Rule::Papers => {
                let waited = belief.since.is_some_and(|since| self.now >= since + GRACE);
                waited && belief.leads(self.now, k, SESSION)
            }
            Rule::Heartbeats | Rule::Commits => belief.leads(self.now, k, THRESHOLD),
        };
        beliefs.iter().enumerate().filter(leads).count()
    }
}

/// For how many milliseconds a partition has two leaders under a rule, and whether each has one
/// before the first fault.
fn doubled(story: &Story, rule: Rule) -> (u64, bool) {
    let mut world = World::new(story.clone());
    let mut beliefs = vec![Belief::default(); world.places.len()];
    let (mut doubled, mut led) = (0, true);
    for at in 0..8_000 {
        world.run(world.now + ms(1));
        let now = world.now;
        for (place, belief) in beliefs.iter_mut().enumerate() {
            let Some(core) = &world.places[place].core else { continue };
            belief.renew(now, core);
            if let Some(request) = World::asks(rule, belief) {
                let answer = world.would_answer(place, request);
                belief.heed(now, rule, answer.as_ref());
            }
        }
        let counts = (0..world.story.width).map(|k| world.leaders(rule, &beliefs, PartitionId(k)));
        let counts: Vec<usize> = counts.collect();
        doubled += u64::from(counts.iter().any(|count| *count > 1));
        led &= at != 1_400 || counts.iter().all(|count| *count == 1);
    }
    (doubled, led)
}

fn story(renews_id: bool, faults: &[(u64, Fault)]) -> Story {
    Story { proves: Some(BOTH), ..scene(renews_id, faults) }
}

/// Under which rules two lead, each with the milliseconds.
fn unsound(name: &str, story: &Story) -> Vec<(Rule, u64)> {
    let each = RULES.map(|rule| (rule, doubled(story, rule)));
    for (rule, (ms, led)) in each {
        eprintln!("{name}: two leaders for {ms} ms under {rule:?}");
        assert!(led, "{name}: {rule:?} leads everything before the fault");
    }
    // Members that claim until they have their next assignment hand over in a few milliseconds.
    each.into_iter().filter(|(_, (ms, _))| *ms > 10).map(|(rule, (ms, _))| (rule, ms)).collect()
}

/// The coordinator that one member reaches was deposed and does not know it. It counts the member
/// in for ever; only a commit would show that it can replicate nothing.
#[test]
fn a_deposed_coordinator_gives_two_leaders_to_all_who_do_not_commit() {
    let deposed = story(true, &[(1_500, Fault::Deposed { place: 0, ms: 2_500 })]);
    let found = unsound("deposed", &deposed);
    assert_eq!(doubled(&deposed, Rule::Both).0, 0);
    assert_eq!(found.iter().map(|it| it.0).collect::<Vec<_>>(), [Rule::Papers, Rule::Heartbeats]);
    // From the expiry of its session on, and under the paper's rule `G` later, until it recovers.
    let [(_, papers), (_, heartbeats)] = found[..] else { panic!("{found:?}") };
    assert!((400..=1_700).contains(&papers), "{papers} ms");
    assert!((1_200..=2_500).contains(&heartbeats), "{heartbeats} ms");
}

/// A rebalance waits for one member until `max.poll.interval`, and then goes on without it. The
/// coordinator acknowledges its commits to the last.
#[test]
fn an_ignored_rebalance_gives_two_leaders_to_who_only_commits() {
    let held = Fault::HoldJoin { place: 2, ms: 6_000 };
    let leave = Fault::Leave { place: 1, back_after_ms: Some(50) };
    let mut faults = vec![(1_500, held.clone())];
    faults.extend(vec![(0, held); 7]);
    faults.push((0, leave));
    let ignored = story(false, &faults);
    let found = unsound("ignored", &ignored);
    assert_eq!(doubled(&ignored, Rule::Both).0, 0);
    let [(Rule::Commits, ms)] = found[..] else { panic!("{found:?}") };
    assert!((700..=800).contains(&ms), "{ms} ms, of a threshold of 800");
}
