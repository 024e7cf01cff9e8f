//! What a group in peace costs by who publishes on a partition: `tests/measure beacons-3`,
//! `beacons-10` and `beacons-50`. Each writes a row into `chaos/RESULTS.md`.

use std::fmt;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::beacons::{await_peace, published, word};
use support::experiment::eventually;
use support::results::{Claims, Row, append, tried};
use support::series::{await_turn, folder};
use support::up::{Up, nothing_is_left};
use support::usage::{Usage, watch};
use tandem::live_view::Level;
use tandem::observation::{RunEvent, What};
use tandem::topology::{Beacons, Load};

/// As many as the largest group has members, and some more.
const PARTITIONS: usize = 64;
/// How long fifty members may take to lead everything, and to be at peace.
const SOON: Duration = Duration::from_secs(300);

/// A group in peace.
struct Cost {
    planned: Load,
    messages: f64,
    members: Vec<Usage>,
    broker: Usage,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planned, messages, members, broker } = self;
        let most = |of: fn(&Usage) -> f64| members.iter().map(of).fold(0.0, f64::max);
        let share = members.iter().map(|one| one.core_percent).sum::<f64>();
        let Load { messages: wanted, deliveries } = planned;
        write!(
            f,
            "{messages:.0} messages/s (planned {wanted:.0}, deliveries {deliveries:.0}), members \
             {share:.1} % of a core together, {:.1} % and {:.1} MiB at most, broker {:.1} % and \
             {:.1} MiB",
            most(|one| one.core_percent),
            most(|one| one.resident_mib),
            broker.core_percent,
            broker.resident_mib
        )
    }
}

fn topology(members: usize, beacons: Beacons) -> String {
    format!(
        "version: 1\nname: beacons\nroles: {{count: {PARTITIONS}, prefix: r-}}\n\
         clusters: {{a: embedded}}\n\
         groups: {{p1: {{cluster: a, members: {members}, partitions: {PARTITIONS}}}}}\n\
         defaults: {{beacons: {}}}\n",
        word(beacons)
    )
}

fn cost(members: usize, beacons: Beacons) -> Cost {
    await_turn();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("beacons.yaml");
    fs::write(&file, topology(members, beacons)).unwrap();
    let mut up = Up::start(&format!("-f {}", file.display()));
    let picture = eventually("every role led", SOON, || {
        up.status().1.filter(|picture| picture.health == Level::Led)
    });
    let plan = up.recording().header.plan;
    let group = &plan.groups["p1"];
    await_peace(group, || up.recording().facts);
    let facts = up.recording().facts;
    let broker = facts.iter().find_map(|fact| match &fact.what {
        What::Run(RunEvent::ClusterStarted { address, pid, .. }) => Some((address.clone(), *pid)),
        _ => None,
    });
    let (address, broker) = broker.unwrap();
    let there = picture.groups.values().flat_map(|group| group.members.values());
    let pids: Vec<u32> = there.filter_map(|member| member.pid).chain([broker]).collect();
    assert_eq!(pids.len(), members + 1, "{picture:?}");
    let lasts = Duration::from_secs(tried().map_or(60, |_| 10));
    // Both at once.
    let (rates, mut used) = std::thread::scope(|scope| {
        let used = scope.spawn(|| watch(&pids, lasts));
        (published(&address, group, lasts), used.join().unwrap())
    });
    let broker = used.pop().unwrap();
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
    let planned = Load::of(&plan, group, beacons);
    Cost { planned, messages: rates.values().sum(), members: used, broker }
}

fn beacons(name: &str, members: usize) {
    let folder = folder(name);
    let [all, owners] = [Beacons::All, Beacons::Owners].map(|it| (word(it), cost(members, it)));
    let mut claims = Claims::default();
    for (word, Cost { planned, messages, .. }) in [&all, &owners] {
        let text = format!("{messages:.0}");
        let near = (messages - planned.messages).abs() <= planned.messages / 10.0;
        let claim = format!("{word}: {:.0} messages a second, within 10 %", planned.messages);
        claims.add(claim, text, near);
    }
    let share = |cost: &Cost| cost.members.iter().map(|one| one.core_percent).sum::<f64>();
    let text = format!("{:.1} of {:.1} % of a core", share(&owners.1), share(&all.1));
    claims.add("members do less where owners publish", text, share(&owners.1) < share(&all.1));
    let text = format!(
        "{members} members on {PARTITIONS} partitions. {}: {}. {}: {}",
        all.0, all.1, owners.0, owners.1
    );
    append(name, &folder, &Row::without_trials(1, &text), &claims);
    claims.hold();
}

#[test]
#[ignore = "takes four minutes: tests/measure beacons-3"]
fn beacons_3() {
    beacons("beacons-3", 3);
}

#[test]
#[ignore = "takes four minutes: tests/measure beacons-10"]
fn beacons_10() {
    beacons("beacons-10", 10);
}

#[test]
#[ignore = "takes five minutes: tests/measure beacons-50"]
fn beacons_50() {
    beacons("beacons-50", 50);
}
