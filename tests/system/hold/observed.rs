//! Members that Tandem did not start, and observers that start nothing: what the members lead is
//! measured, alike by all observers, and no observer matters to a member.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::SOON;
use support::observed::{Hold, Stage, counts, leader, nothing_waits, settles, takeover};
use support::up::Up;
use tandem::ids::{Life, PartitionId, RoleIndex};
use tandem::live::PATIENCE;
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, LifeLine, TimelineBuilder};

/// The gaps of a group, as a journal has them.
pub(super) fn gaps(up: &Up, group: &str) -> Vec<Interval> {
    let recording = up.recording();
    let mut builder = TimelineBuilder::new(&recording.header.plan);
    recording.facts.iter().for_each(|fact| builder.observe(fact));
    let timeline = builder.finish_upkeep(false);
    let line = &timeline.groups.iter().find(|(name, _)| name.as_str() == group).unwrap().1;
    let of = line.findings.gaps.iter().filter(|gap| gap.roles.contains(RoleIndex(0)));
    of.map(|gap| gap.span).collect()
}

#[test]
fn observers_measure_alike_what_members_report_and_matter_to_none_of_them() {
    let stage = Stage::new();
    let first = stage.observe();
    let mut holds: BTreeMap<&str, Hold> = [("p1-a", "p1"), ("p1-b", "p1"), ("p2-c", "p2")]
        .map(|(member, group)| (member, stage.hold(group, &member[3..])))
        .into();
    settles(&first, holds.len());
    let leads = eventually("a leader", SOON, || leader(&first.status().1?, "p1"));
    let victim = holds.remove(leads.as_str()).unwrap();
    let asked = Mono::now();
    signal_pid(victim.0.id(), Signal::KILL);
    let other = *holds.keys().next().unwrap();
    let picture = eventually("a successor", SOON, || {
        let picture = first.status().1?;
        let counted = picture.groups.values().next()?.counts.gaps > 0;
        (counted && leader(&picture, "p1").as_deref() == Some(other)).then_some(picture)
    });
    assert!(!picture.groups.is_empty() && picture.run.pid == first.pid());
    // Its journal is written by a thread of its own, in the order in which facts came.
    let seen = Mono::now();
    eventually("all that it has seen in its journal", SOON, || {
        first.recording().facts.iter().any(|fact| fact.t > seen).then_some(())
    });

    // An observer may die: the members go on, and those that start later know what it knew.
    first.signal(Signal::KILL);
    let [mut second, mut third] = [stage.observe(), stage.observe()];
    let mut last = None;
    eventually("the same totals", SOON, || {
        let pictures = [second.status().1?, third.status().1?];
        let found = pictures.map(|it| (it.health, counts(&it)));
        if last.as_ref() != Some(&found) {
            println!("{found:?}");
            last = Some(found.clone());
        }
        let led = found.iter().all(|(health, _)| *health == Level::Led);
        let [(_, one), (_, two)] = found;
        (led && one == two && one["p1"].gaps > 0).then_some(())
    });
    for hold in holds.values_mut() {
        assert!(hold.0.try_wait().unwrap().is_none(), "a member ended with an observer");
    }
    for observer in [&mut second, &mut third] {
        observer.signal(Signal::TERM);
        assert_eq!(observer.ends().code(), Some(0), "{}", observer.said());
    }
    let known = [&first, &second, &third].map(|up| {
        let (died, claimed) = takeover(&up.recording().facts, &leads);
        assert!(died >= asked, "it died before it was killed");
        // On a busy host the leader may have stopped to serve before, and its successor is late.
        let found = gaps(up, "p1");
        let gap = found.iter().copied().find(|gap| gap.from <= died && gap.until >= claimed);
        gap.unwrap_or_else(|| panic!("none of {found:?} is from {died:?} to {claimed:?}"))
    });
    assert_eq!([known[0]; 2], known[1..], "to the nanosecond");
    drop(victim);
    nothing_waits(&stage, "p1", &leads[3..]);
}

#[test]
fn facts_travel_by_another_cluster_and_what_was_kept_is_delivered_by_the_next_life() {
    let stage = Stage::new();
    let mut observer = stage.observe();
    let (held, _other) = (stage.hold("p1", "a"), stage.hold("p2", "c"));
    observer.await_health(Level::Led);
    let broker = |signal| stage.brokers.iter().for_each(|it| signal_pid(it.pid(), signal));
    // The cluster of the other group hangs; its member reports that through the first cluster.
    signal_pid(stage.brokers[1].pid(), Signal::STOP);
    eventually("the word of a member that is cut off", SOON, || {
        let reasons = observer.status().1?.reasons;
        reasons.members.keys().any(|member| member.as_str() == "p2-c").then_some(())
    });
    // Now no cluster takes facts, and the witness keeps them.
    broker(Signal::STOP);
    let spool = stage.state().join("tandem/facts/seen/p1/a");
    let size = || {
        let files = fs::read_dir(&spool).into_iter().flatten().flatten();
        let files = files.filter(|entry| entry.path().is_dir());
        files.map(|entry| fs::metadata(entry.path().join("0.jsonl")).map_or(0, |it| it.len())).sum()
    };
    let before: u64 = size();
    eventually("facts that wait", SOON, || (size() > before + 2_000).then_some(()));
    stage.witness("a").signal(&[Signal::KILL]).unwrap();
    signal_pid(held.0.id(), Signal::KILL);
    drop(held);
    let kept = fs::read_dir(&spool).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap();
    let kept = fs::read_to_string(kept.path().join("0.jsonl")).unwrap();
    let number = |line: &str| serde_json::from_str::<Fact>(line).ok().map(|fact| fact.seq);
    let last = kept.lines().filter_map(number).max().unwrap();
    broker(Signal::CONT);
    let _next = stage.hold("p1", "a");
    nothing_waits_but_the_living(&stage);
    eventually("the word of the earlier life", SOON, || {
        let facts = observer.recording().facts;
        let first: Life = "p1-a.1".to_owned().try_into().unwrap();
        let of = |fact: &&Fact| fact.life.as_ref() == Some(&first);
        let died = facts
            .iter()
            .filter(of)
            .any(|fact| matches!(fact.what, What::Run(RunEvent::Died { .. })));
        let numbers = facts.iter().filter(of).filter(|fact| fact.what.is_by_member());
        let numbers: Vec<u64> = numbers.map(|fact| fact.seq).collect();
        (died && numbers.iter().copied().eq(1..=last)).then_some(())
    });
    observer.signal(Signal::TERM);
    assert_eq!(observer.ends().code(), Some(0), "{}", observer.said());
}

/// Only the spool of the second life is there.
fn nothing_waits_but_the_living(stage: &Stage) {
    let folder = stage.state().join("tandem/facts/seen/p1/a");
    eventually("the delivery of what was kept", SOON, || {
        let spools = fs::read_dir(&folder).unwrap().flatten();
        let spools = spools.filter(|entry| entry.path().is_dir());
        let names: Vec<_> = spools.map(|it| it.file_name().into_string().unwrap()).collect();
        (names.len() == 1 && names[0].starts_with("2-")).then_some(())
    });
}

#[test]
fn what_the_topic_no_longer_has_is_unknown_to_an_observer_that_starts_late() {
    let stage = Stage::new();
    for broker in &stage.brokers {
        broker.create_with("seen-facts", 1, &[("retention.ms", "1500")]);
    }
    let early = stage.observe();
    let _holds = [stage.hold("p1", "a"), stage.hold("p2", "c")];
    early.await_health(Level::Led);
    let first = eventually("its first fact", SOON, || {
        let facts = early.recording().facts;
        facts.iter().find(|fact| fact.seq == 1 && fact.what.is_by_member()).map(|fact| fact.t)
    });
    eventually("time", SOON, || (Mono::now().since(first).as_secs() >= 4).then_some(()));
    let mut late = stage.observe();
    late.await_health(Level::Led);
    late.signal(Signal::TERM);
    assert_eq!(late.ends().code(), Some(0), "{}", late.said());
    let facts = late.recording().facts;
    let life: Life = "p1-a.1".to_owned().try_into().unwrap();
    let of: Vec<_> = facts.iter().filter(|fact| fact.life.as_ref() == Some(&life)).collect();
    let mut line = LifeLine::default();
    for fact in &of {
        if fact.what.is_by_member() { line.hear(fact) } else { line.record(fact) }
    }
    let first = of.iter().find(|fact| fact.what.is_by_member()).unwrap();
    assert!(first.seq > 1, "the topic has everything");
    let began =
        of.iter().find(|fact| matches!(fact.what, What::Run(RunEvent::Started { .. }))).unwrap().t;
    let claimed = line.claimed(PartitionId(0));
    let unseen = Interval::new(began, first.t);
    let sure = claimed.sure.within(unseen);
    assert!(
        sure.iter().next().is_none(),
        "{sure:?} is claimed in a time of which nothing is known"
    );
    let possible: Vec<_> = claimed.possible.within(unseen).iter().collect();
    assert_eq!(possible, [unseen]);
}

/// Stops the witness of a member of `p1` for so long, so that its facts are late by that.
fn delays(stage: &Stage, name: &str, secs: u64) {
    let witness = stage.witness(name);
    witness.signal(&[Signal::STOP]).unwrap();
    passes(secs);
    witness.signal(&[Signal::CONT]).unwrap();
}

fn passes(secs: u64) {
    let began = Mono::now();
    eventually("time", SOON, || (Mono::now().since(began).as_secs() >= secs).then_some(()));
}

#[test]
fn an_observer_misses_none_of_the_first_facts_and_none_of_a_past_that_is_out_of_order() {
    let stage = Stage::new();
    let early = stage.observe();
    let _first = [stage.hold("p1", "a"), stage.hold("p2", "c")];
    // Its first letter has all that it did since its start.
    delays(&stage, "a", 3);
    early.await_health(Level::Led);
    let _second = stage.hold("p1", "b");
    settles(&early, 3);
    assert_eq!(early.status().1.unwrap().missed, 0);
    // Longer than one that is silent is waited for.
    delays(&stage, "b", 9);
    eventually("facts that came too late", SOON, || (early.status().1?.missed > 0).then_some(()));
    let late = stage.observe();
    late.await_health(Level::Led);
    // From then on it counts what has passed since.
    let counted = || late.recording().facts.iter().map(|fact| fact.t).max();
    let until = Mono::now();
    eventually("later facts", SOON, || (counted()? > until + PATIENCE).then_some(()));
    let picture = late.status().1.unwrap();
    assert_eq!((picture.missed, counts(&picture)["p1"].gaps), (0, 0), "{}", late.said());
}
