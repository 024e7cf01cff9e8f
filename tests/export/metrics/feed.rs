//! Facts in, samples out, without a run around them.

use std::sync::Arc;
use std::time::Duration;

use tandem::fold::{Fold, WAITING_MAX};
use tandem::live::Live;
use tandem::observation::{Fact, RunEvent, What};
use tandem::telemetry::{Metrics, Outlets, RunContext, SERIES_MAX, bind};
use tandem::time::Mono;
use tandem::topology::Plan;

use support::experiment::eventually;
use support::facts::{Story, plan};
use support::recorded::up;
use support::web::{get, samples};

pub fn context(plan: &Plan) -> RunContext {
    RunContext::of(&up(plan))
}

/// Metrics that can be scraped, and where.
fn served(plan: &Plan) -> (Metrics, u16) {
    let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.address().port();
    let outlets = Outlets { scrape: Some(listener), push: None };
    (Metrics::start(plan, &context(plan), outlets).unwrap(), port)
}

fn scrape(port: u16) -> Vec<(String, f64)> {
    let (status, text) = get(port, "/metrics").unwrap();
    assert_eq!(status, 200, "{text}");
    samples(&text)
}

fn value(samples: &[(String, f64)], name: &str) -> f64 {
    let found = samples.iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("no {name} in {samples:#?}")).1
}

#[test]
fn counters_are_there_at_0_before_anything_happens() {
    let (metrics, port) = served(&plan(2, &[("p1", 2, 2), ("p2", 2, 2)]));
    let samples = scrape(port);
    for name in [
        "neli_role_unavailable_time_seconds_total{neli_group=\"p1\",neli_role=\"role-0\"}",
        "neli_role_overlap_time_seconds_total{neli_group=\"p2\",neli_role=\"role-1\"}",
        "neli_role_unknown_time_seconds_total{neli_group=\"p2\",neli_role=\"role-1\"}",
        "neli_role_transitions_total{neli_group=\"p2\",neli_role=\"role-1\"}",
        "neli_role_leaders{neli_group=\"p1\",neli_role=\"role-1\"}",
        "neli_joint_leaders{neli_role=\"role-0\"}",
        "neli_joint_unavailable_time_seconds_total{neli_role=\"role-1\"}",
        "neli_telemetry_lost_total",
        "neli_telemetry_late_total",
    ] {
        assert_eq!(value(&samples, name), 0.0, "{name}");
    }
    drop(metrics);
    assert!(get(port, "/metrics").is_err(), "the endpoint ends with its run");
}

#[test]
fn facts_are_counted_to_the_nanosecond() {
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let (metrics, port) = served(&plan);
    let mut story = Story::default();
    story.serves("p1-1.1", 0, 1, [500, 1_950]).asked("p1-1.1", 2_000, "1.k", "kill");
    story.died("p1-1.1", 2_003).serves("p1-2.1", 0, 1, [3_047, 5_000]);
    story.serves("p2-1.1", 0, 1, [600, 5_000]);
    let mut facts = story.facts;
    facts.sort_by_key(|fact| fact.t);
    let fold = Arc::new(Fold::new(Live::new(&plan)));
    metrics.feed().follow(&fold);
    facts.into_iter().for_each(|fact| fold.put(Arc::new(fact)));
    fold.end(Mono(5_000_000_000));
    metrics.conclude(Duration::from_secs(1));
    let name = "neli_role_unavailable_time_seconds_total{neli_group=\"p1\",neli_role=\"role-0\"}";
    let samples = eventually("the gap", Duration::from_secs(60), || {
        let samples = scrape(port);
        (value(&samples, name) > 0.0).then_some(samples)
    });
    assert_eq!(value(&samples, name), 1.047);
    let gaps = "neli_role_gap_duration_seconds";
    assert_eq!(value(&samples, &format!("{gaps}_sum{{neli_group=\"p1\"}}")), 1.047);
    assert_eq!(value(&samples, &format!("{gaps}_bucket{{neli_group=\"p1\",le=\"1\"}}")), 0.0);
    assert_eq!(value(&samples, &format!("{gaps}_bucket{{neli_group=\"p1\",le=\"1.5\"}}")), 1.0);
    let passed = "neli_role_transitions_total{neli_group=\"p1\",neli_role=\"role-0\"}";
    assert_eq!(value(&samples, passed), 1.0);
    let joint = "neli_joint_unavailable_time_seconds_total{neli_role=\"role-0\"}";
    assert_eq!(value(&samples, joint), 0.0);
    assert_eq!(value(&samples, "neli_telemetry_lost_total"), 0.0);
    assert_eq!(metrics.finish(), (0, None));
}

#[test]
fn facts_that_do_not_fit_are_counted() {
    let plan = plan(1, &[("p1", 1, 2)]);
    let (metrics, port) = served(&plan);
    let fold = Arc::new(Fold::new(Live::new(&plan)));
    metrics.feed().follow(&fold);
    let missed = 7_u32;
    let sent = u64::try_from(WAITING_MAX).unwrap() + u64::from(missed);
    for seq in 1..=sent {
        let what = What::Run(RunEvent::EdgesStarted { pid: 1 });
        fold.put(Arc::new(Fact { t: Mono(seq), seq, life: None, what }));
    }
    let lost = eventually("the loss", Duration::from_secs(60), || {
        let lost = value(&scrape(port), "neli_telemetry_lost_total");
        (lost > 0.0).then_some(lost)
    });
    assert_eq!(lost, f64::from(missed));
    metrics.conclude(Duration::from_secs(1));
    assert_eq!(metrics.finish().0, u64::from(missed));
}

#[test]
fn roles_beyond_the_cap_share_a_series() {
    let plan = plan(2_000, &[("p1", 64, 5), ("p2", 64, 5), ("p3", 64, 5)]);
    let (metrics, port) = served(&plan);
    let samples = scrape(port);
    let of = |name: &str| {
        let start = format!("{name}{{");
        samples.iter().filter(|(known, _)| known.starts_with(&start)).count()
    };
    assert_eq!(of("neli_role_leaders"), SERIES_MAX);
    assert_eq!(of("neli_role_unavailable_time_seconds_total"), SERIES_MAX);
    assert_eq!(of("neli_joint_unavailable_time_seconds_total"), SERIES_MAX / 3);
    let other = |(name, _): &&(String, f64)| name.contains("neli_role=\"other\"");
    // Five instruments by role and group, two by role.
    assert_eq!(samples.iter().filter(other).count(), 5 * 3 + 2);
    let merged = |(name, _): &(String, f64)| name.contains("otel_metric_overflow");
    assert!(!samples.iter().any(merged), "the library has merged nothing by itself");
    drop(metrics);
}
