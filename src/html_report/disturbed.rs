//! The trials that the host disturbed: why, and the outcome of each.

use std::collections::BTreeSet;

use super::head::sign;
use super::html::{Safe, count, table};
use crate::ids::TrialNumber;
use crate::verdict::{DisturbedReport, DisturbedTrial, Report, short};

/// The most trials that are listed.
const SHOWN: usize = 100;

/// The numbers of these trials.
pub(super) fn disturbed_trials(report: &Report) -> BTreeSet<TrialNumber> {
    report.disturbed.iter().flat_map(|of| &of.trials).map(|one| one.trial).collect()
}

/// Empty if the experiment does not define when a trial is disturbed.
pub(super) fn disturbed(report: &Report) -> String {
    let Some(of) = &report.disturbed else { return String::new() };
    let stall = short(of.stall_ms);
    if of.trials.is_empty() {
        let none = "No trial was disturbed: the host kept no process from running for more than";
        return format!("<p>{none} {stall} ms.</p>\n");
    }
    let mut html = format!("<p>{}</p>\n", Safe(sentence(of)));
    let row = |one: &DisturbedTrial| {
        let outcome = format!("{} {}", sign(one.outcome), one.outcome.as_str());
        let (held, late) = (short(one.stalled_ms), short(one.late_ms));
        vec![one.trial.to_string(), outcome, held, late, one.whose(), one.reasons.join(" ")]
    };
    let head = ["trial", "alone", "held up, ms", "late, ms", "whose thread", "why"];
    let rows = of.trials.iter().take(SHOWN).map(row);
    html.push_str(&table("Trials that the host disturbed", &head, rows));
    if of.trials.len() > SHOWN {
        html.push_str("<p class=\"note\">The others are in result.json.</p>\n");
    }
    html
}

fn sentence(of: &DisturbedReport) -> String {
    let trials = of.trials.len();
    let were = if trials == 1 { "was" } else { "were" };
    let all = trials + usize::try_from(of.undisturbed).unwrap_or(0);
    let mut text = format!(
        "{} of {all} {were} disturbed: the host kept the instrument or a member from running for \
         more than {} ms. The verdict and the tables of numbers leave them out; the lanes and \
         the plots show them marked, and the lists of what was found show every trial. {} of \
         them failed, and {} of the others; over all trials the verdict is {}.",
        count(trials, "trial"),
        short(of.stall_ms),
        of.failed,
        of.undisturbed_failed,
        of.verdict_all.as_str(),
    );
    if let Some(p) = of.p_value {
        let test = "The probability that this many failures are in disturbed trials by chance is";
        text.push_str(&format!(
            " {test} {p:.3}; at {} or below the verdict cannot be pass.",
            of.alpha
        ));
    }
    text
}
