//! A topology that is kept up, scraped while a member is killed from outside: the metrics equal the
//! events.

use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::GroupName;
use tandem::live_view::{Event, Happening, Level};
use tandem::time::Mono;
use tandem::timeline::Timeline;

use support::applied::{Part, is_disturbed, shown};
use support::experiment::{eventually, output, tandem};
use support::measured::{shared_turn, turn};
use support::outside::{Death, kill_leader};
use support::quiet::undisturbed;
use support::up::Up;
use support::web::{get, samples};

const SOON: Duration = Duration::from_secs(60);
/// How far counter and events may differ, in seconds.
const TOLERANCE: f64 = 0.001;

/// Where it said that its metrics are.
fn port(up: &Up) -> u16 {
    eventually("the address", SOON, || {
        let said = up.said();
        let (_, rest) = said.split_once("metrics: http://127.0.0.1:")?;
        rest.split_once("/metrics").map(|(port, _)| port.parse().unwrap())
    })
}

fn scrape(port: u16) -> Vec<(String, f64)> {
    let (status, text) = get(port, "/metrics").unwrap();
    assert_eq!(status, 200, "{text}");
    samples(&text)
}

/// All samples of a metric with such a label, added up.
fn sum(samples: &[(String, f64)], name: &str, label: &str) -> f64 {
    let one = |(known, _): &&(String, f64)| {
        known.split('{').next() == Some(name) && known.contains(label)
    };
    let found: Vec<f64> = samples.iter().filter(one).map(|(_, value)| *value).collect();
    assert!(!found.is_empty(), "no {name} with {label} in {samples:#?}");
    found.iter().sum()
}

fn unavailable(samples: &[(String, f64)], group: &str) -> f64 {
    let label = format!("neli_group=\"{group}\"");
    sum(samples, "neli_role_unavailable_time_seconds_total", &label)
}

/// For how many seconds roles of a group had no leader, according to `tandem events`; gaps that
/// ended before `after` are left out.
fn seconds_from_events(up: &Up, group: &GroupName, after: Mono) -> f64 {
    let pid = up.pid().to_string();
    let said = output(tandem(up.state()).args(["events", "-o", "json", "--pid", &pid]));
    assert!(said.status.success(), "{said:?}");
    let text = String::from_utf8(said.stdout).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Event>(line).unwrap());
    let length = |event: Event| match event.what {
        Happening::Gap(gap) if gap.group.as_ref() == Some(group) => {
            let until = gap.until.filter(|until| *until > after)?;
            let roles = f64::from(u32::try_from(gap.role_count).unwrap());
            Some(until.since(gap.from).as_secs_f64() * roles)
        }
        _ => None,
    };
    events.filter_map(length).sum()
}

/// The same, as the journal says.
fn written(up: &Up, group: &GroupName, after: Mono) -> f64 {
    let recording = up.recording();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let gaps = timeline.groups[group].findings.gaps.iter();
    let late = gaps.filter(|gap| gap.span.until > after);
    late.map(|gap| gap.span.length().as_secs_f64()).sum()
}

/// What was scraped before a death and after it.
struct Scraped {
    up: Up,
    death: Death,
    before: Vec<(String, f64)>,
    after: Vec<(String, f64)>,
    /// What events say of `p1`, and since when they count.
    length: f64,
    settled: Mono,
}

fn play() -> Scraped {
    let _turn = turn();
    let mut up =
        Up::start("-f topologies/duo.yaml --set defaults.session=500ms --metrics 127.0.0.1:0");
    let port = port(&up);
    up.await_health(Level::Led);
    let led = Mono::now();
    // What happened until all was led is counted, and final.
    let (before, settled) = eventually("the start to be final", SOON, || {
        let now = Mono::now();
        let samples = scrape(port);
        let lag = sum(&samples, "neli_telemetry_lag_seconds", "");
        let settled = now - Duration::from_secs_f64(lag.max(0.0));
        (settled > led).then_some((samples, settled))
    });
    let group: GroupName = "p1".parse().unwrap();
    let mut follower = up.follow();
    let death = kill_leader(&up, &mut follower, &group);
    follower.await_event("its gap", |event| match &event.what {
        Happening::Gap(gap) if gap.group.as_ref() == Some(&group) => Some(()),
        _ => None,
    });
    up.await_health(Level::Led);
    let (after, length) = eventually("the counter to match the events", SOON, || {
        let samples = scrape(port);
        let from_events = seconds_from_events(&up, &group, settled);
        let grown = unavailable(&samples, "p1") - unavailable(&before, "p1");
        (from_events > 0.0 && (grown - from_events).abs() < TOLERANCE)
            .then_some((samples, from_events))
    });
    // For a moment two may have claimed one.
    eventually("each role to be led again", SOON, || {
        let leaders = |label| sum(&scrape(port), "neli_role_leaders", label);
        (leaders("neli_group=\"p1\"") == 4.0).then_some(())
    });
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    assert!(get(port, "/metrics").is_err(), "the endpoint ends with its run");
    Scraped { up, death, before, after, length, settled }
}

#[test]
fn the_metrics_of_a_topology_that_is_kept_up_equal_its_events() {
    // A member that the host keeps from running leaves a gap as well.
    let disturbed = |it: &Scraped| is_disturbed(&Part::all(&it.up));
    let shown = |it: &Scraped| shown(&Part::all(&it.up));
    let Some(scraped) = undisturbed(play, disturbed, shown) else { return };
    let Scraped { up, death, before, after, length, settled } = scraped;
    assert!(length > 0.1, "{} led something: {length}", death.life);
    let joint = |samples| sum(samples, "neli_joint_unavailable_time_seconds_total", "");
    assert_eq!(joint(&after), joint(&before));
    assert_eq!(unavailable(&after, "p2"), unavailable(&before, "p2"));
    assert_eq!(sum(&after, "neli_telemetry_lost_total", ""), 0.0);
    let written = written(&up, &"p1".parse().unwrap(), settled);
    assert!((written - length).abs() < TOLERANCE, "reported {length} s, written {written} s");
}

#[test]
fn where_metrics_cannot_be_served_nothing_is_kept_up() {
    let _turn = shared_turn();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for (address, code) in [(taken.local_addr().unwrap().to_string(), 1), ("9464".to_owned(), 2)] {
        let mut up = Up::start(&format!("-f topologies/solo.yaml --metrics {address}"));
        assert_eq!(up.ends().code(), Some(code), "{}", up.said());
        assert!(!up.out.exists(), "{}", up.said());
    }
}
