//! The head of the page: the verdict and the objective, in words and numbers.

use std::collections::BTreeSet;

use super::Subject;
use super::disturbed::disturbed_trials;
use super::html::{Safe, count, milliseconds};
use crate::observation::Outcome;
use crate::timeline::IntervalSet;
use crate::verdict::{Ruling, Verdict};

/// The head of the page.
pub(super) fn head(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let shown = report.shown_as();
    let (word, what) = match &report.up {
        Some(up) => (report.kept(up), format!("{}, kept up", report.topology)),
        None => (
            report.headline().to_uppercase(),
            format!("{} on {}", report.experiment, report.topology),
        ),
    };
    let mut html = format!(
        "<header class=\"{}\"><p class=\"run\">{}</p>\n<h1><span class=\"verdict\"><span \
         aria-hidden=\"true\">{}</span> {word}</span> {}</h1>\n<p class=\"lead\">{}</p>\n",
        shown.as_str(),
        Safe(subject.run),
        sign(shown),
        Safe(what),
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
            Safe(describe(first, rulings))
        ));
    }
    html.push_str("</ul>\n<dl class=\"facts\">");
    for (term, value) in facts(subject) {
        html.push_str(&format!("<div><dt>{term}</dt><dd>{}</dd></div>", Safe(value)));
    }
    html.push_str("</dl></header>\n");
    html
}

/// A sign for a verdict, in addition to its colour.
pub(super) fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::Unknown => "?",
        Verdict::Fail => "✗",
    }
}

/// Rulings of one outcome on one claim, in a few words.
fn describe(first: &Ruling, all: &[Ruling]) -> String {
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

/// The result for the roles, in one sentence.
fn sentence(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let joint = report.joint.gap;
    let trials = match &report.up {
        Some(_) => "the judged time".to_owned(),
        None => format!("{} of {} trials", report.trials, report.trials_asked),
    };
    let mut text = match (joint.count, joint.max_ms) {
        (1.., Some(most)) => seen(subject, most),
        (_, _) if report.joint.unknown_ms > 0.0 => format!(
            "No joint gap was seen in {trials}, and {} could not be observed",
            milliseconds(Some(report.joint.unknown_ms))
        ),
        (_, _) if report.trials == 0 && report.up.is_some() => {
            "Not every group has led every role yet".to_owned()
        }
        // What was found does not count.
        (_, _) if report.trials == 0 && !disturbed_trials(report).is_empty() => {
            return "No trial counts: the host disturbed each that was played.".to_owned();
        }
        (_, _) if report.trials == 0 => "No trial was completed".to_owned(),
        (_, _) => format!(
            "There was no joint gap in {trials}: no role was without a leader in all groups at once"
        ),
    };
    let longest = report.groups.iter().filter_map(|(name, group)| {
        let longest = group.by_cause().filter_map(|(_, of)| of.gap.max_ms).reduce(f64::max);
        Some((longest?, name))
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

/// The joint gaps, and how many of them overlap stalls of the host.
fn seen(subject: &Subject<'_>, most: f64) -> String {
    // Gaps of disturbed trials are counted separately.
    let disturbed = disturbed_trials(subject.report);
    let gaps = subject.timeline.joint.gaps.iter();
    let gaps: Vec<_> = gaps.filter(|gap| !disturbed.contains(&gap.trial)).collect();
    let trials: BTreeSet<_> = gaps.iter().map(|gap| gap.trial).collect();
    let stalls: IntervalSet = subject.timeline.record.stalls.iter().copied().collect();
    let stalled = gaps.iter().filter(|gap| stalls.touches(gap.span)).count();
    let trials_all = subject.timeline.record.trials.len().saturating_sub(disturbed.len());
    let all = count(trials_all, "trial");
    let among = match &subject.report.up {
        Some(_) => String::new(),
        None => format!(" in {} of {all}", trials.len()),
    };
    let mut text = format!(
        "{}{among}: a role without a leader in every group at once, for at most {}",
        count(gaps.len(), "joint gap"),
        milliseconds(Some(most))
    );
    if stalled > 0 {
        text.push_str(&format!(", {stalled} of them while the host itself stalled"));
    }
    text
}

/// How many trials the host disturbed, and the verdict over all trials.
fn disturbed(subject: &Subject<'_>) -> Option<String> {
    let of = subject.report.disturbed.as_ref().filter(|of| !of.trials.is_empty())?;
    let (some, all) = (of.trials.len(), subject.timeline.record.trials.len());
    Some(format!("{some} of {all}; over all trials: {}", of.verdict_all.as_str()))
}

fn facts(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let (report, plan) = (subject.report, subject.plan);
    let members = plan.groups.values().map(|group| group.members.len()).sum();
    let began = jiff::Timestamp::from_millisecond(subject.began.0).unwrap_or_default();
    let shape = format!(
        "{}: {}, {}, {}",
        plan.topology,
        count(usize::try_from(plan.roles.len()).unwrap_or(usize::MAX), "role"),
        count(plan.groups.len(), "group"),
        count(members, "member")
    );
    let ended = match report.outcome {
        Some(Outcome::Completed) => "completed",
        Some(Outcome::Broken) => "could not go on",
        Some(Outcome::Aborted) => "ended by a limit",
        Some(Outcome::Interrupted) => "interrupted",
        Some(Outcome::Unhealed) => "a fault was not healed",
        None if report.up.as_ref().is_some_and(|up| up.goes_on) => "still running",
        None => "cut off",
    };
    let leaders = report.joint.leaders_min.map_or_else(
        || "no trial counts".to_owned(),
        |least| format!("in at least {least} of {} groups, at any instant", plan.groups.len()),
    );
    let (played, open) = match &report.up {
        Some(up) => {
            let judged = format!("{:.1} s", up.judged_ms() / 1e3);
            (vec![("Judged for", judged)], "Still open at the end")
        }
        None => {
            let trials = format!("{} of {}", report.trials, report.trials_asked);
            let seed = ("Seed", report.seed.to_string());
            (vec![("Trials", trials), seed], "Still open at a trial’s end")
        }
    };
    let mut facts = vec![("Topology", shape)];
    facts.extend(played);
    facts.extend(disturbed(subject).map(|text| ("Disturbed by the host", text)));
    let promises = report.promises();
    facts.extend((!promises.is_empty()).then(|| ("Exclusive", promises.join("; "))));
    facts.extend([
        ("Each role was led", leaders),
        ("Instrument’s floor: shorter gaps may be missed", milliseconds(Some(report.floor_ms))),
        ("Uncertainty of the gaps’ lengths", milliseconds(report.uncertainty_ms.max)),
        ("Not observed", milliseconds(Some(report.unknown_ms))),
        (open, count(usize::try_from(report.censored).unwrap_or(usize::MAX), "interval")),
        ("Run", ended.to_owned()),
        ("Began", began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()),
        ("Written by", format!("tandem {}", subject.tandem)),
    ]);
    facts
}
