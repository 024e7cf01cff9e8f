//! A real Prometheus beside a real run: its counters are the report's gaps, and its alerts fire when
//! they should and else do not.

use std::time::Duration;

use serde_json::Value;
use tandem::timeline::Timeline;

use crate::prometheus::Prometheus;
use crate::support::alone::alone;
use crate::support::experiment::{Experiment, Finished, eventually};
use crate::web::free_port;

/// Runs `file` while a Prometheus scrapes it.
fn scraped(file: &str, args: &str) -> (Prometheus, Finished) {
    let port = free_port();
    let prometheus = Prometheus::start(port);
    let args = format!("{args} --metrics 127.0.0.1:{port}");
    let finished = Experiment::new(file).with(&args).finish();
    (prometheus, finished)
}

/// For how long, in seconds, gaps of groups were open, all roles and groups added up; and how many
/// there were.
fn measured(finished: &Finished) -> (f64, usize) {
    let recording = finished.recording();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let lengths: Vec<_> = gaps.map(|gap| gap.span.length().as_secs_f64()).collect();
    (lengths.iter().sum(), lengths.len())
}

/// The last sample of each series less its first, added up.
fn grown(series: &[Value]) -> f64 {
    let sample = |value: &Value| value[1].as_str().unwrap().parse::<f64>().unwrap();
    let grown = |one: &Value| {
        let values = one["values"].as_array().unwrap();
        sample(values.last().unwrap()) - sample(&values[0])
    };
    series.iter().map(grown).sum()
}

#[test]
fn what_prometheus_counted_is_what_the_report_measured() {
    let _alone = alone();
    let args = "--trials 4 --set defaults.session=300ms";
    let (prometheus, finished) = scraped("chaos/kill-leader.yaml", args);
    assert_eq!(finished.code(), Some(0), "{finished}");
    let (gaps, count) = measured(&finished);
    assert!(count >= 4, "each kill costs at least one gap: {finished}");
    let longest = gaps / f64::from(u32::try_from(count).unwrap());
    assert!(longest < 1.0, "gaps are shorter than the scrape interval: {longest} s on average");
    let series = prometheus.query("neli_role_unavailable_time_seconds_total[15m]");
    assert_eq!(series.len(), 8, "four roles in two groups");
    let counted = grown(&series);
    assert!((counted - gaps).abs() <= gaps / 100.0, "counted {counted} s of {gaps} s: {finished}");
    let joint = prometheus.query("neli_joint_unavailable_time_seconds_total[15m]");
    assert_eq!(grown(&joint), 0.0, "{finished}");
    assert_eq!(prometheus.fired("NeliRoleLedInNoGroup"), 0, "{finished}");
    assert!(prometheus.fired("NeliRoleUnledInGroup") > 0, "{finished}");
    for nothing in ["neli_telemetry_lost_total[15m]", "neli_telemetry_late_total[15m]"] {
        assert_eq!(grown(&prometheus.query(nothing)), 0.0, "{nothing}: {finished}");
    }
}

#[test]
fn the_alarm_sounds_when_no_group_leads() {
    let _alone = alone();
    let (prometheus, finished) = scraped("chaos/twin-kill.yaml", "--trials 1");
    assert_eq!(finished.code(), Some(0), "{finished}");
    let fired = || (prometheus.fired("NeliRoleLedInNoGroup") > 0).then_some(());
    eventually("the alarm", Duration::from_secs(20), fired);
    let series = prometheus.query("neli_joint_unavailable_time_seconds_total[15m]");
    let recording = finished.recording();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let joint: f64 = timeline.joint.gaps.iter().map(|gap| gap.span.length().as_secs_f64()).sum();
    let counted = grown(&series);
    assert!((counted - joint).abs() <= joint / 100.0, "counted {counted} s of {joint} s");
}
