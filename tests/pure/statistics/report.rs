//! What the report says of the trials to come.

use tandem::ids::GroupName;
use tandem::verdict::{Exit, Report, StoppingOutcome, Until, Verdict, render};

use super::recent::{Seen, Series, roles};
use support::facts::{at, brief, name};

fn report(trials: &[Seen], until: Option<Until>) -> Report {
    let plan = roles();
    let number = u32::try_from(trials.len()).unwrap();
    let mut brief = brief(&plan, until.map_or(number, |until| until.max), &[]);
    brief.until = until;
    Report::compute(&plan, &brief, 42, at(10), &Series::of(trials).story.facts)
}

fn until(below: f64, min: u32, max: u32) -> Option<Until> {
    Some(Until { min, max, gap_probability_below: below, confidence: 0.95 })
}

fn line(report: &Report) -> String {
    let text = render(report, "out", false);
    let from = text.find("confidence ").unwrap();
    let section = text[from..].split("\nworst gap").next().unwrap();
    assert!(text.lines().count() <= 22, "{text}");
    section.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn trials_without_a_joint_gap_bound_its_probability_exactly() {
    let report = report(&[Seen::Nothing; 8], None);
    let of = &report.confidence;
    assert_eq!((of.trials, of.with_joint_gap, of.trials_needed), (8, 0, Some(299)));
    assert!((of.probability_max.unwrap() - 0.312_344).abs() < 1e-6);
    assert_eq!((of.level, of.probability), (0.95, None));
    let p1 = of.longest[&name::<GroupName>("p1")].gap;
    assert_eq!((p1.trials, p1.samples), (8, 8));
    assert_eq!((p1.p50.low_ms, p1.p50.high_ms), (Some(2_000.0), Some(2_000.0)));
    assert_eq!((p1.p95.low_ms, p1.p95.high_ms, p1.p95.samples_needed), (None, None, Some(72)));
    let p2 = of.longest[&name::<GroupName>("p2")].gap;
    assert_eq!((p2.samples, p2.p50.low_ms), (0, None));
    let together = of.correlation.as_ref().unwrap();
    assert_eq!((together.ratio, together.low), (None, None));
    assert_eq!(together.why.as_deref(), Some("undefined: p2 had no gap"));
    assert_eq!(
        line(&report),
        "confidence no joint gap in 8 trials: at most 31.2 % of such trials have one (95 %) \
         showing < 1 % needs 299 trials without a joint gap p95 of gaps takes 72 trials with one; \
         8 in p1"
    );
}

#[test]
fn trials_with_a_joint_gap_bound_it_on_both_sides() {
    let mut trials = vec![Seen::Nothing; 10];
    trials[2..5].fill(Seen::Gap);
    let report = report(&trials, None);
    let of = &report.confidence;
    assert_eq!((of.trials, of.with_joint_gap, of.probability_max), (10, 3, None));
    let ends = of.probability.unwrap();
    assert!((ends.low - 0.066_74).abs() < 1e-5 && (ends.high - 0.652_45).abs() < 1e-5, "{ends:?}");
    let together = of.correlation.as_ref().unwrap();
    // In 85 s of trials p1 had 20 s of gaps, p2 3 s, and all of those were p1's as well.
    assert!((together.ratio.unwrap() - 85.0 / 20.0).abs() < 0.01, "{together:?}");
    assert_eq!(together.why.as_deref(), Some("no interval: fewer than 10 joint gaps"));
    assert_eq!(
        line(&report),
        "confidence a joint gap in 3 of 10 trials: 6.7 to 65.2 % of such trials have one (95 %) \
         p95 of gaps takes 72 trials with one; 10 in p1 groups fail together 4.2 times as often as \
         apart"
    );
    let many: Vec<_> = (0..24).map(|it| [Seen::Gap, Seen::Nothing][it % 2]).collect();
    let together = self::report(&many, None).confidence.correlation.unwrap();
    let (low, high) = (together.low.unwrap(), together.high.unwrap());
    assert!(low <= together.ratio.unwrap() && together.ratio.unwrap() <= high, "{together:?}");
}

#[test]
fn a_reached_claim_is_reported_and_one_not_reached_is_unknown() {
    let claimed = report(&[Seen::Nothing; 29], until(0.1, 5, 30));
    let stopping = claimed.confidence.stopping.as_ref().unwrap();
    assert_eq!(
        (stopping.outcome, stopping.looks.as_slice()),
        (StoppingOutcome::Claimed, &[29][..])
    );
    assert_eq!(claimed.verdict, Verdict::Pass, "{:?}", claimed.reasons);
    assert!(claimed.confidence.probability_max.unwrap() < 0.1);
    let text = render(&claimed, "out", false);
    assert!(text.contains("29 of at most 30 trials"), "{text}");
    assert!(line(&claimed).ends_with("stopped: gap_probability < 10 % (95 %) holds"));

    let hopeless = report(&[Seen::Nothing, Seen::Gap], until(0.1, 1, 30));
    let stopping = hopeless.confidence.stopping.as_ref().unwrap();
    assert_eq!(stopping.outcome, StoppingOutcome::Hopeless);
    assert_eq!((hopeless.verdict, Exit::of(&hopeless).code()), (Verdict::Unknown, 4));
    assert_eq!(
        hopeless.reasons,
        ["gap_probability < 10 % (95 %) cannot hold within 30 trials: \
          a joint gap in 1 of 2 trials."]
    );
    assert_eq!(hopeless.confidence.probability, None, "it was not of a fixed length");

    // Cut off before the claim was decided; and in trials without an observer.
    for trials in [vec![Seen::Nothing; 10], vec![Seen::Unknown; 10]] {
        let open = report(&trials, until(0.1, 1, 60));
        let stopping = open.confidence.stopping.as_ref().unwrap();
        assert_eq!((stopping.outcome, open.verdict), (StoppingOutcome::Open, Verdict::Unknown));
    }
    // A joint gap is one even where the fault of its trial failed.
    let failed = report(&[Seen::FailedWithGap], until(0.1, 1, 30));
    let stopping = failed.confidence.stopping.as_ref().unwrap();
    assert_eq!(stopping.outcome, StoppingOutcome::Hopeless, "{stopping:?}");
}

#[test]
fn fields_unknown_to_an_older_result_are_absent() {
    let report = report(&[Seen::Nothing; 3], None);
    let mut json = serde_json::to_value(&report).unwrap();
    assert_eq!(serde_json::from_value::<Report>(json.clone()).unwrap(), report);
    json["confidence"] =
        serde_json::json!({"trials": 3, "with_joint_gap": 0, "probability_max": 1.0});
    let older: Report = serde_json::from_value(json).unwrap();
    let of = &older.confidence;
    assert!(of.longest.is_empty() && of.correlation.is_none() && of.stopping.is_none());
    assert_eq!(of.level, 0.95);
    assert!(line(&older).starts_with("confidence no joint gap in 3 trials: at most 100.0 %"));
}
