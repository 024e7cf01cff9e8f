//! Members in exclusive mode: no two of a group ever lead one partition, under any fault of the
//! network, the hosts and the coordinator. What rests on heartbeats alone does not keep that.

use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::ids::PartitionId;
use tandem::neli::membership::{
    Assignor, Broker, GroupConfig, GroupEvent, GroupMember, Joined, Refusal, Request, Response,
    encode_assignment,
};
use tandem::neli::{Config, Heard, Membership, Neli, Pulse};
use tandem::observation::Mode;
use tandem::time::Mono;

use super::faults::Fault;
use super::groups::{LONGEST_MS, fault, play, scene};
use super::world::{SESSION, Story, World, ms};

/// `T`, below the session of a second.
pub(super) const THRESHOLD: Duration = Duration::from_millis(800);

/// How members prove their membership.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proves {
    /// How often they commit, if they do.
    pub(super) commit: Option<Duration>,
    /// How long their claims outlive a revocation.
    pub(super) hold: Duration,
}

/// By heartbeats and commits.
pub(super) const BOTH: Proves =
    Proves { commit: Some(Duration::from_millis(200)), hold: Duration::ZERO };

impl Proves {
    pub(super) fn leads(self, now: Mono, width: u32) -> Neli {
        let config = Config {
            width: NonZeroU32::new(width).unwrap(),
            threshold: THRESHOLD,
            hold: self.hold,
            beacon: ms(100),
            mode: Mode::Exclusive,
            pulse: Pulse::Clock,
        };
        Neli::new(now, config)
    }
}

impl World {
    /// Every member that runs hears its ledger, and asks for its proof.
    pub(super) fn lead(&mut self) {
        let now = self.now;
        for place in &mut self.places {
            let Some(neli) = place.neli.as_mut().filter(|_| place.stopped <= now) else { continue };
            if let Some(core) = &place.core {
                neli.handle_proof(now, core.proof().map(|proof| proof.since));
                for partition in core.held() {
                    neli.handle_heard(now, Heard { partition, sent: None });
                }
            }
            while neli.poll_event().is_some() || neli.poll_beacon().is_some() {}
        }
        if self.epoch == 0 {
            self.compare_fences();
        }
        // A coordinator without its state knows of no member, no proof and no fence.
        if self.epoch > 0 {
            return;
        }
        for partition in (0..self.story.width).map(PartitionId) {
            let leads = |at: &&Neli| at.leads(now, partition);
            let count = self.places.iter().filter_map(|at| at.neli.as_ref()).filter(leads).count();
            if count > 1 && !self.was_led_twice {
                self.was_led_twice = true;
                self.note(&format!("!! {count} lead {partition}"));
            }
        }
    }
}

impl World {
    /// A member that begins to lead has a higher fence than any that led before.
    fn compare_fences(&mut self) {
        let now = self.now;
        for (who, place) in self.places.iter().enumerate() {
            let (Some(core), Some(neli)) = (&place.core, &place.neli) else { continue };
            let leads = core.held().filter(|partition| neli.leads(now, *partition));
            let commits = self.story.proves.is_some_and(|it| it.commit.is_some());
            for partition in leads.filter(|_| commits && core.proof().is_some()) {
                let fence = core.fence(partition).expect("a proved claim has a fence");
                let last = self.fenced.insert(partition, (who, fence));
                let (before, below) = last.unwrap_or((who, 0));
                let rises = fence > below || (fence == below && before == who);
                assert!(rises, "{partition} of m{who} has {fence}, m{before} had {below}");
            }
        }
    }
}

fn exclusive(proves: Proves, faults: &[(u64, Fault)]) -> Story {
    Story { proves: Some(proves), ..scene(true, faults) }
}

/// A member reaches only a coordinator that was deposed, and the group goes on without it.
const DEPOSED: [(u64, Fault); 1] = [(1_500, Fault::Deposed { place: 0, ms: 2_500 })];

#[test]
fn a_deposed_coordinator_misleads_a_member_that_counts_heartbeats_alone() {
    let heartbeats = Proves { commit: None, ..BOTH };
    assert!(play(&exclusive(heartbeats, &DEPOSED)).was_led_twice, "the scene shows what it is for");
    assert!(!play(&exclusive(BOTH, &DEPOSED)).was_led_twice);
}

/// A member that has failed for a while is given a new id. Its Join under that reaches only a
/// coordinator that was deposed, which never answers. The member waits as it does for others that
/// take part in a rebalance, and then begins anew.
#[test]
fn a_join_that_is_never_answered_is_given_up_after_a_rebalance() {
    let cut = (1_490, Fault::Reset { place: 0, ms: 1_500 });
    let mut world = World::new(exclusive(BOTH, &[cut]));
    world.run(world.now + ms(1_490 + 1_500));
    let named = |line: &&String| line.contains("m0.1 <- ") && line.contains("MemberIdRequired");
    let count = |world: &World| world.log.iter().filter(named).count();
    let (before, end) = (count(&world), world.now + SESSION);
    while count(&world) == before {
        assert!(world.now < end, "{}", world.log.join("\n"));
        world.run(world.now + Duration::from_micros(100));
    }
    world.inject(&Fault::Deposed { place: 0, ms: 20 });
    world.run(world.now + SESSION * 2);
    assert!(world.unsettled().is_some(), "it waits:\n{}", world.log.join("\n"));
    world.run(world.now + SESSION * 2);
    assert_eq!(world.unsettled(), None, "{}", world.log.join("\n"));
}

#[test]
fn a_claim_may_outlive_a_revocation_as_long_as_the_member_holds_its_join_back() {
    let faults = [(1_500, Fault::Leave { place: 1, back_after_ms: Some(100) })];
    let hold = Proves { hold: ms(200), ..BOTH };
    assert!(!play(&exclusive(hold, &faults)).was_led_twice);
}

/// A member that holds a partition of a group of its own.
fn holder(hold: Duration) -> GroupMember {
    let config = GroupConfig {
        group: "g".parse().unwrap(),
        topic: "t".parse().unwrap(),
        width: NonZeroU32::MIN,
        instance: None,
        assignors: Assignor::Range.into(),
        session: ms(1_000),
        heartbeat: ms(100),
        rebalance: ms(3_000),
        renews_id: true,
        commit: BOTH.commit,
        learns: None,
        wall_ms: 0,
        gives_way: None,
        hold,
        backoff: ms(20),
        backoff_max: ms(200),
        seed: 1,
    };
    let (now, mut core) = (Mono::ZERO, GroupMember::new(Mono::ZERO, config));
    let own = |member_id: &str| {
        Response::Joined(Joined {
            member_id: member_id.to_owned(),
            generation: 1,
            protocol: "range".to_owned(),
            leader: member_id.to_owned(),
            skip_assignment: true,
            members: Vec::new(),
        })
    };
    let share = [("t".to_owned(), [PartitionId(0)].into())].into();
    let broker = Broker { id: 1, host: "h".to_owned(), port: 1 };
    let answers =
        [Response::Coordinator(broker), own("m"), Response::Synced(encode_assignment(&share))];
    for answer in answers {
        // A heartbeat may go first.
        let mut outgoing = core.poll_request(now).unwrap();
        if matches!(outgoing.request, Request::Heartbeat { .. }) {
            outgoing = core.poll_request(now).unwrap();
        }
        core.handle_response(now, outgoing.id, answer);
    }
    assert!(matches!(core.poll_event(), Some(GroupEvent::Group(Membership::Assigned(_)))));
    core
}

/// A Join lets partitions go. A member that is stopped between the two must not lead beside another
/// one that has them, so its claims end first.
#[test]
fn no_join_leaves_before_the_member_knows_of_the_revocation() {
    let (now, mut core) = (Mono::ZERO, holder(Duration::ZERO));
    let beat = core.poll_request(now).unwrap();
    assert!(matches!(beat.request, Request::Heartbeat { .. }), "{beat:?}");
    let refusal = Refusal::RebalanceInProgress;
    core.handle_response(now, beat.id, Response::Refused { refusal, member_id: None });
    let sent = |core: &mut GroupMember| {
        std::iter::from_fn(|| core.poll_request(now)).any(|it| it.request.waits_for_others())
    };
    assert!(!sent(&mut core), "the event is not taken yet");
    assert!(matches!(core.poll_event(), Some(GroupEvent::Group(Membership::Revoked(_)))));
    assert!(sent(&mut core));
}

/// The member is stopped between the answer that revokes its partitions and the instant at which
/// its program can see that: a promise that the program got just before counts as well.
#[test]
fn no_join_leaves_before_the_last_promise_has_passed() {
    let (hold, answered, seen) = (ms(200), Mono::ZERO + ms(10), Mono::ZERO + ms(700));
    let mut core = holder(hold);
    let beat = core.poll_request(Mono::ZERO).unwrap();
    let refusal = Refusal::RebalanceInProgress;
    core.handle_response(answered, beat.id, Response::Refused { refusal, member_id: None });
    assert!(matches!(core.poll_event(), Some(GroupEvent::Group(Membership::Revoked(_)))));
    core.handle_curtailed(seen);
    let sent = |core: &mut GroupMember, now| {
        std::iter::from_fn(|| core.poll_request(now)).any(|it| it.request.waits_for_others())
    };
    assert!(!sent(&mut core, seen + hold - ms(1)));
    assert!(sent(&mut core, seen + hold));
}

fn story() -> impl Strategy<Value = Story> {
    let assignor =
        prop_oneof![Just(Assignor::Range), Just(Assignor::RoundRobin), Just(Assignor::Sticky)];
    let stops = (0_usize..4, 1..LONGEST_MS).prop_map(|(place, ms)| Fault::Stop { place, ms });
    let deposed = (0_usize..4, 1..LONGEST_MS).prop_map(|(place, ms)| Fault::Deposed { place, ms });
    let any_fault = prop_oneof![6 => fault(), 2 => stops, 2 => deposed];
    let faults = prop::collection::vec((0_u64..2_000, any_fault), 0..8);
    let hold = prop_oneof![Just(ms(0)), Just(ms(200))];
    (any::<u64>(), 2_usize..=4, 1_u32..=8, assignor, hold, faults).prop_map(
        |(seed, members, width, assignor, hold, faults)| {
            let proves = Some(Proves { hold, ..BOTH });
            let story = scene(true, &faults);
            Story { seed, members, width, assignor, proves, ..story }
        },
    )
}

proptest! {
    #![proptest_config(cases(0x5EED_0015, 300))]

    #[test]
    fn two_never_lead_in_exclusive_mode(story in story()) {
        let world = play(&story);
        prop_assert!(!world.was_led_twice, "{}", world.log.join("\n"));
    }
}
