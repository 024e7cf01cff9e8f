//! Members that Tandem did not start, and observers that start nothing: what the members lead is
//! measured, alike by all observers, and no observer matters to a member. What observers count
//! while it goes on, on a quiet host: `tests/measured/hold/observed.rs`.

use std::fs;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rustix::process::Signal;
use support::described::stable;
use support::experiment::{eventually, signal_pid};
use support::held::SOON;
use support::observed::{Stage, ends_alike, leader, nothing_waits, settles, three};
use support::up::Up;
use tandem::ids::{Life, PartitionId};
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, LifeLine};

/// The offset of the oldest record that the only partition of a topic still has.
fn oldest(broker: &str, topic: &str) -> i64 {
    let mut config = ClientConfig::new();
    let reader: BaseConsumer = config.set("bootstrap.servers", broker).create().unwrap();
    reader.fetch_watermarks(topic, 0, SOON).unwrap().0
}

/// Waits until an observer has written all of `p1` so far: what this member did later is in its
/// journal, which has the facts in the order in which they came.
fn has_written(observer: &Up, member: &str) {
    let seen = Mono::now();
    eventually("all that it has seen in its journal", SOON, || {
        let facts = observer.recording().facts;
        let later = facts.iter().any(|fact| {
            let of = fact.life.as_ref().is_some_and(|life| life.member.as_str() == member);
            of && fact.what.is_by_member() && fact.t > seen
        });
        later.then_some(())
    });
}

#[test]
fn observers_measure_alike_what_members_report_and_matter_to_none_of_them() {
    let stage = Stage::patient();
    let first = stage.observe();
    let mut holds = three(&stage);
    settles(&first, holds.len());
    // The group has settled: the member that leads is the one that has the role.
    let leads = eventually("a leader that has the role", SOON, || {
        let of = ("seen-p1", "seen-p1");
        let shares = stable(&stage.brokers[0].address, of, 2)?;
        let leads = leader(&first.status().1?, "p1")?;
        (shares[&PartitionId(0)] == format!("{}.1", &leads[3..])).then_some(leads)
    });
    let victim = holds.remove(leads.as_str()).unwrap();
    let asked = Mono::now();
    signal_pid(victim.0.id(), Signal::KILL);
    let other = *holds.keys().next().unwrap();
    let picture = eventually("a successor", SOON, || {
        let picture = first.status().1?;
        (leader(&picture, "p1").as_deref() == Some(other)).then_some(picture)
    });
    assert!(!picture.groups.is_empty() && picture.run.pid == first.pid());
    has_written(&first, other);

    // An observer may die: the members go on, and those that start later know what it knew.
    first.signal(Signal::KILL);
    let [mut second, mut third] = [stage.observe(), stage.observe()];
    for observer in [&second, &third] {
        observer.await_health(Level::Led);
        has_written(observer, other);
    }
    ends_alike(&first, [&mut second, &mut third], &mut holds, (&leads, asked));
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
    eventually("its first fact", SOON, || {
        let facts = early.recording().facts;
        facts.iter().any(|fact| fact.seq == 1 && fact.what.is_by_member()).then_some(())
    });
    for broker in &stage.brokers {
        let end = broker.end("seen-facts", 0);
        eventually("the end of all facts so far", SOON, || {
            (oldest(&broker.address, "seen-facts") >= end).then_some(())
        });
    }
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
