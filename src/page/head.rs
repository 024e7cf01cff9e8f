//! What stands first: the verdict and what was promised, in words and numbers.

use super::Subject;
use super::html::{Safe, count, milliseconds};
use crate::observation::Outcome;
use crate::verdict::{Report, Ruling, Unit, Verdict, short};

/// The head of the page.
pub(super) fn head(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let word = report.verdict.as_str();
    let mut html = format!(
        "<header class=\"{word}\"><p class=\"run\">{}</p>\n<h1><span class=\"verdict\"><span \
         aria-hidden=\"true\">{}</span> {}</span> {} on {}</h1>\n<p class=\"lead\">{}</p>\n",
        Safe(subject.run),
        sign(report.verdict),
        word.to_uppercase(),
        Safe(&report.experiment),
        Safe(&report.topology),
        Safe(sentence(report)),
    );
    if !report.reasons.is_empty() {
        html.push_str("<ul class=\"reasons\">");
        for reason in &report.reasons {
            html.push_str(&format!("<li>{}</li>", Safe(reason)));
        }
        html.push_str("</ul>\n");
    }
    html.push_str("<ul class=\"rulings\" aria-label=\"Objective\">");
    for ruling in &report.objective {
        let outcome = ruling.outcome;
        html.push_str(&format!(
            "<li class=\"{}\"><span aria-hidden=\"true\">{}</span> {}</li>",
            outcome.as_str(),
            sign(outcome),
            Safe(told(ruling))
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

/// A ruling in a few words.
fn told(ruling: &Ruling) -> String {
    let group = ruling.group.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    format!("{}: {group}{} ({})", ruling.outcome.as_str(), ruling.text, measured(ruling))
}

/// What was measured, with its unit.
pub(super) fn measured(ruling: &Ruling) -> String {
    let value = ruling.measured.map_or("nothing".to_owned(), |value| match ruling.unit {
        Unit::Ms => format!("{} ms", short(value)),
        Unit::Count => short(value),
    });
    format!("measured {value}")
}

fn sentence(report: &Report) -> String {
    let joint = report.joint.gap;
    let trials = format!("{} of {} trials", report.trials, report.trials_asked);
    let gaps = match (joint.count, joint.max_ms) {
        (0, _) if report.joint.unknown_ms > 0.0 => format!(
            "no joint gap was seen in {trials}, and {} could not be observed",
            milliseconds(Some(report.joint.unknown_ms))
        ),
        (1.., Some(most)) => format!(
            "{} in {trials}, the longest {}: a role without a leader in every group at once",
            count(usize::try_from(joint.count).unwrap_or(usize::MAX), "joint gap"),
            milliseconds(Some(most))
        ),
        (_, _) => format!("no role was without a leader in {trials}: there was no joint gap"),
    };
    let longest = report.groups.iter().filter_map(|(name, group)| {
        let other = group.other;
        let all = [group.fault.gap, other.restart.gap, other.none.gap];
        Some((all.into_iter().filter_map(|it| it.max_ms).reduce(f64::max)?, name))
    });
    let longest = longest.reduce(|a, b| if a.0 >= b.0 { a } else { b });
    let within = match longest {
        Some((most, name)) => {
            format!("the longest gap within a group lasted {} ({name})", milliseconds(Some(most)))
        }
        None => "no group had a gap".to_owned(),
    };
    let text = format!("{gaps}; {within}.");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
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
