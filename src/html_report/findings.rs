//! Gaps, overlaps and unknown times as tables, the longest first, for readers who cannot see the
//! lanes.

use super::Subject;
use super::chart::{Chart, Marks};
use super::html::{count, table};
use super::tables::section;
use crate::timeline::Finding;
use crate::verdict::ms;

/// The most rows of a table, the longest first; the data of the page and the tables above count all
/// findings.
const ROWS_MAX: usize = 500;

/// The section.
pub(super) fn findings(subject: &Subject<'_>, chart: &Chart<'_>) -> String {
    let mut gaps = Vec::new();
    let mut overlaps = Vec::new();
    let mut unknown = Vec::new();
    let mut add = |place: &str, roles: &str, marks: &Marks<'_>| {
        let row = |one: &&Finding| (one.span.length(), row(subject, place, roles, one));
        gaps.extend(marks.gaps.iter().map(row));
        overlaps.extend(marks.overlaps.iter().map(row));
        unknown.extend(marks.unknown.iter().map(row));
    };
    for fold in &chart.folds {
        add("joint", &fold.title(), &fold.joint);
    }
    for group in &chart.groups {
        for (partition, lane) in &group.lanes {
            let place = format!("{}, partition {partition}", group.name);
            add(&place, "", &lane.marks);
        }
    }
    let tables = [("gap", gaps), ("unknown time", unknown), ("overlap", overlaps)];
    let body: String = tables.into_iter().map(|(kind, rows)| one(kind, rows)).collect();
    let intro = "<p>Each finding is listed once per lane, for all roles on it. Times are in \
                 milliseconds, counted from the beginning of the run.</p>\n";
    section("findings", "Everything that was found", &format!("{intro}{body}"))
}

fn one(kind: &str, mut rows: Vec<(std::time::Duration, Vec<String>)>) -> String {
    if rows.is_empty() {
        return format!("<p>No {kind}.</p>\n");
    }
    let all = rows.len();
    let counted = count(all, kind);
    rows.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    let head = ["where", "roles", "trial", "from", "length", "within", "after", ""];
    let shown = all.min(ROWS_MAX);
    let caption = if shown < all {
        format!("The {shown} longest of {counted}; all of them are on the lanes")
    } else {
        "The longest first".to_owned()
    };
    let rows = rows.into_iter().take(ROWS_MAX).map(|(_, row)| row);
    let rows = table(&caption, &head, rows);
    format!("<details><summary>{counted}</summary>{rows}</details>\n")
}

/// Notes on a finding.
fn note(subject: &Subject<'_>, of: &Finding) -> String {
    let disturbed = subject.report.disturbed.iter().flat_map(|it| &it.trials);
    let disturbed = disturbed.map(|one| one.trial).any(|trial| trial == of.trial);
    let notes = [(of.censored, "still open at the end"), (disturbed, "its trial was disturbed")];
    let notes: Vec<_> = notes.into_iter().filter(|(so, _)| *so).map(|(_, note)| note).collect();
    notes.join(", ")
}

fn row(subject: &Subject<'_>, place: &str, roles: &str, of: &Finding) -> Vec<String> {
    vec![
        place.to_owned(),
        roles.to_owned(),
        of.trial.to_string(),
        format!("{:.3}", ms(of.span.from.since(subject.zero))),
        format!("{:.3}", ms(of.span.length())),
        format!("{:.3}", ms(of.uncertainty)),
        of.cause.describe().unwrap_or_else(|| "nothing".to_owned()),
        note(subject, of),
    ]
}
