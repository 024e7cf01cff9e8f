//! Elections over etcd, ZooKeeper and NATS, beside one on Kafka: the leader of a role is killed in
//! each, and then all three stores stand still. And a lock of kazoo on a folder of a group.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, signal_pid};
use support::kazoo::Contender;
use support::mixed::of_p2;
use support::stores::{await_led, claims, pid_of};
use support::three_stores::ThreeStores;
use support::zookeeper::ZooKeeper;
use tandem::ids::PartitionId;
use tandem::observation::{Fact, MemberEvent, What};
use tandem::time::Mono;

use super::{Story, experiment};

/// A lease, or a session, and a moment.
const LEASE: Duration = Duration::from_millis(3_200);

fn topology(stores: &ThreeStores) -> String {
    format!(
        "version: 1\nname: stores\nroles: [r, s, t, u]\nclusters: {{a: embedded{}}}\n\
         defaults: {{session: 3s, restart: {{after: 4500ms}}}}\ngroups:\n  \
         neli: {{cluster: a, members: 2}}\n  \
         etcd: {{cluster: e, election: etcd, lease: 3s, members: 3}}\n  \
         zookeeper: {{cluster: z, election: zookeeper, members: 3}}\n  \
         nats: {{cluster: n, election: allcall, members: 3}}\n",
        stores.clusters()
    )
}

#[test]
fn over_every_store_a_killed_leader_is_replaced_and_none_leads_longer_than_its_lease() {
    let stores = ThreeStores::up();
    let pids = stores.pids().map(|pid| pid.to_string()).join(" ");
    let kill = "{id: k, fault: kill, target: {leader_of: any, \
                across: {groups: [etcd, zookeeper, nats], within: 30s}}}";
    let stop = format!(
        "{{id: out, after: k, delay: 9s, fault: exec, for: 5s, timeout: 1m, \
         command: [sh, -c, 'kill -STOP {pids}'], undo: [sh, -c, 'kill -CONT {pids}']}}"
    );
    let run = experiment(&topology(&stores), &[kill, &stop]).with("--allow-exec");
    let story = Story::of(run);
    let kills = story.all("k");
    assert_eq!(kills.len(), 3, "{kills:?}\n{}", story.run);
    for kill in kills {
        assert!(!story.claims(kill.life(), kill.asked).is_empty(), "{kill:?}\n{}", story.run);
        story.has_ended(kill);
    }
    // Over NATS each member leads then, for it hears no other.
    let out = story.only("out");
    for group in ["etcd", "zookeeper"] {
        story.is_unled(group, out.in_force + LEASE);
    }
}

/// The ends of all claims on partition 0, as they were said.
fn ends(facts: &[Fact]) -> Vec<Mono> {
    let first = PartitionId(0);
    let end = |fact: &Fact| match &fact.what {
        What::Member(MemberEvent::Claimed { partition, until, .. }) if *partition == first => {
            vec![*until]
        }
        What::Member(MemberEvent::Renewed { claims }) => {
            let claims = claims.iter().filter(|claim| claim.partition == first);
            claims.map(|claim| claim.until).collect()
        }
        _ => Vec::new(),
    };
    facts.iter().flat_map(end).collect()
}

/// It waits while members live, members wait while it holds the lock, and lead again when it gives
/// it back.
#[test]
fn a_lock_of_kazoo_and_the_members_respect_each_other() {
    let zookeeper = ZooKeeper::up();
    let place = format!("{} --set groups.p2.session=4s", zookeeper.mixed());
    let run = Experiment::calm("600s").with(&place).start();
    await_led(&run, &["p1", "p2"]);
    let mut kazoo = Contender::start(&zookeeper);
    kazoo.says("waits");
    // All nodes before its own go with the sessions of members that are stopped.
    let facts = run.facts();
    let lives: BTreeSet<_> = of_p2(&facts).into_iter().filter_map(|fact| fact.life).collect();
    assert_eq!(lives.len(), 3);
    let signal = |signal| lives.iter().for_each(|life| signal_pid(pid_of(&facts, life), signal));
    signal(Signal::STOP);
    kazoo.says("leads");
    let leads = Mono::now(); // clock: an instant, which claims must not reach
    let late: Vec<_> = ends(&of_p2(&run.facts())).into_iter().filter(|end| *end >= leads).collect();
    assert!(late.is_empty(), "claims outlast the lock's begin at {leads:?}: {late:?}");
    signal(Signal::CONT);
    // The other partitions are theirs again.
    run.await_facts("new claims on the other partitions", |facts| {
        let led = |partition| claims(facts, "p2", PartitionId(partition)).last().unwrap().0 > leads;
        (1..4).all(led).then_some(())
    });
    let given = Mono::now(); // clock: an instant, before which no member may claim
    kazoo.release();
    let taken = run.await_facts("a claim on partition 0", |facts| {
        let claims = claims(facts, "p2", PartitionId(0));
        claims.iter().map(|(at, _)| *at).find(|at| *at > leads)
    });
    assert!(given < taken, "no member leads while it holds the lock");
    kazoo.ends();
    run.signal(Signal::INT);
    let story = Story::read(run.finish());
    assert_eq!(story.run.code(), Some(130), "{}", story.run);
}
