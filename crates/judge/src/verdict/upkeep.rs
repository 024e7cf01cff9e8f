//! Judges a topology that is kept up, by the gaps that its objective allows, and by what its
//! exclusive groups promise.
//!
//! Without injected faults there are no trials to repeat, no bounds, and no statements about future
//! faults. `leaders_per_group` is not judged: a group without a leader is what *degraded* means.
//! `tandem status` judges the gaps alone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confidence_report::Confidence;
use super::distribution::{Distribution, Samples, ms};
use super::report::{Measures, Report};
use super::ruling::{Ruling, Verdict};
use super::{Brief, continuity, promised};
use crate::roster::Roster;
use crate::timeline::{Finding, Interval, RunRecord, Timeline};
use tandem_facts::ids::GroupName;
use tandem_facts::observation::Outcome;
use tandem_facts::time::Mono;

/// The report on a topology that is kept up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Upkeep {
    /// Whether the topology is still up; then the report covers the time up to `until_ms`.
    pub goes_on: bool,
    /// The start of the judged time: from then on every group had led every role. Null if that
    /// never was so.
    pub from_ms: Option<f64>,
    /// The end of the judged time.
    pub until_ms: Option<f64>,
    /// The journal files, in order.
    pub journals: Vec<String>,
    /// Each group, for all causes.
    pub groups: BTreeMap<GroupName, Measures>,
    /// Of each clock of members on other hosts: how far their instants may be off, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clocks: BTreeMap<String, f64>,
}

/// How the journal of a topology that is kept up ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The journal is still being written.
    GoesOn,
    /// The journal continues in the next file.
    InNext,
    /// The journal ends with the run, or was cut off.
    Last,
}

impl Report {
    /// The report on a topology that is kept up, from these journal files.
    #[must_use]
    pub fn of_upkeep(
        (roster, brief): (impl Into<Roster>, &Brief),
        (seed, zero): (u64, Mono),
        timeline: &Timeline,
        tail: Tail,
        journals: Vec<String>,
    ) -> Self {
        let roster = roster.into();
        let report = Self::of(&roster, brief, seed, zero, timeline);
        let judged = timeline.record.trials.iter().map(|trial| trial.window);
        let judged = judged.reduce(Interval::join);
        let at = |of: fn(Interval) -> Mono| judged.map(|span| ms(of(span).since(zero)));
        let mut objective = continuity::judge(brief, timeline);
        objective.extend(promised::judge(brief, &roster, timeline));
        if judged.is_none() {
            objective.iter_mut().for_each(unseen);
        }
        let (verdict, reasons) = conclude(&objective, &timeline.record, tail);
        let measured = timeline.groups.iter().map(|(name, line)| {
            let found = &line.findings;
            let [gap, overlap, takeover] =
                [&found.gaps, &found.overlaps, &found.takeovers].map(|all| distribution(all));
            (name.clone(), Measures { gap, overlap, takeover })
        });
        let clocks = timeline.record.clocks.iter();
        let up = Upkeep {
            clocks: clocks.map(|(clock, error)| (clock.to_string(), ms(*error))).collect(),
            goes_on: tail == Tail::GoesOn,
            from_ms: at(|span| span.from),
            until_ms: at(|span| span.until),
            journals,
            groups: measured.collect(),
        };
        let confidence = Confidence::none();
        let bounds = BTreeMap::new();
        Self { verdict, reasons, objective, confidence, bounds, up: Some(up), ..report }
    }

    /// Whether the objective was kept, in a few words.
    #[must_use]
    pub fn kept(&self, up: &Upkeep) -> String {
        let word = match self.verdict {
            Verdict::Pass if self.objective.is_empty() => "NOTHING PROMISED",
            Verdict::Pass => "KEPT",
            Verdict::Fail => "NOT KEPT",
            Verdict::Unknown => "UNKNOWN",
        };
        if up.goes_on { format!("{word} SO FAR") } else { word.to_owned() }
    }
}

impl Upkeep {
    /// The length of the judged time.
    #[must_use]
    pub fn judged_ms(&self) -> f64 {
        self.from_ms.zip(self.until_ms).map_or(0.0, |(from, until)| until - from)
    }
}

fn unseen(ruling: &mut Ruling) {
    let text = &ruling.text;
    ruling.why = Some(format!("Not every group has led every role yet, so {text} is unknown."));
}

fn distribution(found: &[Finding]) -> Distribution {
    Samples::of(found).distribution()
}

/// The worst of the objective, of times that were not observed, and of the run's end.
fn conclude(objective: &[Ruling], record: &RunRecord, tail: Tail) -> (Verdict, Vec<String>) {
    let mut rulings: Vec<&Ruling> = objective.iter().collect();
    rulings.sort_by_key(|ruling| std::cmp::Reverse(ruling.outcome));
    let mut reasons: Vec<String> = rulings.iter().filter_map(|ruling| ruling.why.clone()).collect();
    let mut verdict = rulings.first().map_or(Verdict::Pass, |worst| worst.outcome);
    for why in super::unseen::reasons(record) {
        verdict = verdict.and(Verdict::Unknown);
        reasons.insert(0, why);
    }
    if let Some(why) = ended(record, tail) {
        verdict = verdict.and(Verdict::Unknown);
        reasons.insert(0, why);
    }
    if record.trials.is_empty() && objective.is_empty() {
        verdict = verdict.and(Verdict::Unknown);
        reasons.push("Not every group has led every role yet.".to_owned());
    }
    (verdict, reasons)
}

/// The problem with the run's end, if there is one.
fn ended(record: &RunRecord, tail: Tail) -> Option<String> {
    let (how, why) = match (&record.ended, tail) {
        (None, Tail::GoesOn | Tail::InNext) | (Some((Outcome::Completed, _)), _) => return None,
        (None, Tail::Last) => return Some("It was cut off: its journal has no end.".to_owned()),
        (Some((how, why)), _) => (how, why),
    };
    let how = match how {
        Outcome::Completed | Outcome::Broken | Outcome::Aborted => "could not go on",
        Outcome::Interrupted => "was interrupted",
        Outcome::Unhealed => "left something that could not be healed",
    };
    let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    Some(format!("It {how}{why}."))
}
