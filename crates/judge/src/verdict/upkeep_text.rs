//! The report on a topology that is kept up, as a person reads it: whether the objective was kept,
//! what there was of gaps and why, on one screen.

use std::time::Duration;

use super::distribution::Distribution;
use super::reasons;
use super::report::{GroupReport, Measures, Report, Worst};
use super::text::{Page, Piece, hue, merged, plain, render_telemetry, short, told, worst_of};
use super::upkeep::Upkeep;
use tandem_facts::time::Span;

/// All of it; `place` is where its files are.
pub(super) fn render(report: &Report, up: &Upkeep, place: &str, colour: bool) -> String {
    let mut page = Page { text: String::new(), colour };
    let word = Piece { text: report.kept(up), colour: Some(hue(report.verdict)) };
    let title = format!(" {}: judged for {}", report.topology, lasted(up.judged_ms()));
    page.line(&[word, plain(title)]);
    for reason in &report.reasons {
        page.line(&[plain(format!("  {reason}"))]);
    }
    page.line(&[]);
    table(&mut page, report, up);
    page.line(&[]);
    let rulings = merged(&report.objective).into_iter().map(|ruling| told(ruling, true));
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
        page.text.push_str(&render_telemetry(telemetry, colour));
    }
    page.text
}

fn table(page: &mut Page, report: &Report, up: &Upkeep) {
    let names = report.groups.keys().map(|name| name.as_str().chars().count());
    let width = names.chain([10]).max().unwrap_or(0).clamp(10, 16) + 1;
    page.line(&[plain(format!(
        "{:width$}{:<27}{:<20}{}",
        "ms", "  gaps", "  overlaps", "  takeovers"
    ))]);
    page.line(&[plain(format!(
        "{:width$}{:>6}{:>7}{:>7}{:>7}{:>6}{:>7}{:>7}{:>6}{:>7}{:>7}",
        "", "count", "p50", "p95", "max", "count", "p95", "max", "count", "p50", "max"
    ))]);
    for (name, all) in &up.groups {
        row(page, width, name.as_str(), all);
        for (cause, of) in report.groups.get(name).into_iter().flat_map(GroupReport::others) {
            row(page, width, &format!("  {}", cause.row()), of);
        }
    }
    let (gap, overlap) = (report.joint.gap, report.joint.overlap);
    row(page, width, "joint", &Measures { gap, overlap, takeover: Distribution::default() });
}

fn row(page: &mut Page, width: usize, name: &str, of: &Measures) {
    let number = |value: Option<f64>| value.map_or("-".into(), short);
    let Measures { gap, overlap, takeover } = of;
    let name: String = name.chars().take(width - 1).collect();
    page.line(&[plain(format!(
        "{name:width$}{:>6}{:>7}{:>7}{:>7}{:>6}{:>7}{:>7}{:>6}{:>7}{:>7}",
        gap.count,
        number(gap.p50_ms),
        number(gap.p95_ms),
        number(gap.max_ms),
        overlap.count,
        number(overlap.p95_ms),
        number(overlap.max_ms),
        takeover.count,
        number(takeover.p50_ms),
        number(takeover.max_ms),
    ))]);
}

fn closing(report: &Report, up: &Upkeep, place: &str) -> [(&'static str, Vec<String>); 6] {
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
    let mut files = vec![format!("{place}/report.html"), format!("{place}/result.json")];
    files.extend(journals(up, place));
    [
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

/// How long, in whole seconds.
fn lasted(ms: f64) -> String {
    Span(Duration::from_secs(Duration::from_secs_f64(ms.max(0.0) / 1e3).as_secs())).to_string()
}
