//! `junit.xml` of a suite, for the CI that shows it: a test suite a run, a test case a claim.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::summary::{Row, Summary};
use crate::verdict::{Ruling, Verdict};

/// The text of the file. What could not be played is an error, unless that was asked to be skipped:
/// CI must not be green for what nobody has seen.
///
/// # Errors
/// It cannot be written as XML: a mistake of ours.
pub(super) fn junit(
    summary: &Summary,
    skip_unable: bool,
) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("tandem");
    for row in &summary.runs {
        report.add_test_suite(suite(row, skip_unable));
    }
    report.to_string()
}

fn suite(row: &Row, skip_unable: bool) -> TestSuite {
    let topology = row.topology.as_ref().map_or_else(String::new, |path| format!(" on {path}"));
    let mut suite = TestSuite::new(format!("{}{topology}", row.experiment));
    let Some(found) = &row.report else {
        // It was not played, or could not be.
        let mut status = match row.code {
            Some(1 | 2) if skip_unable => TestCaseStatus::skipped(),
            None | Some(_) => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        status.set_message(row.reasons.first().map_or(row.outcome, String::as_str));
        suite.add_test_case(TestCase::new("run", status));
        return suite;
    };
    let mut run = match row.code {
        Some(0 | 3) => TestCaseStatus::success(),
        Some(_) | None => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if !matches!(row.code, Some(0 | 3)) {
        run.set_message(found.reasons.first().map_or(row.outcome, String::as_str));
    }
    suite.add_test_case(TestCase::new("run", run));
    suite.add_test_cases(found.objective.iter().chain(&found.assertions).map(case));
    suite
}

fn case(ruling: &Ruling) -> TestCase {
    let mut status = match ruling.outcome {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Unknown => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if let Some(why) = &ruling.why {
        status.set_message(why.as_str());
    }
    let group = ruling.group.as_ref().map_or_else(String::new, |group| format!(" [{group}]"));
    TestCase::new(format!("{}{group}", ruling.text), status)
}
