//! What the rows of the report's table mean that are not named after a group.

use super::report::Report;

/// One sentence a row that is there.
pub(super) fn of(report: &Report) -> Vec<String> {
    let found = |cause: &str| {
        let groups = report.groups.values();
        groups.flat_map(|group| group.other.found()).any(|(name, _)| name == cause)
    };
    let said = [
        (
            "restart",
            "what it costs that members come back: roles move to them, led twice meanwhile",
        ),
        ("no cause", "what neither a fault nor a restart explains"),
    ];
    let said = said.into_iter().filter(|(cause, _)| found(cause));
    said.map(|(cause, sentence)| format!("{cause}: {sentence}")).collect()
}
