//! Topologies that are kept up, scraped by a real Prometheus while members are killed from outside:
//! its counters are what the events say, and its alerts fire when they should and else do not.

use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::GroupName;
use tandem::live_view::{Event, Happening, Level};

use crate::single::{SINGLE, await_gap, kill_member};
use support::experiment::{eventually, output, signal_pid, tandem};
use support::prometheus::Prometheus;
use support::up::Up;
use support::web::{free_port, get, samples};

const SOON: Duration = Duration::from_secs(60);
/// How far counters and events may differ, in seconds.
const TOLERANCE: f64 = 0.001;

const UNAVAILABLE: &str = "neli_role_unavailable_time_seconds_total";
const JOINT_UNAVAILABLE: &str = "neli_joint_unavailable_time_seconds_total";
const NO_GROUP: &str = "NeliRoleLedInNoGroup";

/// All samples of a metric with such a label, added up.
fn sum(port: u16, name: &str, label: &str) -> f64 {
    let (status, text) = get(port, "/metrics").unwrap();
    assert_eq!(status, 200, "{text}");
    let one =
        |(known, _): &(String, f64)| known.split('{').next() == Some(name) && known.contains(label);
    let found: Vec<f64> = samples(&text).into_iter().filter(one).map(|(_, value)| value).collect();
    assert!(!found.is_empty(), "no {name} with {label} in {text}");
    found.iter().sum()
}

/// The same, as Prometheus has it.
fn scraped(prometheus: &Prometheus, name: &str, label: &str) -> f64 {
    let found = prometheus.query(&format!("{name}{{{label}}}")).into_iter();
    found.map(|one| one["value"][1].as_str().unwrap().parse::<f64>().unwrap()).sum()
}

/// For how many seconds roles of a group had no leader, according to `tandem events`.
fn seconds_from_events(up: &Up, group: &GroupName) -> f64 {
    let pid = up.pid().to_string();
    let said = output(tandem(up.state()).args(["events", "-o", "json", "--pid", &pid]));
    assert!(said.status.success(), "{said:?}");
    let text = String::from_utf8(said.stdout).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Event>(line).unwrap());
    let length = |event: Event| match event.what {
        Happening::Gap(gap) if gap.group.as_ref() == Some(group) => {
            let roles = f64::from(u32::try_from(gap.role_count).unwrap());
            Some(gap.until?.since(gap.from).as_secs_f64() * roles)
        }
        _ => None,
    };
    events.filter_map(length).sum()
}

/// Waits until the endpoint and Prometheus have of each group what the events say: a gap that goes
/// on is counted sooner than it is an event. Returns that of the first group.
fn await_agreement(up: &Up, port: u16, prometheus: &Prometheus, groups: &[GroupName]) -> f64 {
    let one = |group: &GroupName| {
        let (said, label) = (seconds_from_events(up, group), format!("neli_group=\"{group}\""));
        let all = [sum(port, UNAVAILABLE, &label), scraped(prometheus, UNAVAILABLE, &label)];
        all.iter().all(|counted| (counted - said).abs() < TOLERANCE).then_some(said)
    };
    eventually("the counters to be what the events say", SOON, || {
        groups.iter().map(one).collect::<Option<Vec<f64>>>().map(|all| all[0])
    })
}

#[test]
fn prometheus_has_of_a_topology_that_is_kept_up_what_its_events_say() {
    let port = free_port();
    let prometheus = Prometheus::start(port);
    let args = format!("{SINGLE} --set groups.p1.session=2s --metrics 127.0.0.1:{port}");
    let mut up = Up::start(&args);
    up.await_health(Level::Led);
    // By how much a counter grows is known from its first sample on.
    eventually("the first samples", SOON, || {
        (prometheus.query(UNAVAILABLE).len() == 8).then_some(())
    });
    let groups = ["p1", "p2"].map(|name| name.parse::<GroupName>().unwrap());
    let mut follower = up.follow();
    let life = kill_member(&up, &mut follower, &groups[0]);
    await_gap(&mut follower, &groups[0]);
    up.await_health(Level::Led);
    let gap = await_agreement(&up, port, &prometheus, &groups);
    assert!(gap > 0.1, "{life} led something: {gap}");
    eventually("the alert", SOON, || (prometheus.fired("NeliRoleUnledInGroup") > 0).then_some(()));
    // The other group led meanwhile, unless the host kept its member from that.
    let fired = prometheus.fired(NO_GROUP);
    assert!(fired == 0 || sum(port, JOINT_UNAVAILABLE, "") > 0.0, "{}", up.said());
    assert_eq!(sum(port, "neli_telemetry_lost_total", ""), 0.0);

    let picture = up.await_health(Level::Led);
    let seats = picture.groups.values().flat_map(|group| group.members.values());
    for seat in seats {
        signal_pid(seat.pid.unwrap(), Signal::KILL);
    }
    eventually("the alarm", SOON, || (prometheus.fired(NO_GROUP) > 0).then_some(()));
    assert!(sum(port, JOINT_UNAVAILABLE, "") > 0.0, "{}", up.said());
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    assert!(get(port, "/metrics").is_err(), "the endpoint ends with its run");
}

#[test]
fn where_metrics_cannot_be_served_nothing_is_kept_up() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for (address, code) in [(taken.local_addr().unwrap().to_string(), 1), ("9464".to_owned(), 2)] {
        let mut up = Up::start(&format!("-f topologies/solo.yaml --metrics {address}"));
        assert_eq!(up.ends().code(), Some(code), "{}", up.said());
        assert!(!up.out.exists(), "{}", up.said());
    }
}

/// Port 0 is any free port, and it is said which.
#[test]
fn a_free_port_is_found_and_said() {
    let mut up = Up::start("-f topologies/solo.yaml --metrics 127.0.0.1:0");
    let port = eventually("the address", SOON, || {
        let said = up.said();
        let (_, rest) = said.split_once("metrics: http://127.0.0.1:")?;
        rest.split_once("/metrics").map(|(port, _)| port.parse().unwrap())
    });
    eventually("a scrape", SOON, || get(port, "/metrics").ok().filter(|(code, _)| *code == 200));
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
}
