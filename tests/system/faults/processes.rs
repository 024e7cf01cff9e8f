//! Faults of processes, of brokers and of machines, all in one trial, each on a group of its own.
//! Groups whose brokers lose what they know are not exclusive: they have no promise to keep then.

use tandem::ids::{GroupName, Incarnation, Life};
use tandem::observation::{MemberEvent, RunEvent, What};
use tandem::time::Mono;

use super::{Story, experiment};

const TOPOLOGY: &str = "\
version: 1
name: processes
roles: [r, s, t, u]
clusters:
  a: embedded
  b: embedded
  c: embedded
  d: embedded
  e: {embedded: {host: alpha}}
  f: {embedded: {host: beta}}
defaults: {session: 3s, beacon: 300ms, restart: {after: 4500ms}}
groups:
  kill: {cluster: a, members: 2, mode: exclusive}
  leave: {cluster: a, members: 2, mode: exclusive}
  stop: {cluster: a, members: 2, mode: exclusive}
  pause: {cluster: a, members: 2, mode: exclusive}
  clock: {cluster: a, members: 2, mode: exclusive}
  twice: {cluster: a, members: 2, mode: exclusive}
  own: {cluster: a, members: 2, mode: exclusive}
  crash: {cluster: b, members: 2}
  quit: {cluster: c, members: 2}
  hang: {cluster: d, members: 2, mode: exclusive}
  gone: {cluster: e, members: 2, host: alpha}
  still: {cluster: f, members: 2, host: beta}
";

/// What others take over meanwhile lasts for more than three sessions.
pub(super) const STEPS: [&str; 13] = [
    "{id: kill, fault: kill, target: {leader_of: any, group: kill}}",
    "{id: leave, fault: leave, target: {leader_of: any, group: leave}}",
    "{id: stop, fault: stop, target: {leader_of: any, group: stop}}",
    "{id: pause, fault: pause, for: 10s, target: {leader_of: any, group: pause}}",
    "{id: clock, fault: clock, for: 3s, ahead: 1h, target: {leader_of: any, group: clock}}",
    "{id: twice, fault: duplicate, for: 10s, target: {leader_of: any, group: twice}}",
    "{id: own, fault: exec, for: 10s, target: {leader_of: any, group: own}, timeout: 1m, \
     command: [sh, -c, 'kill -STOP $TANDEM_PIDS'], \
     undo: [sh, -c, 'kill -CONT $TANDEM_PIDS || true']}",
    "{id: crash, fault: broker, target: {coordinator_of: crash}, restart_after: 3s}",
    "{id: quit, fault: broker, how: stop, target: {cluster: c}, restart_after: 3s}",
    "{id: hang, fault: broker, how: pause, for: 6s, target: {leader_of: any, group: hang}}",
    "{id: gone, fault: host, target: {host: alpha}, restart_after: 4500ms}",
    "{id: still, fault: pause, for: 4s, target: {host: beta}}",
    "{id: nothing, fault: noop, for: 1s}",
];

#[test]
fn faults_of_processes_brokers_and_machines_take_effect_and_are_undone() {
    let story = Story::of(experiment(TOPOLOGY, &STEPS).with("--allow-exec"));
    for step in ["kill", "leave", "stop"] {
        story.has_ended(story.leader(step));
    }
    for step in ["pause", "own"] {
        let strike = story.leader(step);
        story.stood_still(strike);
        story.is_replaced(strike, strike.in_force);
    }
    the_clock_was_wrong(&story);
    the_second_took_part(&story);
    for (step, cluster) in [("crash", "b"), ("quit", "c")] {
        another_broker_serves(&story, step, cluster);
    }
    no_member_leads_without_answers(&story);
    whole_machines_were_hit(&story);
    assert_eq!(story.only("nothing").life, None);
}

/// It was an hour ahead while the fault lasted, by the member's own word, and then right.
fn the_clock_was_wrong(story: &Story) {
    let strike = story.leader("clock");
    let (zero, wall) = (story.header.zero, story.header.zero_wall);
    let ahead = |said: i64, at: Mono| {
        let passed = i64::try_from(at.since(zero).as_millis()).unwrap();
        (said - wall.0 - passed) / 60_000
    };
    let minutes = story.facts.iter().filter(|fact| fact.life.as_ref() == Some(strike.life()));
    let minutes = minutes.filter_map(|fact| match fact.what {
        What::Member(MemberEvent::Clock { wall }) => Some(ahead(wall.0, fact.t)),
        _ => None,
    });
    let minutes: Vec<i64> = minutes.collect();
    let (last, wrong) = minutes.split_last().expect("the member says what its clock is");
    let is_ahead = |minutes: &i64| (59..=60).contains(minutes);
    assert!(!wrong.is_empty() && wrong.iter().all(is_ahead), "{minutes:?}\n{}", story.run);
    assert!((-1..=1).contains(last), "{minutes:?}\n{}", story.run);
}

/// The second process of a member is a life of its own: it leads something, and goes again. The
/// first one lives on.
fn the_second_took_part(story: &Story) {
    let strike = story.only("twice");
    let second = strike.life();
    let first = Life { member: second.member.clone(), incarnation: Incarnation(1) };
    assert_eq!(second.incarnation, Incarnation(2), "{}", story.run);
    let claims = |what: &What| matches!(what, What::Member(MemberEvent::Claimed { .. }));
    let died = |what: &What| matches!(what, What::Run(RunEvent::Died { .. }));
    let led = story.when(second, claims);
    assert!(led.is_some_and(|at| strike.in_force <= at), "{second} led nothing\n{}", story.run);
    assert!(story.when(second, died).is_some_and(|at| at <= strike.healed), "{}", story.run);
    let first_died = story.when(&first, died);
    assert!(first_died.is_none_or(|at| strike.healed < at), "{first} died\n{}", story.run);
}

/// Another process serves where the broker was, and each member has joined again.
fn another_broker_serves(story: &Story, step: &str, cluster: &str) {
    let strike = story.only(step);
    let brokers = story.brokers(cluster);
    let [(_, address, pid), (since, there, next)] = &brokers[..] else {
        panic!("{step}: {brokers:?}\n{}", story.run)
    };
    assert!(address == there && pid != next, "{step}: {brokers:?}\n{}", story.run);
    assert!(strike.in_force <= *since && *since <= strike.healed, "{strike:?}, {brokers:?}");
    let group: GroupName = step.parse().unwrap();
    for member in &story.header.plan.groups[&group].members {
        let joins = story.facts.iter().filter(|fact| {
            fact.t > *since && matches!(fact.what, What::Member(MemberEvent::Assigned { .. }))
        });
        let mut lives = joins.filter_map(|fact| fact.life.as_ref());
        assert!(lives.any(|life| life.member == *member), "{member} is away\n{}", story.run);
    }
}

/// The broker stands still for longer than any proof counts, and is the same one after that.
fn no_member_leads_without_answers(story: &Story) {
    let strike = story.only("hang");
    assert_eq!(story.brokers("d").len(), 1, "{}", story.run);
    let group: GroupName = "hang".parse().unwrap();
    let threshold = story.header.plan.groups[&group].pace.threshold.get();
    story.is_unled("hang", strike.in_force + threshold + threshold / 2);
}

/// A machine dies with its members and its broker; another one stands still.
fn whole_machines_were_hit(story: &Story) {
    for (step, cluster, brokers) in [("gone", "e", 2), ("still", "f", 1)] {
        let all = story.all(step);
        assert_eq!(all.len(), 3, "two members and a broker: {all:?}\n{}", story.run);
        let members: Vec<_> = all.into_iter().filter(|strike| strike.life.is_some()).collect();
        assert_eq!(members.len(), 2, "{members:?}\n{}", story.run);
        for strike in members {
            if step == "gone" { story.has_ended(strike) } else { story.stood_still(strike) }
        }
        assert_eq!(story.brokers(cluster).len(), brokers, "{}", story.run);
    }
}
