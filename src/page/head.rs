//! What stands first: the verdict and what was promised, in words and numbers.

use std::collections::BTreeSet;

use super::Subject;
use super::html::{Safe, count, milliseconds};
use crate::observation::Outcome;
use crate::timeline::IntervalSet;
use crate::verdict::{Ruling, Verdict};

/// The head of the page.
pub(super) fn head(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let (word, shown) = (report.headline(), report.shown_as());
    let mut html = format!(
        "<header class=\"{}\"><p class=\"run\">{}</p>\n<h1><span class=\"verdict\"><span \
         aria-hidden=\"true\">{}</span> {}</span> {} on {}</h1>\n<p class=\"lead\">{}</p>\n",
        shown.as_str(),
        Safe(subject.run),
        sign(shown),
        word.to_uppercase(),
        Safe(&report.experiment),
        Safe(&report.topology),
        Safe(sentence(subject)),
    );
    if !report.reasons.is_empty() {
        html.push_str("<ul class=\"reasons\">");
        for reason in &report.reasons {
            html.push_str(&format!("<li>{}</li>", Safe(reason)));
        }
        html.push_str("</ul>\n");
    }
    html.push_str("<ul class=\"rulings\" aria-label=\"Objective\">");
    for rulings in report.objective.chunk_by(|a, b| a.text == b.text && a.outcome == b.outcome) {
        let Some(first) = rulings.first() else { continue };
        html.push_str(&format!(
            "<li class=\"{}\"><span aria-hidden=\"true\">{}</span> {}</li>",
            first.outcome.as_str(),
            sign(first.outcome),
            Safe(told(first, rulings))
        ));
    }
    html.push_str("</ul>\n<dl class=\"facts\">");
    for (term, value) in facts(subject) {
        html.push_str(&format!("<div><dt>{term}</dt><dd>{}</dd></div>", Safe(value)));
    }
    html.push_str("</dl></header>\n");
    html
}

/// A sign for a verdict, so that its colour is not all.
pub(super) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::Unknown => "?",
        Verdict::Fail => "✗",
    }
}

/// Rulings of one outcome on one claim, in a few words.
fn told(first: &Ruling, all: &[Ruling]) -> String {
    let groups: Vec<_> = all.iter().filter_map(|one| one.group.as_ref()).collect();
    let of = match groups.as_slice() {
        [] => String::new(),
        names => {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            format!(" in {}", names.join(", "))
        }
    };
    let mut measures: Vec<_> = all.iter().map(Ruling::measurement).collect();
    measures.dedup();
    format!("{}: {}{of} ({})", first.outcome.as_str(), first.text, measures.join(", "))
}

/// What became of the roles, in one sentence.
fn sentence(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let joint = report.joint.gap;
    let trials = format!("{} of {} trials", report.trials, report.trials_asked);
    let mut text = match (joint.count, joint.max_ms) {
        (1.., Some(most)) => seen(subject, most),
        (_, _) if report.joint.unknown_ms > 0.0 => format!(
            "No joint gap was seen in {trials}, and {} could not be observed",
            milliseconds(Some(report.joint.unknown_ms))
        ),
        (_, _) if report.trials == 0 => "No trial was played to its end".to_owned(),
        (_, _) => format!(
            "There was no joint gap in {trials}: no role was without a leader in all groups at once"
        ),
    };
    let longest = report.groups.iter().filter_map(|(name, group)| {
        let all = [group.fault.gap, group.other.restart.gap, group.other.none.gap];
        Some((all.into_iter().filter_map(|it| it.max_ms).reduce(f64::max)?, name))
    });
    text.push_str(&match longest.reduce(|a, b| if a.0 >= b.0 { a } else { b }) {
        Some((most, name)) => format!(
            "; the longest gap within one group lasted {} ({name}).",
            milliseconds(Some(most))
        ),
        None => "; no group had a gap.".to_owned(),
    });
    text
}

/// The joint gaps, and how many of them the host's own stalls explain.
fn seen(subject: &Subject<'_>, most: f64) -> String {
    let gaps = &subject.timeline.joint.gaps;
    let trials: BTreeSet<_> = gaps.iter().map(|gap| gap.trial).collect();
    let stalls: IntervalSet = subject.timeline.record.stalls.iter().copied().collect();
    let stalled = gaps.iter().filter(|gap| stalls.touches(gap.span)).count();
    let mut text = format!(
        "{} in {} of {}: a role without a leader in every group at once, for {} at most",
        count(gaps.len(), "joint gap"),
        trials.len(),
        count(subject.timeline.record.trials.len(), "trial"),
        milliseconds(Some(most))
    );
    if stalled > 0 {
        text.push_str(&format!(", {stalled} of them while the host itself stalled"));
    }
    text
}

fn facts(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let (report, plan) = (subject.report, subject.plan);
    let members = plan.groups.values().map(|group| group.members.len()).sum();
    let began = jiff::Timestamp::from_millisecond(subject.began.0).unwrap_or_default();
    let shape = format!(
        "{}: {}, {}, {}",
        plan.topology,
        count(plan.roles.len(), "role"),
        count(plan.groups.len(), "group"),
        count(members, "member")
    );
    let ended = match report.outcome {
        Some(Outcome::Completed) => "completed",
        Some(Outcome::Broken) => "could not go on",
        Some(Outcome::Aborted) => "ended by a limit",
        Some(Outcome::Interrupted) => "interrupted",
        Some(Outcome::Unhealed) => "something is not healed",
        None => "cut off",
    };
    let leaders = report.joint.leaders_min.map_or_else(
        || "no trial was seen".to_owned(),
        |least| format!("in at least {least} of {} groups, at any instant", plan.groups.len()),
    );
    vec![
        ("Topology", shape),
        ("Trials", format!("{} of {}", report.trials, report.trials_asked)),
        ("Seed", report.seed.to_string()),
        ("Each role was led", leaders),
        ("Instrument’s floor", milliseconds(Some(report.floor_ms))),
        ("Gaps are known to within", milliseconds(report.uncertainty_ms.max)),
        ("Not observed", milliseconds(Some(report.unknown_ms))),
        (
            "Still open at a trial’s end",
            count(usize::try_from(report.censored).unwrap_or(usize::MAX), "interval"),
        ),
        ("Run", ended.to_owned()),
        ("Began", began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()),
        ("Written by", format!("tandem {}", subject.tandem)),
    ]
}
