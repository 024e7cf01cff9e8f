//! The report on a topology that is kept up, as text: whether the objective was kept, and the gaps
//! with their causes, on one screen.

use std::time::Duration;

use super::distribution::Distribution;
use super::grid::{Cell, Grid};
use super::lines::{Page, Piece, plain};
use super::reasons;
use super::report::{GroupReport, Measures, Report, Worst};
use super::text::{hue, merged, ruled, sent, short, worst_of};
use super::upkeep::Upkeep;
use tandem_facts::time::Span;

/// Writes the report; `place` is the location of its files.
pub(super) fn render(page: &mut Page, report: &Report, up: &Upkeep, place: &str) {
    let word = Piece { text: report.kept(up), colour: Some(hue(report.verdict)) };
    let title = format!(" {}: judged for {}", report.topology, lasted(up.judged_ms()));
    page.line(&[word, plain(title)]);
    for reason in &report.reasons {
        page.paragraph("  ", reason);
    }
    page.line(&[]);
    table(page, report, up);
    page.line(&[]);
    let rulings = merged(&report.objective).into_iter().map(|ruling| ruled(ruling, true));
    if report.objective.is_empty() {
        let none = "none is set for joint_gap or group_gap: nothing is judged".to_owned();
        page.items("objective", [plain(none)].into_iter());
    } else {
        page.items("objective", rulings);
    }
    let said = |(_, texts): &(&str, Vec<String>)| !texts.is_empty();
    for (label, texts) in closing(report, up, place).into_iter().filter(said) {
        page.items(label, texts.into_iter().map(plain));
    }
    if let Some(telemetry) = &report.telemetry {
        sent(page, telemetry);
    }
}

fn table(page: &mut Page, report: &Report, up: &Upkeep) {
    let names = report.groups.keys().map(|name| name.as_str().chars().count());
    let grid = Grid::of(page.columns, names.chain([10]));
    let gaps: &[&str] = &["p50", "p95", "max"];
    grid.heads(
        page,
        &[("gaps", gaps), ("overlaps", &["p95", "max"]), ("takeovers", &["p50", "max"])],
    );
    for (name, all) in &up.groups {
        grid.row(page, name.as_str(), &cells(all));
        for (cause, of) in report.groups.get(name).into_iter().flat_map(GroupReport::others) {
            grid.row(page, &format!("  {}", cause.row()), &cells(of));
        }
    }
    let (gap, overlap) = (report.joint.gap, report.joint.overlap);
    let joint = Measures { gap, overlap, takeover: Distribution::default() };
    grid.row(page, "joint", &cells(&joint));
}

fn cells(of: &Measures) -> [Cell; 10] {
    let number = |value: Option<f64>| Cell::Ms(value, None);
    let Measures { gap, overlap, takeover } = of;
    [
        Cell::Count(gap.count),
        number(gap.p50_ms),
        number(gap.p95_ms),
        number(gap.max_ms),
        Cell::Count(overlap.count),
        number(overlap.p95_ms),
        number(overlap.max_ms),
        Cell::Count(takeover.count),
        number(takeover.p50_ms),
        number(takeover.max_ms),
    ]
}

fn closing(report: &Report, up: &Upkeep, place: &str) -> [(&'static str, Vec<String>); 7] {
    let groups = report.groups.len();
    let leaders = report.joint.leaders_min.map_or_else(
        || "nothing was seen".to_owned(),
        |least| format!("each role was led in at least {least} of {groups} groups at any instant"),
    );
    let worst = report.worst.first().map_or_else(|| vec!["none".to_owned()], worst);
    let mut instrument = vec![format!("floor {} ms", short(report.floor_ms))];
    if report.unknown_ms > 0.0 {
        instrument.push(format!("{} ms could not be observed", short(report.unknown_ms)));
    }
    instrument.extend(up.clocks.iter().map(|(clock, error)| {
        format!("the host of {clock}: each instant to within {} ms", short(*error))
    }));
    let mut files = vec![format!("{place}/report.html"), format!("{place}/result.json")];
    files.extend(journals(up, place));
    [
        ("exclusive", report.promises()),
        ("joint", vec![leaders]),
        ("worst gap", worst),
        ("host", reasons::host(report)),
        ("outages", reasons::unreached(report)),
        ("instrument", instrument),
        ("files", files),
    ]
}

fn journals(up: &Upkeep, place: &str) -> Option<String> {
    match up.journals.as_slice() {
        [] => None,
        [only] => Some(format!("{place}/{only}")),
        [first, .., last] => Some(format!("{place}/{first} to {last}")),
    }
}

fn worst(gap: &Worst) -> Vec<String> {
    worst_of(gap, "", "still open at the end")
}

/// A duration in whole seconds.
fn lasted(ms: f64) -> String {
    Span(Duration::from_secs(Duration::from_secs_f64(ms.max(0.0) / 1e3).as_secs())).to_string()
}
