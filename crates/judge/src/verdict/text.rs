//! The report as text: the verdict first, on one screen of 100 or 80 columns.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::confidence_text;
use super::distribution::Distribution;
use super::disturbed_text;
use super::grid::{Cell, Grid};
use super::legend;
use super::lines::{COLUMNS, Page, Piece, plain};
use super::network;
use super::reasons;
use super::report::{GroupReport, LimitReport, Measures, Report, Worst};
use super::ruling::{Ruling, Verdict};
use super::telemetry::Telemetry;
use super::upkeep_text;

/// The indentation of a cause below its group.
const INDENT: &str = "  ";
/// The number of reasons shown; `result.json` has all.
const REASONS: usize = 3;

/// The report as text of 100 columns; `place` is the location of its files.
#[must_use]
pub fn render(report: &Report, place: &str, colour: bool) -> String {
    render_within(report, place, colour, COLUMNS)
}

/// The report as text for a screen of `columns` columns, at least 80.
#[must_use]
pub fn render_within(report: &Report, place: &str, colour: bool, columns: usize) -> String {
    let mut page = Page::new(colour, columns);
    if let Some(up) = &report.up {
        upkeep_text::render(&mut page, report, up, place);
        return page.text;
    }
    let most = if report.confidence.stopping.is_some() { "at most " } else { "" };
    let title = format!(
        " {} on {}: {} of {most}{} trials, seed {}",
        report.experiment, report.topology, report.trials, report.trials_asked, report.seed
    );
    let word =
        Piece { text: report.headline().to_uppercase(), colour: Some(hue(report.shown_as())) };
    page.line(&[word, plain(title)]);
    for reason in report.reasons.iter().take(REASONS) {
        page.paragraph("  ", reason);
    }
    if let Some(more @ 1..) = report.reasons.len().checked_sub(REASONS) {
        page.line(&[plain(format!("  and {more} more: see result.json"))]);
    }
    page.line(&[]);
    table(&mut page, report);
    page.line(&[]);
    let objective = merged(&report.objective).into_iter();
    page.items("objective", objective.map(|ruling| ruled(ruling, false)));
    for ruling in merged(&report.assertions) {
        page.items("assertion", [ruled(ruling, true)].into_iter());
    }
    let filled = |(_, texts): &(&str, Vec<String>)| !texts.is_empty();
    for (label, texts) in closing(report, place).into_iter().filter(filled) {
        page.items(label, texts.into_iter().map(plain));
    }
    if let Some(telemetry) = &report.telemetry {
        sent(&mut page, telemetry);
    }
    page.text
}

fn table(page: &mut Page, report: &Report) {
    let names = report.groups.keys().map(|name| name.as_str().chars().count());
    let causes = report.groups.values().flat_map(GroupReport::others);
    let causes = causes.map(|(cause, _)| cause.row().chars().count() + INDENT.len());
    let grid = Grid::of(page.columns, names.chain(causes));
    let ends: &[&str] = &["p95", "max", "bound"];
    let gaps: &[&str] = &["p50", "p95", "max", "bound"];
    grid.heads(page, &[("gaps", gaps), ("overlaps", ends), ("takeovers", &["p50", "max"])]);
    for (name, group) in &report.groups {
        grid.row(page, name.as_str(), &cells(&group.fault, Some(&group.limit)));
        for (cause, other) in group.others() {
            grid.row(page, &format!("{INDENT}{}", cause.row()), &cells(other, None));
        }
    }
    let (gap, overlap) = (report.joint.gap, report.joint.overlap);
    let joint = Measures { gap, overlap, takeover: Distribution::default() };
    grid.row(page, "joint", &cells(&joint, Some(&report.joint.limit)));
}

fn cells(of: &Measures, limit: Option<&LimitReport>) -> [Cell; 12] {
    let number = |value: Option<f64>| Cell::Ms(value, None);
    let most = |value: Option<f64>, limit: Option<f64>| {
        let above = value.zip(limit).is_some_and(|(value, limit)| value > limit);
        Cell::Ms(value, above.then_some(RED))
    };
    let gap_limit = limit.and_then(|limit| limit.gap_ms);
    let overlap_limit = limit.and_then(|limit| limit.overlap_ms);
    let Measures { gap, overlap, takeover } = of;
    [
        Cell::Count(gap.count),
        number(gap.p50_ms),
        number(gap.p95_ms),
        most(gap.max_ms, gap_limit),
        number(gap_limit),
        Cell::Count(overlap.count),
        number(overlap.p95_ms),
        most(overlap.max_ms, overlap_limit),
        number(overlap_limit),
        Cell::Count(takeover.count),
        number(takeover.p50_ms),
        number(takeover.max_ms),
    ]
}

/// One ruling per claim: if it is about each group, the worst; of several equal ones, that with the
/// greatest measured value.
pub(super) fn merged(rulings: &[Ruling]) -> Vec<&Ruling> {
    let mut worst: BTreeMap<&str, (usize, &Ruling)> = BTreeMap::new();
    for (place, ruling) in rulings.iter().enumerate() {
        let known = worst.entry(&ruling.text).or_insert((place, ruling));
        let order = ruling.outcome.cmp(&known.1.outcome);
        let shows = |ruling: &Ruling| ruling.measured.unwrap_or(f64::NEG_INFINITY);
        if order.then(shows(ruling).total_cmp(&shows(known.1))) == Ordering::Greater {
            known.1 = ruling;
        }
    }
    let mut all: Vec<_> = worst.into_values().collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, ruling)| ruling).collect()
}

pub(super) fn ruled(ruling: &Ruling, measured: bool) -> Piece {
    let outcome = ruling.outcome.as_str();
    let mut text = format!("{outcome} {}", ruling.text);
    if measured || ruling.outcome != Verdict::Pass {
        let group = ruling.group.as_ref().filter(|_| ruling.outcome != Verdict::Pass);
        let group = group.map_or_else(String::new, |name| format!("{name} "));
        text = format!("{text} ({group}{})", ruling.measurement());
    }
    Piece { text, colour: Some(hue(ruling.outcome)) }
}

/// The telemetry lines of the report, for when the result of sending is known.
#[must_use]
pub fn render_telemetry(telemetry: &Telemetry, colour: bool, columns: usize) -> String {
    let mut page = Page::new(colour, columns);
    sent(&mut page, telemetry);
    page.text
}

pub(super) fn sent(page: &mut Page, telemetry: &Telemetry) {
    let hue = telemetry.lossy().then_some(RED);
    let piece = |text| Piece { text, colour: hue };
    page.items("telemetry", telemetry.describe().into_iter().map(piece));
}

fn closing(report: &Report, place: &str) -> [(&'static str, Vec<String>); 11] {
    let groups = report.groups.len();
    let leaders = report.joint.leaders_min.map_or_else(
        || "no trial counts".to_owned(),
        |least| format!("each role was led in at least {least} of {groups} groups at any instant"),
    );
    let floor = short(report.floor_ms);
    let mut instrument = vec![format!("floor {floor} ms: shorter gaps may be missed")];
    if let Some(max) = report.uncertainty_ms.max {
        instrument.push(format!("gaps known to within {} ms", short(max)));
    }
    if report.unknown_ms > 0.0 {
        instrument.push(format!("{} ms not observed", short(report.unknown_ms)));
    }
    let worst = report.worst.first().map_or_else(|| vec!["none".to_owned()], worst);
    let files =
        ["report.html", "result.json", "journal.jsonl"].map(|file| format!("{place}/{file}"));
    [
        ("disturbed", disturbed_text::describe(report)),
        ("rows", legend::of(report)),
        ("exclusive", report.promises()),
        ("joint", vec![leaders]),
        ("confidence", confidence_text::describe(report)),
        ("worst gap", worst),
        ("network", network::describe(report)),
        ("host", reasons::host(report)),
        ("outages", reasons::unreached(report)),
        ("instrument", instrument),
        ("files", files.into()),
    ]
}

fn worst(gap: &Worst) -> Vec<String> {
    worst_of(gap, &format!(", trial {}", gap.trial), "still open when its trial ended")
}

/// The longest gap: its time, if that is meaningful, and `open` if it has no end.
pub(super) fn worst_of(gap: &Worst, when: &str, open: &str) -> Vec<String> {
    let others = match gap.roles {
        0 | 1 => String::new(),
        roles => format!(" and {} more", roles - 1),
    };
    let (length, within) = (short(gap.duration_ms), short(gap.uncertainty_ms));
    let mut phrases = vec![
        // A gap without uncertainty needs no remark.
        if gap.uncertainty_ms > 0.0 {
            format!("{length} ms (within {within} ms)")
        } else {
            format!("{length} ms")
        },
        format!("{}{others} in {}{when}", gap.role, gap.group),
    ];
    phrases.extend(gap.after());
    if gap.censored {
        phrases.push(open.to_owned());
    }
    if let Some(stall) = gap.stall {
        let length = short(stall.until_ms - stall.from_ms);
        phrases.push(format!("the host stalled for {length} ms in it"));
    }
    phrases
}

/// A number for people: with decimals if it is small.
#[must_use]
pub fn short(value: f64) -> String {
    if value >= 100.0 || value.fract().abs() < 1e-9 {
        format!("{value:.0}")
    } else if value < 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}

const RED: &str = "31";

pub(super) fn hue(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "32",
        Verdict::Unknown => "33",
        Verdict::Fail => RED,
    }
}
