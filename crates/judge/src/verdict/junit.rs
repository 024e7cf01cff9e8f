//! The report as JUnit XML for CI servers: one test case per ruling and group.
//!
//! A failed ruling is a failure, an unknown one an error: no server shows either as green. The run
//! itself is a case, too, for a fault that could not be injected or a claim that was not reached,
//! which belong to no ruling. So is a planned run that did not start.

use std::collections::BTreeSet;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Suites, TestCase, TestCaseStatus, TestSuite};

use super::Exit;
use super::report::Report;
use super::ruling::{Ruling, Verdict};
use tandem_facts::time::Wall;

/// The name of the case for the run itself.
const THE_RUN: &str = "the run";

/// A run to report.
#[derive(Debug, Clone, Copy)]
pub struct JunitRun<'a> {
    /// The report of the run.
    pub report: &'a Report,
    /// The name of the run.
    pub run: &'a str,
    /// The start of the run.
    pub began: Wall,
    /// The duration of the run.
    pub lasted: Duration,
    /// A problem of the run that is not in its report.
    pub trouble: Option<&'a str>,
}

/// A suite of the document.
#[derive(Debug, Clone, Copy)]
pub enum JunitSuite<'a> {
    /// A run with a verdict.
    Judged(JunitRun<'a>),
    /// A planned run without a report.
    Unjudged {
        /// The name of the run.
        name: &'a str,
        /// Why it has no report.
        why: &'a str,
        /// Whether it was skipped on request, which is no error.
        skipped: bool,
    },
}

/// A text cannot be written as XML, which is a bug.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the report as XML")]
pub struct JunitError(#[source] quick_junit::SerializeError);

/// One document for one or several runs, each as a suite, in the given order.
///
/// # Errors
/// A text cannot be written as XML.
pub fn junit(name: &str, suites: &[JunitSuite<'_>]) -> Result<String, JunitError> {
    let mut all = Suites::new(name);
    let lasted = |suite: &JunitSuite<'_>| match suite {
        JunitSuite::Judged(run) => run.lasted,
        JunitSuite::Unjudged { .. } => Duration::ZERO,
    };
    all.set_time(suites.iter().map(lasted).sum());
    for suite in suites {
        all.add_test_suite(match suite {
            JunitSuite::Judged(run) => judged(run),
            JunitSuite::Unjudged { name, why, skipped } => unjudged(name, why, *skipped),
        });
    }
    let text = all.to_string().map_err(JunitError)?;
    // No case is ever disabled, and Jenkins' schema has no such attribute for a suite.
    Ok(text.replace(r#" disabled="0""#, ""))
}

fn unjudged(name: &str, why: &str, skipped: bool) -> TestSuite {
    let status = if skipped {
        let mut status = TestCaseStatus::skipped();
        status.set_message(why);
        status
    } else {
        non_success(Verdict::Unknown, why)
    };
    let mut case = TestCase::new(THE_RUN, status);
    case.set_classname(format!("{name}.run")).set_time(Duration::ZERO);
    let mut suite = TestSuite::new(name);
    suite.set_time(Duration::ZERO);
    suite.add_test_case(case);
    suite
}

fn judged(of: &JunitRun<'_>) -> TestSuite {
    let report = of.report;
    let place = format!("{}.{}", report.experiment, report.topology);
    let mut suite = TestSuite::new(format!("{} on {}", report.experiment, report.topology));
    suite.set_time(of.lasted);
    if let Ok(began) = jiff::Timestamp::from_millisecond(of.began.0) {
        let began = began.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        suite.extra.insert("timestamp".into(), began.into());
    }
    for (name, value) in [
        ("run", of.run.to_owned()),
        ("experiment", report.experiment.clone()),
        ("topology", report.topology.to_string()),
        // A topology that is kept up has neither.
        ("seed", report.up.as_ref().map_or(report.seed.to_string(), |_| String::new())),
        ("trials", report.up.as_ref().map_or(report.trials.to_string(), |_| String::new())),
        ("verdict", report.verdict.as_str().to_owned()),
        ("exit_code", Exit::of(report).code().to_string()),
    ] {
        if !value.is_empty() {
            suite.add_property((name, value.as_str()));
        }
    }
    if let Some(disturbed) = &report.disturbed {
        for (name, value) in [
            ("disturbed_trials", disturbed.trials.len().to_string()),
            ("disturbed_failed", disturbed.failed.to_string()),
            ("verdict_all", disturbed.verdict_all.as_str().to_owned()),
        ] {
            suite.add_property((name, value.as_str()));
        }
    }
    suite.add_test_case(whole(of, &place));
    let of_objective = report.objective.iter().map(|ruling| ("objective", ruling));
    let of_assertions = report.assertions.iter().map(|ruling| ("assertion", ruling));
    for (kind, ruling) in of_objective.chain(of_assertions) {
        suite.add_test_case(case(ruling, &format!("{place}.{kind}")));
    }
    suite
}

/// The case of the run itself: the problems that belong to no ruling. Its time is that of the run.
fn whole(of: &JunitRun<'_>, place: &str) -> TestCase {
    let report = of.report;
    let rulings = report.objective.iter().chain(&report.assertions);
    let ruled: BTreeSet<&str> =
        rulings.clone().filter_map(|ruling| ruling.why.as_deref()).collect();
    let left = report.reasons.iter().filter(|reason| !ruled.contains(reason.as_str()));
    let mut left: Vec<&str> = left.map(String::as_str).chain(of.trouble).collect();
    let worst = rulings.map(|ruling| ruling.outcome).max().unwrap_or(Verdict::Pass);
    if left.is_empty() && worst < report.verdict {
        left.push("The verdict is worse than its rulings.");
    }
    let status = match left.as_slice() {
        [] => TestCaseStatus::success(),
        reasons => non_success(Verdict::Unknown, &reasons.join(" ")),
    };
    let mut case = TestCase::new(THE_RUN, status);
    case.set_classname(format!("{place}.run")).set_time(of.lasted);
    case
}

fn case(ruling: &Ruling, place: &str) -> TestCase {
    let why = ruling.why.clone().unwrap_or_else(|| ruling.text.clone());
    let status = match ruling.outcome {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Fail | Verdict::Unknown => non_success(ruling.outcome, &why),
    };
    let name = match &ruling.group {
        Some(group) => format!("{} [{group}]", ruling.text),
        None => ruling.text.clone(),
    };
    let mut case = TestCase::new(name, status);
    // All rulings concern the same run, whose time is in its own case.
    case.set_classname(place).set_time(Duration::ZERO);
    case
}

fn non_success(outcome: Verdict, why: &str) -> TestCaseStatus {
    let kind = match outcome {
        Verdict::Fail => NonSuccessKind::Failure,
        Verdict::Unknown | Verdict::Pass => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(why).set_type(outcome.as_str()).set_description(why);
    status
}
