//! The report as an exit code, for scripts.

use super::report::Report;
use super::ruling::Verdict;
use crate::observation::Outcome;

/// The first of 6 (something could not be healed), 130 (interrupted), 5 (ended by a stop condition
/// or a limit), 3 (fail), 4 (unknown), 0 (pass) that applies.
#[must_use]
pub fn exit_code(report: &Report) -> u8 {
    match (report.outcome, report.verdict) {
        (Some(Outcome::Unhealed), _) => 6,
        (Some(Outcome::Interrupted), _) => 130,
        (Some(Outcome::Aborted), _) => 5,
        (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Fail) => 3,
        (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Unknown) => 4,
        (Some(Outcome::Completed | Outcome::Broken) | None, Verdict::Pass) => 0,
    }
}
