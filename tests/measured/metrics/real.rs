//! A real Prometheus beside a real run: its counters are the report's gaps, and its alerts fire
//! when they should and else do not.

use std::time::Duration;

use serde_json::Value;
use tandem::observation::{Fact, RunEvent, What};
use tandem::timeline::Timeline;

use support::experiment::{Experiment, Finished, eventually};
use support::measured::turn;
use support::prometheus::Prometheus;
use support::quiet::undisturbed;
use support::watched::{drive, found, judged};
use support::web::free_port;

/// Runs an experiment while a Prometheus scrapes it. Nothing where the host disturbed it: what
/// should not fire then may.
///
/// A gap is counted 650 ms after its end, and scraped within a second from then on. The endpoint
/// ends with the run, so members are started again, and the run ends, some seconds later than that.
fn scraped(experiment: impl Fn() -> Experiment, args: &str) -> Option<(Prometheus, Finished)> {
    let scrape = || {
        let port = free_port();
        let prometheus = Prometheus::start(port);
        let args = format!("{args} --metrics 127.0.0.1:{port}");
        let finished = experiment().with_rule().with(&args).finish();
        (prometheus, finished)
    };
    let is_disturbed = |(_, run): &(Prometheus, Finished)| run.is_disturbed();
    undisturbed(scrape, is_disturbed, |(_, run)| run.to_string())
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

/// The journal of a real run once more, through a watch, with facts that are up to 300 ms late.
fn the_watch_agrees_with_the_timeline(finished: &Finished) {
    let recording = finished.recording();
    let plan = &recording.header.plan;
    let ended = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialEnded { .. }));
    let end = recording.facts.iter().rev().find(ended).unwrap().t;
    let mut draw = 1u64;
    let delay = || {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis((draw >> 33) % 300)
    };
    let (watch, events) = drive(plan, &recording.facts, end, delay);
    let mut found = found(plan, &watch, &events);
    // Takeovers are the timeline's trial by trial.
    found.values_mut().for_each(|found| found.takeovers.clear());
    let mut judged = judged(plan, &recording.facts, end);
    judged.values_mut().for_each(|judged| judged.takeovers.clear());
    assert_eq!(found, judged, "{finished}");
}

#[test]
fn prometheus_counters_agree_with_the_report() {
    let _turn = turn();
    let args = "--trials 4 --set defaults.session=300ms --set defaults.restart.after=3s";
    // Sessions are so short that a busy machine exceeds their bounds: what is tested is the count.
    let order = || Experiment::claimless("kill-leader");
    let Some((prometheus, finished)) = scraped(order, args) else { return };
    assert_eq!(finished.code(), Some(0), "{finished}");
    let (gaps, count) = measured(&finished);
    assert!(count >= 4, "each kill costs at least one gap: {finished}");
    let longest = gaps / f64::from(u32::try_from(count).unwrap());
    assert!(longest < 1.0, "gaps are shorter than the scrape interval: {longest} s on average");
    let series = prometheus.query("neli_role_unavailable_time_seconds_total[15m]");
    assert_eq!(series.len(), 8, "four roles in two groups");
    let counted = grown(&series);
    assert!((counted - gaps).abs() <= gaps / 100.0, "counted {counted} s of {gaps} s: {finished}");
    the_watch_agrees_with_the_timeline(&finished);
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
    let _turn = turn();
    let twin_kill = || Experiment::new("chaos/twin-kill.yaml");
    let args = "--trials 1 --set defaults.threshold=1500ms --set defaults.restart.after=4s";
    let Some((prometheus, finished)) = scraped(twin_kill, args) else { return };
    assert_eq!(finished.code(), Some(0), "{finished}");
    let fired = || (prometheus.fired("NeliRoleLedInNoGroup") > 0).then_some(());
    eventually("the alarm", Duration::from_secs(60), fired);
    let series = prometheus.query("neli_joint_unavailable_time_seconds_total[15m]");
    let recording = finished.recording();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let joint: f64 = timeline.joint.gaps.iter().map(|gap| gap.span.length().as_secs_f64()).sum();
    let counted = grown(&series);
    assert!((counted - joint).abs() <= joint / 100.0, "counted {counted} s of {joint} s");
}
