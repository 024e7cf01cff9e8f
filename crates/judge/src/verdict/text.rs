//! The report as a person reads it: the verdict first, on one screen of 100 columns.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::confidence_text;
use super::distribution::Distribution;
use super::disturbed_text;
use super::legend;
use super::network;
use super::reasons;
use super::report::{GroupReport, LimitReport, Measures, Report, Worst};
use super::ruling::{Ruling, Verdict};
use super::telemetry::Telemetry;
use super::upkeep_text;

const COLUMNS: usize = 100;
const LABEL: usize = 11;
/// Before a cause, which stands below its group.
const INDENT: &str = "  ";
/// How many reasons are told; `result.json` has all.
const REASONS: usize = 3;

/// A word and its colour.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) colour: Option<&'static str>,
}

/// Lines, with or without colours.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) colour: bool,
}

/// The report as text; `place` is where its files are.
#[must_use]
pub fn render(report: &Report, place: &str, colour: bool) -> String {
    if let Some(up) = &report.up {
        return upkeep_text::render(report, up, place, colour);
    }
    let mut page = Page { text: String::new(), colour };
    let most = if report.confidence.stopping.is_some() { "at most " } else { "" };
    let title = format!(
        " {} on {}: {} of {most}{} trials, seed {}",
        report.experiment, report.topology, report.trials, report.trials_asked, report.seed
    );
    let word =
        Piece { text: report.headline().to_uppercase(), colour: Some(hue(report.shown_as())) };
    page.line(&[word, plain(title)]);
    for reason in report.reasons.iter().take(REASONS) {
        page.line(&[plain(format!("  {}", clip(reason, COLUMNS - 2)))]);
    }
    if let Some(more @ 1..) = report.reasons.len().checked_sub(REASONS) {
        page.line(&[plain(format!("  and {more} more: see result.json"))]);
    }
    page.line(&[]);
    table(&mut page, report);
    page.line(&[]);
    let objective = merged(&report.objective).into_iter();
    page.items("objective", objective.map(|ruling| told(ruling, false)));
    for ruling in merged(&report.assertions) {
        page.items("assertion", [told(ruling, true)].into_iter());
    }
    let said = |(_, texts): &(&str, Vec<String>)| !texts.is_empty();
    for (label, texts) in closing(report, place).into_iter().filter(said) {
        page.items(label, texts.into_iter().map(plain));
    }
    if let Some(telemetry) = &report.telemetry {
        page.text.push_str(&render_telemetry(telemetry, colour));
    }
    page.text
}

fn table(page: &mut Page, report: &Report) {
    let names = report.groups.keys().map(|name| name.as_str().chars().count());
    let causes = report.groups.values().flat_map(GroupReport::others);
    let causes = causes.map(|(cause, _)| cause.row().chars().count() + INDENT.len());
    let width = names.chain(causes).max().unwrap_or(0).clamp(9, 16) + 1;
    page.line(&[plain(format!(
        "{:width$}{:<34}{:<27}{}",
        "ms", "  gaps", "  overlaps", "  takeovers"
    ))]);
    page.line(&[plain(format!(
        "{:width$}{:>6}{:>7}{:>7}{:>7}{:>7}{:>6}{:>7}{:>7}{:>7}{:>6}{:>7}{:>7}",
        "",
        "count",
        "p50",
        "p95",
        "max",
        "bound",
        "count",
        "p95",
        "max",
        "bound",
        "count",
        "p50",
        "max"
    ))]);
    for (name, group) in &report.groups {
        row(page, width, name.as_str(), &group.fault, Some(&group.limit));
        for (cause, other) in group.others() {
            row(page, width, &format!("{INDENT}{}", cause.row()), other, None);
        }
    }
    let (gap, overlap) = (report.joint.gap, report.joint.overlap);
    let joint = Measures { gap, overlap, takeover: Distribution::default() };
    row(page, width, "joint", &joint, Some(&report.joint.limit));
}

fn row(page: &mut Page, width: usize, name: &str, of: &Measures, limit: Option<&LimitReport>) {
    let number = |value: Option<f64>| plain(format!("{:>7}", value.map_or("-".into(), short)));
    let most = |value: Option<f64>, limit: Option<f64>| Piece {
        colour: value.zip(limit).is_some_and(|(value, limit)| value > limit).then_some(RED),
        ..number(value)
    };
    let count = |of: &Distribution| plain(format!("{:>6}", of.count));
    let gap_limit = limit.and_then(|limit| limit.gap_ms);
    let overlap_limit = limit.and_then(|limit| limit.overlap_ms);
    page.line(&[
        plain(format!("{:width$}", clip(name, width - 1))),
        count(&of.gap),
        number(of.gap.p50_ms),
        number(of.gap.p95_ms),
        most(of.gap.max_ms, gap_limit),
        number(gap_limit),
        count(&of.overlap),
        number(of.overlap.p95_ms),
        most(of.overlap.max_ms, overlap_limit),
        number(overlap_limit),
        count(&of.takeover),
        number(of.takeover.p50_ms),
        number(of.takeover.max_ms),
    ]);
}

/// One ruling a claim: where it is about each group, the worst, and among equals the one with the
/// most to show.
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

pub(super) fn told(ruling: &Ruling, measured: bool) -> Piece {
    let outcome = ruling.outcome.as_str();
    let mut text = format!("{outcome} {}", ruling.text);
    if measured || ruling.outcome != Verdict::Pass {
        let whom = ruling.group.as_ref().filter(|_| ruling.outcome != Verdict::Pass);
        let whom = whom.map_or_else(String::new, |name| format!("{name} "));
        text = format!("{text} ({whom}{})", ruling.measurement());
    }
    Piece { text, colour: Some(hue(ruling.outcome)) }
}

/// What was sent to collectors, as the report's text has it; told once that is known.
#[must_use]
pub fn render_telemetry(telemetry: &Telemetry, colour: bool) -> String {
    let mut page = Page { text: String::new(), colour };
    let hue = telemetry.lossy().then_some(RED);
    let piece = |text| Piece { text, colour: hue };
    page.items("telemetry", telemetry.told().into_iter().map(piece));
    page.text
}

fn closing(report: &Report, place: &str) -> [(&'static str, Vec<String>); 10] {
    let groups = report.groups.len();
    let leaders = report.joint.leaders_min.map_or_else(
        || "no trial was seen".to_owned(),
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
        ("disturbed", disturbed_text::told(report)),
        ("rows", legend::of(report)),
        ("joint", vec![leaders]),
        ("confidence", confidence_text::told(report)),
        ("worst gap", worst),
        ("network", network::told(report)),
        ("host", reasons::host(report)),
        ("outages", reasons::unreached(report)),
        ("instrument", instrument),
        ("files", files.into()),
    ]
}

fn worst(gap: &Worst) -> Vec<String> {
    worst_of(gap, &format!(", trial {}", gap.trial), "still open when its trial ended")
}

/// The longest gap: when it was, where that says something, and what is said of one without an end.
pub(super) fn worst_of(gap: &Worst, when: &str, open: &str) -> Vec<String> {
    let others = match gap.roles {
        0 | 1 => String::new(),
        roles => format!(" and {} more", roles - 1),
    };
    let (length, within) = (short(gap.duration_ms), short(gap.uncertainty_ms));
    let mut told = vec![
        // Of a gap whose ends need no estimate nothing is said.
        if gap.uncertainty_ms > 0.0 {
            format!("{length} ms (within {within} ms)")
        } else {
            format!("{length} ms")
        },
        format!("{}{others} in {}{when}", gap.role, gap.group),
        gap.after(),
    ];
    if gap.censored {
        told.push(open.to_owned());
    }
    if let Some(stall) = gap.stall {
        let length = short(stall.until_ms - stall.from_ms);
        told.push(format!("the host stalled for {length} ms in it"));
    }
    told
}

/// A number as a person wants it: a fraction where it is small.
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

fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

const RED: &str = "31";

pub(super) fn hue(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "32",
        Verdict::Unknown => "33",
        Verdict::Fail => RED,
    }
}

pub(super) fn plain(text: String) -> Piece {
    Piece { text, colour: None }
}

impl Page {
    pub(super) fn line(&mut self, pieces: &[Piece]) {
        pieces.iter().for_each(|piece| self.put(piece));
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        self.text.push('\n');
    }

    /// A label, then the pieces in as many lines as they need.
    pub(super) fn items(&mut self, label: &str, pieces: impl Iterator<Item = Piece>) {
        self.text.push_str(&format!("{label:LABEL$}"));
        let mut used = LABEL;
        for mut piece in pieces {
            piece.text = clip(&piece.text, COLUMNS - LABEL);
            let length = piece.text.chars().count();
            if used > LABEL {
                if used + 3 + length > COLUMNS {
                    self.text.push_str(&format!("\n{:LABEL$}", ""));
                    used = LABEL;
                } else {
                    self.text.push_str("   ");
                    used += 3;
                }
            }
            self.put(&piece);
            used += length;
        }
        self.text.push('\n');
    }

    fn put(&mut self, piece: &Piece) {
        match piece.colour.filter(|_| self.colour) {
            Some(code) => self.text.push_str(&format!("\x1b[{code}m{}\x1b[0m", piece.text)),
            None => self.text.push_str(&piece.text),
        }
    }
}
