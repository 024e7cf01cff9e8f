//! The event of a gap names the cause that the report names: a property against the timeline, on
//! histories with deaths, stops, lost brokers and lost connections that come late.

use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use support::chance::{Draws, history};
use support::facts::{Story, at, life, name, plan_apart};
use support::watched::{drive, drive_seen, plausible};
use tandem::ids::{Life, PartitionId, Term};
use tandem::live::{Event, Place, Reason};
use tandem::observation::{Ending, Fact, MemberEvent, RunEvent, What};
use tandem::timeline::{Cause, Interval, Timeline};

/// What happens to a life, its group or its brokers; a fact of the life, or of the controller.
fn trouble(kind: u32, who: &Life) -> What {
    let group = name(if who.to_string().starts_with("p1") { "p1" } else { "p2" });
    let (cluster, broker) = (name("a"), "1 at h:9092".to_owned());
    match kind % 7 {
        0 | 1 => What::Run(RunEvent::Settled { group }),
        2 => What::Run(RunEvent::BrokerLost { cluster, broker }),
        3 => What::Run(RunEvent::BrokerBack { cluster, broker }),
        4 => What::Run(RunEvent::ClusterDied { cluster }),
        5 => What::Member(MemberEvent::Unconnected { why: "no route".to_owned() }),
        _ => What::Member(MemberEvent::Connected),
    }
}

/// Adds troubles to a history, each at the time of one of its facts.
fn troubled(mut facts: Vec<Fact>, picks: &[(usize, u32)]) -> Vec<Fact> {
    let mut added = Vec::new();
    for (place, kind) in picks {
        let fact = &facts[place % facts.len()];
        let who = fact.life.clone().unwrap_or_else(|| life("p1-1.1"));
        let what = trouble(*kind, &who);
        if what.is_by_member() && !fact.what.is_by_member() {
            continue; // a life speaks only while it lives
        }
        let life = what.is_by_member().then_some(who);
        added.push(Fact { t: fact.t, seq: 0, life, what });
    }
    added.sort_by_key(|fact| fact.t);
    for mut fact in added {
        let author = |one: &Fact| one.life.clone().filter(|_| one.what.is_by_member());
        // The facts about trials come last in a history, whatever their time.
        let about = |what: &What| {
            matches!(
                what,
                What::Run(
                    RunEvent::TrialBegan { .. }
                        | RunEvent::TrialEnded { .. }
                        | RunEvent::Ended { .. }
                )
            )
        };
        let mine = facts.iter().filter(|one| author(one) == author(&fact) && one.t <= fact.t);
        let mine = mine.filter(|one| !about(&one.what));
        fact.seq = mine.map(|one| one.seq).max().unwrap_or(0);
        facts.push(fact);
    }
    facts
}

/// The cause of the gap that began at that place then, as a report has it.
fn reported(timeline: &Timeline, place: &Place, span: Interval) -> Cause {
    let findings = match &place.group {
        Some(group) => &timeline.groups[group].findings,
        None => &timeline.joint,
    };
    let same = |of: &&tandem::timeline::Finding| {
        of.roles.contains(place.roles.first) && of.span.from == span.from
    };
    let found = findings.gaps.iter().find(same).expect("the timeline has this gap");
    found.cause.clone()
}

proptest! {
    #![proptest_config(cases(0x5EED_0007, 256))]

    #[test]
    fn the_event_of_a_gap_has_the_cause_of_the_report(
        numbers in prop::collection::vec(0u32..1_000_000, 0..700),
        picks in prop::collection::vec((0usize..10_000, 0u32..7), 0..40),
        delays in prop::collection::vec(0u64..450, 1..200),
    ) {
        let plan = plan_apart(3, &[("p1", 2, 2), ("p2", 2, 2)]);
        let facts = troubled(history(&["p1", "p2"], &mut Draws::new(numbers)), &picks);
        let facts = plausible(facts, 25_000);
        let mut delays = delays.into_iter().cycle().map(Duration::from_millis);
        let (_, events) = drive(&plan, &facts, at(20_000), || delays.next().unwrap());
        let timeline = Timeline::compute(&plan, &facts);
        for event in &events {
            let Event::Gap(place, span, Reason { cause, .. }) = event else { continue };
            let wanted = reported(&timeline, place, *span);
            prop_assert_eq!(cause, &wanted, "{:?} {:?}", place, span);
        }
    }
}

/// The reasons of all gaps of `p1` that a fold finds in a story, as it goes on.
fn reasons(story: &Story) -> Vec<(u64, Option<String>, Option<u128>)> {
    let plan = plan_apart(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let (_, events) = drive(&plan, &story.facts, at(60_000), || Duration::from_millis(100));
    let of_p1 = |event: &Event| match event {
        Event::Gap(Place { group: Some(group), .. }, span, reason) if group.as_str() == "p1" => {
            let stall = reason.stall.map(|stall| stall.length().as_millis());
            Some((span.from.0 / 1_000_000, reason.cause.describe(), stall))
        }
        _ => None,
    };
    events.iter().filter_map(of_p1).collect()
}

#[test]
fn a_death_a_stall_and_nothing_are_told_apart() {
    let mut story = Story::default();
    let (one, two) = ("p1-1.1", "p1-2.1");
    story.started(one, 10).started(two, 10).settled("p1", 600);
    story.serves(one, 0, 1, [100, 5_000]).died(one, 5_000);
    story.serves(two, 0, 1, [6_000, 20_000]).lapsed(two, 20_000, (0, 1), 20_000);
    story.settled("p1", 8_000);
    story.run(20_400, RunEvent::Stall { from: at(20_100), until: at(20_400), waited_ns: None });
    story.serves(two, 0, 2, [21_000, 30_000]).lapsed(two, 30_000, (0, 2), 30_000);
    story.serves(two, 0, 3, [30_500, 59_000]);
    let death = Some("the death of p1-1.1".to_owned());
    assert_eq!(
        reasons(&story)[..3],
        [(5_000, death, None), (20_000, None, Some(300)), (30_000, None, None)]
    );
}

#[test]
fn the_end_of_a_life_that_left_is_its_leave_even_where_that_is_heard_later() {
    let mut story = Story::default();
    let (one, two) = ("p1-1.1", "p1-2.1");
    story.started(one, 10).started(two, 10).settled("p1", 600);
    story.serves(one, 0, 1, [100, 5_000]).died(one, 5_000);
    story.says(one, 4_990, MemberEvent::Leaving);
    story.serves(two, 0, 1, [6_000, 59_000]);
    let left = Some("the leave of p1-1.1".to_owned());
    let found = reasons(&story);
    assert_eq!(found.first(), Some(&(4_990, left.clone(), None)), "{found:?}");
    // A member says that it leaves after its claims have ended.
    let mut story = Story::default();
    story.started(one, 10).started(two, 10).settled("p1", 600);
    let (partition, term, at) = (PartitionId(0), Term(1), at(5_000));
    let why = Ending::Left;
    story.serves(one, 0, 1, [100, 5_000]);
    story.says(one, 5_001, MemberEvent::Lapsed { partition, term, at, why });
    story.says(one, 5_200, MemberEvent::Leaving).died(one, 5_300);
    story.serves(two, 0, 1, [6_000, 59_000]);
    let found = reasons(&story);
    assert_eq!(found.first(), Some(&(5_000, left, None)), "{found:?}");
}

/// A member that dies each second, in a group that never settles.
#[test]
fn what_is_kept_of_past_troubles_does_not_grow() {
    let mut story = Story::default();
    for number in 1..=400_u64 {
        let (who, born) = (format!("p1-1.{number}"), number * 1_000);
        story.started(&who, born).serves(&who, 0, 1, [born + 100, born + 600]);
        story.says(&who, born + 150, MemberEvent::Unconnected { why: "no route".to_owned() });
        story.died(&who, born + 600);
        story.run(born + 700, RunEvent::BrokerLost { cluster: name("a"), broker: "1".to_owned() });
        story.run(born + 800, RunEvent::BrokerBack { cluster: name("a"), broker: "1".to_owned() });
    }
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let (mut kept, mut gaps) = (Vec::new(), 0);
    let delay = || Duration::from_millis(100);
    drive_seen(&plan, &story.facts, at(500_000), delay, |now, _, live| {
        while let Some(event) = live.poll_event() {
            gaps += usize::from(matches!(event, Event::Gap(..)));
        }
        if [100, 390].get(kept.len()).is_some_and(|s| now >= at(s * 1_000)) {
            kept.push(format!("{live:?}").len());
        }
    });
    assert!(gaps >= 390, "each death is a gap: {gaps}");
    let [early, late] = kept[..] else { panic!("{kept:?}") };
    assert!(late < early + early / 10, "what is kept grows: from {early} to {late}");
}
