//! Explains the rows of the report's table that are not named after a group.

use std::collections::BTreeSet;

use super::report::{GroupReport, Report};

/// One sentence for each of these rows in the table.
pub(super) fn of(report: &Report) -> Vec<String> {
    let causes: BTreeSet<_> =
        report.groups.values().flat_map(GroupReport::others).map(|(cause, _)| cause).collect();
    let sentence = |cause: super::CauseKind| Some(format!("{}: {}", cause.row(), cause.meaning()?));
    causes.into_iter().filter_map(sentence).collect()
}
