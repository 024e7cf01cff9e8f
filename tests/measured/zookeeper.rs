//! A group that elects over ZooKeeper, beside one on Kafka, with real processes and a real
//! ZooKeeper that is cut off or loses its leader, or that others lock: two never lead.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, eventually, signal_pid};
use support::kazoo::Contender;
use support::measured::{shared_turn, turn};
use support::mixed::of_p2;
use support::stores::{await_led, claims, isolated_from_zookeeper, led_by_one, pid_of};
use support::zookeeper::{ZooKeeper, mode};
use tandem::ids::{GroupName, PartitionId};
use tandem::observation::{Fact, MemberEvent, What};
use tandem::time::Mono;

/// S = 2000 + x = 240 + B = 60 + F = 20, and a = 270 longer than T = 1980; and a stall.
const ISOLATED: Duration = Duration::from_millis(610 + 50);

#[test]
fn a_leader_that_is_cut_off_stops_before_another_leads() {
    let _turn = turn();
    isolated_from_zookeeper(3, ISOLATED);
}

/// The sessions get their whole length again from the next leader of the ensemble.
#[test]
fn an_ensemble_that_loses_its_leader_keeps_its_group_led_by_one() {
    let _turn = shared_turn();
    let zookeeper = ZooKeeper::three();
    let run = Experiment::calm("120s").with(&zookeeper.mixed()).start();
    await_led(&run, &["p1", "p2"]);
    let killed = Mono::now();
    let others = zookeeper.kill_leader();
    eventually("a new leader of the ensemble", Duration::from_secs(60), || {
        others.iter().any(|it| mode(it).as_deref() == Some("leader")).then_some(())
    });
    println!("the ensemble has a leader again after {:?}", Mono::now().since(killed));
    // A session later all sessions are proved by the new one.
    let later = Mono::now() + Duration::from_secs(4);
    run.await_facts("renewed claims on four partitions", |facts| {
        let renewed = |fact: &Fact| match &fact.what {
            What::Member(MemberEvent::Renewed { claims }) if fact.t > later => claims.len(),
            _ => 0,
        };
        // Each member says all that it claims.
        let mut of_members = std::collections::BTreeMap::new();
        for fact in of_p2(facts) {
            if renewed(&fact) > 0 {
                of_members.insert(fact.life.clone(), renewed(&fact));
            }
        }
        (of_members.values().sum::<usize>() == 4).then_some(())
    });
    let (_, lengths) = led_by_one(run);
    println!("gaps of p2 when the ensemble loses its leader: {lengths:?}");
    let start_up = Duration::from_secs(15);
    assert!(lengths.iter().all(|gap| *gap < start_up), "{lengths:?}");
}

/// kazoo's lock on a partition of the group: it waits while members live, members wait while it
/// holds, and lead again when it gives it back.
#[test]
fn a_lock_of_kazoo_and_the_members_respect_each_other() {
    let _turn = shared_turn();
    let zookeeper = ZooKeeper::up();
    let run = Experiment::calm("120s").with(&zookeeper.mixed()).start();
    await_led(&run, &["p1", "p2"]);
    let mut kazoo = Contender::start(&zookeeper);
    kazoo.says("waits");
    // All nodes before its own go with the sessions of members that are stopped.
    let facts = run.facts();
    let lives: std::collections::BTreeSet<_> =
        of_p2(&facts).into_iter().filter_map(|fact| fact.life).collect();
    assert_eq!(lives.len(), 3);
    let signal = |signal| lives.iter().for_each(|life| signal_pid(pid_of(&facts, life), signal));
    signal(Signal::STOP);
    kazoo.says("leads");
    let leads = Mono::now();
    let claimed: Vec<Mono> = of_p2(&run.facts())
        .iter()
        .flat_map(|fact| match &fact.what {
            What::Member(MemberEvent::Renewed { claims }) => claims.clone(),
            _ => Vec::new(),
        })
        .filter(|claim| claim.partition == PartitionId(0))
        .map(|claim| claim.until)
        .collect();
    assert!(claimed.iter().all(|until| *until < leads), "their claims were over");
    signal(Signal::CONT);
    // The other partitions are theirs again.
    let others = |facts: &[Fact]| {
        let led = |partition| claims(facts, "p2", PartitionId(partition)).last().unwrap().0 > leads;
        (1..4).all(led).then_some(())
    };
    run.await_facts("new claims on the other partitions", others);
    let given = Mono::now();
    kazoo.release();
    let taken = run.await_facts("a claim on partition 0", |facts| {
        let claims = claims(facts, "p2", PartitionId(0));
        claims.iter().map(|(at, _)| *at).find(|at| *at > leads)
    });
    assert!(given < taken, "no member leads while it holds the lock");
    kazoo.ends();
    run.signal(Signal::INT);
    let run = run.finish();
    let timeline = run.timeline();
    assert!(timeline.groups[&"p2".parse::<GroupName>().unwrap()].findings.overlaps.is_empty());
}
