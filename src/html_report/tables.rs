//! The numbers of the report as tables: by group, by claim, stalls, confidence, bounds.

use super::head::sign;
use super::html::{Safe, count, is_unlimited, limit, table};
use super::{Subject, disturbed};
use crate::verdict::{BoundReport, Distribution, LimitReport, Measures, Ruling, short};

/// The most stalls that are listed.
const STALLS_MAX: usize = 200;

const NUMBERS: [&str; 14] = [
    "group",
    "gaps",
    "median",
    "95\u{a0}%",
    "longest",
    "bound",
    "slack",
    "overlaps",
    "95\u{a0}%",
    "longest",
    "bound",
    "slack",
    "takeovers",
    "longest",
];

/// Every group, by cause, and all together.
pub(super) fn numbers(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let mut rows = Vec::new();
    for (name, group) in &report.groups {
        rows.push(match report.up.as_ref().and_then(|up| up.groups.get(name)) {
            Some(all) => row(format!("{name}, all causes"), all, None),
            None => row(format!("{name}, after faults"), &group.fault, Some(&group.limit)),
        });
        for (cause, of) in group.others() {
            rows.push(row(format!("{name}, {}", cause.row()), of, None));
        }
    }
    let (gap, overlap) = (report.joint.gap, report.joint.overlap);
    let joint = Measures { gap, overlap, takeover: Distribution::default() };
    rows.push(row("joint, all causes".to_owned(), &joint, Some(&report.joint.limit)));
    table("Gaps, overlaps and takeovers, in milliseconds", &NUMBERS, rows.into_iter())
}

fn row(name: String, of: &Measures, limit: Option<&LimitReport>) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
    let limit = |of: fn(&LimitReport) -> Option<f64>| match limit.and_then(of) {
        Some(value) if is_unlimited(value) => "unlimited".to_owned(),
        value => number(value),
    };
    vec![
        name,
        of.gap.count.to_string(),
        number(of.gap.p50_ms),
        number(of.gap.p95_ms),
        number(of.gap.max_ms),
        limit(|it| it.gap_ms),
        limit(|it| it.gap_slack_ms),
        of.overlap.count.to_string(),
        number(of.overlap.p95_ms),
        number(of.overlap.max_ms),
        limit(|it| it.overlap_ms),
        limit(|it| it.overlap_slack_ms),
        of.takeover.count.to_string(),
        number(of.takeover.max_ms),
    ]
}

/// The claims, and their outcomes.
pub(super) fn rulings(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let row = |kind: &str, of: &Ruling| {
        let group = of.group.as_ref().map_or("all".to_owned(), ToString::to_string);
        let outcome = format!("{} {}", sign(of.outcome), of.outcome.as_str());
        let why = of.why.clone().unwrap_or_default();
        vec![of.text.clone(), kind.to_owned(), group, outcome, of.measurement(), why]
    };
    let objective = report.objective.iter().map(|of| row("objective", of));
    let claims = report.assertions.iter().map(|of| row("assertion", of));
    let head = ["claim", "kind", "group", "outcome", "measured", "why"];
    let rows = table("Objective and assertions", &head, objective.chain(claims));
    section("claims", "Claims", &rows)
}

/// What the trials imply for future ones, and what disturbed the instrument.
pub(super) fn trust(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let of = &report.confidence;
    let trials = count(usize::try_from(of.trials).unwrap_or(usize::MAX), "trial");
    let (sure, percent) = (of.level * 100.0, |share: f64| format!("{:.1} %", share * 100.0));
    let sentence = match (of.trials, of.probability_max) {
        (_, Some(most)) if of.with_joint_gap > 0 => format!(
            "A joint gap in {} of {trials}: with {sure} % confidence at most {} of such trials \
             have one.",
            of.with_joint_gap,
            percent(most)
        ),
        (_, Some(most)) => format!(
            "No joint gap in {trials}: with {sure} % confidence at most {} of such trials \
             have one.",
            percent(most)
        ),
        (0, None) => {
            "No trial that counts was observed to its end, so nothing can be inferred.".to_owned()
        }
        (_, None) => format!("A joint gap in {} of {trials}.", of.with_joint_gap),
    };
    let mut body = match &report.up {
        Some(_) => String::new(),
        None => format!("<p>{}</p>\n", Safe(sentence)),
    };
    if let Some(claim) = &of.stopping {
        body.push_str(&format!("<p>{}.</p>\n", Safe(claim.why.clone())));
    }
    body.push_str(&disturbed::disturbed(report));
    let stalls = &report.stalls;
    if stalls.is_empty() {
        body.push_str("<p>The host did not stall.</p>\n");
    } else {
        let row = |stall: &crate::verdict::Stall| {
            let (from, until) = (stall.from_ms, stall.until_ms);
            vec![format!("{from:.3}"), format!("{until:.3}"), format!("{:.3}", until - from)]
        };
        let shown = stalls.iter().take(STALLS_MAX).map(row);
        let caption = format!("Stalls of the host ({}), in milliseconds", stalls.len());
        body.push_str(&table(&caption, &["from", "until", "length"], shown));
        if stalls.len() > STALLS_MAX {
            body.push_str("<p class=\"note\">The others are in result.json.</p>\n");
        }
    }
    // A topology that is kept up had no faults injected.
    let bounds = if report.up.is_some() { String::new() } else { bounds(subject) };
    section("trust", "How far this can be trusted", &(body + &bounds))
}

/// The bounds of each kind of fault for each group.
fn bounds(subject: &Subject<'_>) -> String {
    let mut rows = Vec::new();
    for (name, of) in &subject.report.bounds {
        let kinds = [
            ("kill", Some(of.kill)),
            ("leave", Some(of.leave)),
            ("isolation", Some(of.isolation)),
            ("silence", of.silence),
            ("link", of.link),
            ("links and brokers", of.links_and_brokers),
            ("pause", Some(of.pause)),
            ("restart", Some(of.restart)),
            ("broker", Some(of.broker)),
        ];
        let kinds = kinds.into_iter().filter_map(|(kind, bound)| Some((kind, bound?)));
        rows.extend(kinds.map(|(kind, bound): (&str, BoundReport)| {
            let range = |[low, high]: [f64; 2]| format!("{} to {}", short(low), limit(high));
            vec![format!("{name}, {kind}"), range(bound.gap_ms), range(bound.overlap_ms)]
        }));
    }
    let head = ["group and fault", "gap", "overlap"];
    let rows = table("Bounds, from the configuration", &head, rows.into_iter());
    format!("<details><summary>What each fault may cost at most</summary>{rows}</details>\n")
}

/// A part of the page, with its heading.
pub(super) fn section(id: &str, title: &str, body: &str) -> String {
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{title}</h2>\n\
         {body}</section>\n"
    )
}
