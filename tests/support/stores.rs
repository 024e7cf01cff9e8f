//! What tests do to members of a group over a store, and to the stores themselves, from outside of
//! a run.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::{GroupName, Life, PartitionId};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, Timeline};

use crate::etcd::Etcd;
use crate::exclusive::fences_rise;
use crate::experiment::{Experiment, Finished, Running, eventually, signal_pid};
use crate::mixed::of_p2;
use crate::quiet::is_hindered;
use crate::relay::Relay;
use crate::zookeeper::ZooKeeper;

/// The longest wait for one thing.
const PATIENCE: Duration = Duration::from_secs(90);

/// The claims of a group's members on one partition, in order.
pub fn claims(facts: &[Fact], group: &str, of: PartitionId) -> Vec<(Mono, Life)> {
    let begins = format!("{group}-");
    let claim = |fact: &Fact| {
        let life = fact.life.clone().filter(|life| life.member.as_str().starts_with(&begins))?;
        matches!(&fact.what, What::Member(MemberEvent::Claimed { partition, .. })
            if *partition == of)
        .then_some((fact.t, life))
    };
    facts.iter().filter_map(claim).collect()
}

/// Waits until a trial has begun and each group has claimed its four partitions.
pub fn await_led(run: &Running, groups: &[&str]) {
    run.await_facts("four claims in each group", |facts| {
        let trial =
            facts.iter().any(|fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. })));
        let led = |group: &&str| {
            (0..4).all(|partition| !claims(facts, group, PartitionId(partition)).is_empty())
        };
        (trial && groups.iter().all(led)).then_some(())
    });
}

/// The process of a life.
pub fn pid_of(facts: &[Fact], of: &Life) -> u32 {
    let pid = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::Started { pid, .. }) if fact.life.as_ref() == Some(of) => Some(*pid),
        _ => None,
    };
    facts.iter().find_map(pid).expect("a life has a process")
}

/// The gaps of a group, or of all at once.
pub fn gaps(run: &Finished, group: &str) -> Vec<(Mono, Mono)> {
    let timeline = run.timeline();
    let group: GroupName = group.parse().unwrap();
    let found = &timeline.groups[&group].findings.gaps;
    found.iter().map(|gap| (gap.span.from, gap.span.until)).collect()
}

/// The gaps of a group that the host does not explain.
pub fn unexplained_gaps(run: &Finished, group: &str) -> Vec<(Mono, Mono)> {
    let record = run.timeline().record;
    let mut gaps = gaps(run, group);
    gaps.retain(|(from, until)| !is_hindered(&record, Interval::new(*from, *until)));
    gaps
}

/// The joint gaps that the host does not explain.
pub fn unexplained_joint_gaps(timeline: &Timeline) -> Vec<Interval> {
    let gaps = timeline.joint.gaps.iter().map(|gap| gap.span);
    gaps.filter(|gap| !is_hindered(&timeline.record, *gap)).collect()
}

/// Ends a run, and asserts that of `p2` two never led, and that no role was without a leader.
/// Returns the gaps of `p2`.
pub fn led_by_one(run: Running) -> (Finished, Vec<Duration>) {
    run.signal(Signal::INT);
    let run = run.finish();
    let timeline = run.timeline();
    let findings = &timeline.groups[&"p2".parse::<GroupName>().unwrap()].findings;
    assert!(findings.overlaps.is_empty(), "no two ever lead: {run}");
    assert_eq!(unexplained_joint_gaps(&timeline), [], "{run}");
    fences_rise(&of_p2(&run.recording().facts)).unwrap();
    let found = gaps(&run, "p2");
    let lengths = found.iter().map(|(from, until)| until.since(*from)).collect();
    (run, lengths)
}

/// Cuts the leader of partition 0 of `p2` off from ZooKeeper, so many times: asserts that no gap
/// is longer than `longest`, and never two lead. Returns the gaps.
pub fn isolated_from_zookeeper(times: usize, longest: Duration) -> Vec<Duration> {
    let zookeeper = ZooKeeper::up();
    let relay = Relay::to(&zookeeper.addresses);
    let at = &relay.address;
    let place = format!("-f topologies/mixed-zookeeper.yaml --set clusters.z.zookeeper={at}");
    isolated(&relay, &place, times, longest)
}

/// The same from etcd.
pub fn isolated_from_etcd(times: usize, longest: Duration) -> Vec<Duration> {
    let etcd = Etcd::up();
    let relay = Relay::to(etcd.address.trim_start_matches("http://"));
    let at = &relay.address;
    let place = format!("-f topologies/mixed-etcd.yaml --set clusters.e.etcd=http://{at}");
    isolated(&relay, &place, times, longest)
}

fn isolated(relay: &Relay, place: &str, times: usize, longest: Duration) -> Vec<Duration> {
    let run = Experiment::calm("600s").with(place).start();
    await_led(&run, &["p1", "p2"]);
    for _ in 0..times {
        let facts = run.facts();
        let all = claims(&facts, "p2", PartitionId(0));
        let (_, leader) = all.last().cloned().unwrap();
        let cut = Mono::now();
        relay.cut(pid_of(&facts, &leader));
        eventually("another leader", PATIENCE, || {
            let all = claims(&run.facts(), "p2", PartitionId(0));
            all.iter().any(|(at, life)| *at > cut && *life != leader).then_some(())
        });
        let healed = Mono::now();
        relay.heal();
        // It knows its place behind the others.
        eventually("the return of the one that was cut off", PATIENCE, || {
            let back = |fact: &Fact| {
                fact.life.as_ref() == Some(&leader)
                    && fact.t > healed
                    && matches!(fact.what, What::Member(MemberEvent::Assigned { .. }))
            };
            run.facts().iter().any(back).then_some(())
        });
    }
    let (run, lengths) = led_by_one(run);
    println!("gaps of p2 when its leader is cut off from its store: {lengths:?}");
    // What the host did not schedule is not theirs.
    let timeline = run.timeline();
    let stalls = timeline.record.stalls.iter().map(|stall| stall.length());
    let most = longest + stalls.max().unwrap_or_default();
    assert!(lengths.iter().all(|gap| *gap <= most), "at most {most:?}: {lengths:?}");
    lengths
}

/// Stops each server of a ZooKeeper ensemble in turn for `stop`, so many times, and asserts that
/// of the group over it never two lead. Returns its gaps.
pub fn servers_stopped_in_turn(times: usize, stop: Duration) -> Vec<Duration> {
    let zookeeper = ZooKeeper::three();
    let signal = |number, signal| zookeeper.signal_one(number, signal);
    stopped_in_turn(&zookeeper.mixed(), signal, times, stop)
}

/// The same of a cluster of etcd.
pub fn etcds_stopped_in_turn(times: usize, stop: Duration) -> Vec<Duration> {
    let etcd = Etcd::three();
    stopped_in_turn(&etcd.mixed(), |number, signal| etcd.signal_one(number, signal), times, stop)
}

fn stopped_in_turn(
    place: &str,
    signal_one: impl Fn(usize, Signal),
    times: usize,
    stop: Duration,
) -> Vec<Duration> {
    let run = Experiment::calm("600s").with(place).start();
    await_led(&run, &["p1", "p2"]);
    for number in (1..=3).cycle().take(times) {
        signal_one(number, Signal::STOP);
        let over = Mono::now() + stop;
        eventually("the end of the stop", PATIENCE, || (Mono::now() > over).then_some(()));
        signal_one(number, Signal::CONT);
        let since = Mono::now();
        eventually("claims on four partitions", PATIENCE, || {
            let mut claims = BTreeSet::new();
            for fact in of_p2(&run.facts()) {
                if let What::Member(MemberEvent::Renewed { claims: all }) = &fact.what
                    && fact.t > since
                {
                    claims.extend(all.iter().map(|claim| claim.partition));
                }
            }
            (claims.len() == 4).then_some(())
        });
    }
    let (_, lengths) = led_by_one(run);
    println!("gaps of p2 when each server is stopped for {stop:?} in turn: {lengths:?}");
    lengths
}

/// Stops each store of `topologies/mixed-stores.yaml` in turn for `outage`, then two of them, then
/// all, and asserts that only then no group leads. Returns the joint gaps.
pub fn stores_lost_in_turn(outage: Duration) -> Vec<Duration> {
    let (etcd, zookeeper) = (Etcd::up(), ZooKeeper::up());
    let places = format!(
        "-f topologies/mixed-stores.yaml --set clusters.e.etcd={} --set clusters.z.zookeeper={}",
        etcd.address, zookeeper.addresses
    );
    let run = Experiment::calm("1200s").with(&places).start();
    let groups = ["p1", "p2", "p3"];
    await_led(&run, &groups);
    let broker = run.await_facts("the broker", |facts| {
        facts.iter().find_map(|fact| match fact.what {
            What::Run(RunEvent::ClusterStarted { pid, .. }) => Some(pid),
            _ => None,
        })
    });
    let signal = |store: usize, signal| match store {
        0 => signal_pid(broker, signal),
        1 => etcd.signal(signal),
        _ => zookeeper.signal(signal),
    };
    let rounds: [&[usize]; 5] = [&[0], &[1], &[2], &[1, 2], &[0, 1, 2]];
    let mut stopped = Vec::new();
    for lost in rounds {
        let from = Mono::now();
        lost.iter().for_each(|store| signal(*store, Signal::STOP));
        let over = from + outage;
        eventually("the outage", PATIENCE, || (Mono::now() > over).then_some(()));
        lost.iter().for_each(|store| signal(*store, Signal::CONT));
        let until = Mono::now();
        stopped.push((from, until));
        // All lead again, and have for a while: what the outage has ended has been replaced.
        eventually("leaders of all roles", PATIENCE, || {
            let facts = run.facts();
            let led = lost.iter().all(|store| {
                (0..4).all(|it| {
                    let claims = claims(&facts, groups[*store], PartitionId(it));
                    claims.last().is_some_and(|(at, _)| *at > from)
                })
            });
            (led && Mono::now() > until + Duration::from_secs(2)).then_some(())
        });
    }
    run.signal(Signal::INT);
    let run = run.finish();
    let within = |gaps: &[(Mono, Mono)], (from, until): (Mono, Mono)| {
        gaps.iter().any(|gap| gap.0 < until && from < gap.1)
    };
    for (round, lost) in rounds.iter().enumerate() {
        for (store, group) in groups.iter().enumerate() {
            let is_lost = lost.contains(&store);
            let found = if is_lost { gaps(&run, group) } else { unexplained_gaps(&run, group) };
            let gap = within(&found, stopped[round]);
            assert_eq!(gap, is_lost, "{group} without {lost:?}: {run}");
        }
    }
    let timeline = run.timeline();
    let joint: Vec<Interval> = timeline.joint.gaps.iter().map(|gap| gap.span).collect();
    let round = |gap: &Interval| stopped.iter().rposition(|(from, _)| *from < gap.from);
    assert!(joint.iter().any(|gap| round(gap) == Some(4)), "a joint gap without all stores: {run}");
    let others = unexplained_joint_gaps(&timeline).into_iter();
    let others: Vec<_> = others.filter(|gap| round(gap) != Some(4)).collect();
    assert_eq!(others, [], "no other: {run}");
    for group in ["p2", "p3"] {
        let findings = &timeline.groups[&group.parse::<GroupName>().unwrap()].findings;
        assert!(findings.overlaps.is_empty(), "in {group} no two lead: {run}");
    }
    let joint: Vec<_> = joint.into_iter().map(Interval::length).collect();
    println!("joint gaps without all stores for {outage:?}: {joint:?}");
    joint
}
