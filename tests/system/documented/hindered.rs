//! Runs that something holds up: a host that is suspended or busy, a disk that takes nothing,
//! brokers that are away.

use std::collections::BTreeSet;

use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use tandem::ids::{Life, MemberId, PartitionId, Term};
use tandem::observation::{ClockDomain, Ending, External, Fact, MemberEvent, RunEvent, What};
use tandem::time::{Mono, Span};
use tandem::verdict::Disturbed;

use support::facts::{Story, at, fault, name};

/// A history of trials ends before this, in milliseconds.
const END: u64 = 9_500;

/// A rule on disturbed trials, in one of two.
pub(crate) fn rule(chance: &mut ChaCha12Rng) -> Option<Disturbed> {
    let stall = Span::ms(chance.random_range(25..250));
    chance.random_bool(0.5).then_some(Disturbed { stall, replace: 1 })
}

/// Strews what holds a run up over a history; all of its facts keep their order.
pub(crate) fn hinder(facts: &mut Vec<Fact>, chance: &mut ChaCha12Rng) {
    for _ in 0..chance.random_range(0..12) {
        let place = chance.random_range(0..facts.len());
        let what = match author(&facts[place]) {
            Some(_) => of_member(chance),
            None => of_controller(chance),
        };
        insert(facts, place, what);
    }
    let (mut from, mut place) = (0, facts.len() - 1);
    while from < END {
        let until = from + chance.random_range(100..400);
        if chance.random_bool(0.7) {
            insert(facts, place, processors(chance, from, until));
            place += 1;
        }
        from = until;
    }
}

/// Of some members it becomes true that the run did not start them, and of some of these that
/// their clock is another one. Returns the members that the plan does not have to name.
pub(crate) fn outsiders(facts: &mut [Fact], chance: &mut ChaCha12Rng) -> BTreeSet<MemberId> {
    let members: BTreeSet<_> =
        facts.iter().filter_map(|fact| Some(fact.life.as_ref()?.member.clone())).collect();
    let outside: BTreeSet<_> = members.into_iter().filter(|_| chance.random_bool(0.3)).collect();
    for fact in facts {
        if let (What::Run(RunEvent::Started { external, .. }), Some(life)) =
            (&mut fact.what, &fact.life)
            && outside.contains(&life.member)
        {
            let (group, _) = life.member.as_str().split_once('-').unwrap();
            let clock = ClockDomain { boot: "b".to_owned(), time_namespace: 1 };
            let same_clock = chance.random_bool(0.6);
            let error_ns = (!same_clock && chance.random_bool(0.7))
                .then(|| chance.random_range(0..50_000_000));
            *external = Some(External { group: name(group), clock, same_clock, error_ns });
        }
    }
    outside
}

fn of_member(chance: &mut ChaCha12Rng) -> What {
    let (from, until, waited_ns) = late(chance);
    match chance.random_range(0..7) {
        0 => What::Member(MemberEvent::Unconnected { why: "no route".to_owned() }),
        1 => What::Member(MemberEvent::Connected),
        2 => What::Member(MemberEvent::Leaving),
        3 => What::Member(ended(chance)),
        4 => What::Member(MemberEvent::Refused { why: "versions".to_owned() }),
        _ => What::Member(MemberEvent::Late { from, until, waited_ns }),
    }
}

/// The end of some claim, as that of a leave or of another kind.
fn ended(chance: &mut ChaCha12Rng) -> MemberEvent {
    let why = [Ending::Left, Ending::HandedOver, Ending::Silence][chance.random_range(0..3)];
    let (partition, term) =
        (PartitionId(chance.random_range(0..2)), Term(chance.random_range(1..4)));
    MemberEvent::Lapsed { partition, term, at: at(chance.random_range(0..END)), why }
}

fn of_controller(chance: &mut ChaCha12Rng) -> What {
    let (from, until, waited_ns) = late(chance);
    let (cluster, broker) = (name("a"), "1 at h:9092".to_owned());
    match chance.random_range(0..8) {
        0 => What::Run(RunEvent::Suspended { from, until }),
        1 => What::Run(RunEvent::Unwritten { from, until, facts: 3 }),
        2 => What::Run(RunEvent::BrokerLost { cluster, broker }),
        3 => What::Run(RunEvent::BrokerBack { cluster, broker }),
        4 => What::Run(RunEvent::FaultHealed { fault: fault("1.k") }),
        _ => What::Run(RunEvent::Stall { from, until, waited_ns }),
    }
}

/// A thread ran late for a while, and waited for a part of it, for more than it, or for an unknown
/// time.
fn late(chance: &mut ChaCha12Rng) -> (Mono, Mono, Option<u64>) {
    let from = chance.random_range(0..END * 1_000_000);
    let lasted = chance.random_range(0..900_000_000);
    let waited = chance.random_range(0..1_000_000_000);
    (Mono(from), Mono(from + lasted), chance.random_bool(0.8).then_some(waited))
}

fn processors(chance: &mut ChaCha12Rng, from: u64, until: u64) -> What {
    let busy_ns = chance.random_range(0..2 * (until - from) * 1_000_000);
    let own_ns = chance.random_range(0..=busy_ns + busy_ns / 20);
    let stolen_ns = if chance.random_bool(0.2) { chance.random_range(0..50_000_000) } else { 0 };
    What::Run(RunEvent::Processors { from: at(from), until: at(until), busy_ns, own_ns, stolen_ns })
}

fn author(fact: &Fact) -> Option<&Life> {
    fact.life.as_ref().filter(|_| fact.what.is_by_member())
}

/// The author of the fact at `place` says this next.
fn insert(facts: &mut Vec<Fact>, place: usize, what: What) {
    let (t, seq) = (facts[place].t, facts[place].seq + 1);
    let life = author(&facts[place]).cloned();
    for later in &mut facts[place + 1..] {
        later.seq += u64::from(author(later) == life.as_ref());
    }
    facts.insert(place + 1, Fact { t, seq, life, what });
}

/// A suspend and a hole in what was written, at the edges of lives; waits across the edges of
/// trials; brokers that are lost beside a fault and after it.
pub(crate) fn held_up() -> Story {
    let mut story = Story::default();
    let lost = |story: &mut Story, ms, cluster| {
        let (cluster, broker) = (name(cluster), "1 at h:9092".to_owned());
        story.run(ms, RunEvent::BrokerLost { cluster, broker });
    };
    story.run(20, RunEvent::Suspended { from: at(0), until: at(300) });
    story.started("p1-1.1", 200).started("p2-1.1", 200).began(500, 1);
    story.serves("p1-1.1", 0, 1, [250, 3_000]).serves("p2-1.1", 0, 1, [250, 16_000]);
    story.asked("p1-1.1", 2_000, "1.n", "partition");
    story.says("p1-1.1", 3_000, MemberEvent::Unconnected { why: "no route".to_owned() });
    story.of("p1-1.1", 3_500, RunEvent::FaultHealed { fault: fault("1.n") });
    let (from, until) = (at(3_900), at(4_100));
    story.says("p1-1.1", 4_100, MemberEvent::Late { from, until, waited_ns: Some(200_000_000) });
    story.ended(4_000, 1).began(4_050, 2).died("p1-1.1", 4_200);
    story.asked("p1-1.2", 4_250, "2.d", "duplicate").started("p1-1.2", 4_300);
    story.run(4_450, RunEvent::Unwritten { from: at(4_150), until: at(4_400), facts: 7 });
    story.serves("p1-1.2", 0, 1, [4_350, 9_000]);
    story.ended(9_000, 2).began(10_000, 3);
    story.run(12_000, RunEvent::Suspended { from: at(11_000), until: at(12_000) });
    story.run(12_050, RunEvent::Stall { from: at(11_990), until: at(12_040), waited_ns: None });
    let (from, until) = (at(11_990), at(12_040));
    story.says("p1-1.2", 12_050, MemberEvent::Late { from, until, waited_ns: None });
    story.of("p1-1.2", 12_500, RunEvent::FaultHealed { fault: fault("2.d") });
    lost(&mut story, 18_499, "a");
    story.ended(18_600, 3);
    lost(&mut story, 27_499, "a");
    lost(&mut story, 27_500, "b");
    for (from, busy_ns, own_ns, stolen_ns) in [
        (3_800, 150_000_000, 50_000_000, 0),
        (4_000, 200_000_000, 0, 0),
        (11_900, 0, 0, 60_000_000),
    ] {
        let (from, until) = (at(from), at(from + 150));
        story.run(27_600, RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns });
    }
    let (cluster, broker) = (name("a"), "1 at h:9092".to_owned());
    story.run(27_700, RunEvent::BrokerBack { cluster, broker }).completed(28_000);
    story
}
