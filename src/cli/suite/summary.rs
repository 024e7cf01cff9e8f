//! The summary of a suite: one line per run, and one exit code.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::list::Item;
use crate::chaos::shown;
use crate::cli::judged::RESULT_FILE;
use crate::time::Wall;
use crate::verdict::{Exit, JunitError, JunitRun, JunitSuite, Report, junit};

/// The exit codes from the worst to the best.
const ORDER: [Exit; 7] = [
    Exit::Unhealed,
    Exit::Interrupted,
    Exit::Limit,
    Exit::Fail,
    Exit::Unknown,
    Exit::Unable,
    Exit::Pass,
];

/// The exit code that counts where these apply.
pub(super) fn worst(codes: impl IntoIterator<Item = Exit>) -> Exit {
    let rank = |code: &Exit| ORDER.iter().position(|one| one == code);
    codes.into_iter().min_by_key(rank).unwrap_or(Exit::Pass)
}

/// The most reasons of a run in the text.
const REASONS_MAX: usize = 3;

/// The result of one run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Row {
    /// The file of the experiment.
    pub experiment: String,
    /// The file of the topology, if the options or the suite set it.
    pub topology: Option<String>,
    /// Its exit code; null if it was not played.
    pub code: Option<Exit>,
    /// The exit code as a word.
    pub outcome: &'static str,
    /// The number of trials that were played.
    pub trials: Option<u32>,
    /// The seed of its random choices.
    pub seed: Option<u64>,
    /// The number of joint gaps.
    pub joint_gaps: Option<u64>,
    /// The longest gap of a group that a fault caused, in milliseconds.
    pub group_gap_ms_max: Option<f64>,
    /// How long it took, as in `12.3s`.
    pub took: Option<String>,
    /// Its folder; null if there is none.
    pub folder: Option<String>,
    /// The reasons for the outcome, a sentence each.
    pub reasons: Vec<String>,
    /// The judged run, for JUnit.
    #[serde(skip)]
    judged: Option<Judged>,
}

/// When a run began, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lasted {
    /// When it began.
    pub began: Wall,
    /// How long it took.
    pub lasted: Duration,
}

/// A run that has a verdict.
#[derive(Debug, Clone)]
struct Judged {
    /// The name of its folder.
    name: String,
    report: Box<Report>,
    lasted: Lasted,
    /// How it ended, if its exit code differs from that of its report.
    trouble: Option<String>,
}

/// The results of all runs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Summary {
    /// The worst exit code.
    pub code: Exit,
    /// Whether a signal ended it.
    pub interrupted: bool,
    /// The runs, in order.
    pub runs: Vec<Row>,
}

fn word(exit: Exit) -> &'static str {
    match exit {
        Exit::Pass => "pass",
        Exit::Unable | Exit::Invalid => "unable",
        Exit::Fail => "fail",
        Exit::Limit => "aborted",
        Exit::Unhealed => "unhealed",
        Exit::Interrupted => "interrupted",
        // A run never ends with the last two.
        Exit::Unknown | Exit::Degraded | Exit::Down => "unknown",
    }
}

impl Row {
    /// A run that was not played because of a signal.
    pub(super) fn unplayed(item: &Item) -> Self {
        Self {
            experiment: shown(&item.experiment),
            topology: item.topology.as_deref().map(shown),
            code: None,
            outcome: "not played",
            trials: None,
            seed: None,
            joint_gaps: None,
            group_gap_ms_max: None,
            took: None,
            folder: None,
            reasons: Vec::new(),
            judged: None,
        }
    }

    /// A run that was played, or could not be played.
    pub(super) fn of(
        item: &Item,
        folder: &Path,
        (code, why): (Exit, String),
        lasted: Lasted,
    ) -> Self {
        let json = fs::read_to_string(folder.join(RESULT_FILE)).ok();
        let report = json.and_then(|json| serde_json::from_str::<Report>(&json).ok());
        let mut row = Self { code: Some(code), outcome: word(code), ..Self::unplayed(item) };
        row.reasons.extend((!why.is_empty()).then_some(why));
        row.took = Some(format!("{:.1}s", lasted.lasted.as_secs_f64()));
        if let Some(report) = report {
            let gaps = report.groups.values().filter_map(|group| group.fault.gap.max_ms);
            row.group_gap_ms_max = gaps.reduce(f64::max);
            row.joint_gaps = Some(report.joint.gap.count);
            (row.trials, row.seed) = (Some(report.trials), Some(report.seed));
            row.reasons.extend(report.reasons.iter().cloned());
            row.folder = Some(folder.display().to_string());
            let odd = || format!("It ended with exit code {}: {}.", code.code(), word(code));
            let trouble = (code != Exit::of(&report)).then(odd);
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            row.judged = Some(Judged { name, report: Box::new(report), lasted, trouble });
        }
        row
    }

    /// The reasons for an outcome other than pass, as a run prints them; that of an interrupted run
    /// explains the others.
    fn reasons_shown(&self) -> Vec<String> {
        let most = match self.code {
            Some(Exit::Pass) => return Vec::new(),
            Some(Exit::Interrupted) => 1,
            Some(_) | None => REASONS_MAX,
        };
        let mut shown: Vec<String> = self.reasons.iter().take(most).cloned().collect();
        let more = self.reasons.len().saturating_sub(REASONS_MAX);
        if more > 0 && most == REASONS_MAX {
            shown.push(format!("and {more} more: see suite.json"));
        }
        shown
    }

    /// The experiment and the topology.
    fn name(&self) -> String {
        let on = self.topology.as_ref().map_or_else(String::new, |path| format!(" on {path}"));
        format!("{}{on}", self.experiment)
    }

    /// The result as one line.
    pub(super) fn line(&self) -> String {
        let Some(took) = self.took.as_deref() else {
            return format!("  {}: the suite was interrupted before", self.outcome);
        };
        match self.reasons.first() {
            Some(why) if self.code != Some(Exit::Pass) => {
                format!("  {} after {took}: {why}", self.outcome)
            }
            Some(_) | None => format!("  {} after {took}", self.outcome),
        }
    }
}

impl Summary {
    /// Summarises the runs. With `skip_unable`, runs that could not run here do not count.
    pub(super) fn new(runs: Vec<Row>, interrupted: bool, skip_unable: bool) -> Self {
        let counts = |exit: Exit| match exit {
            Exit::Unable | Exit::Invalid if skip_unable => Exit::Pass,
            Exit::Unable | Exit::Invalid => Exit::Unable,
            Exit::Unhealed
            | Exit::Interrupted
            | Exit::Limit
            | Exit::Fail
            | Exit::Unknown
            | Exit::Pass => exit,
            Exit::Degraded | Exit::Down => Exit::Unknown,
        };
        let mut codes: Vec<Exit> = runs.iter().filter_map(|row| row.code).map(counts).collect();
        codes.extend(interrupted.then_some(Exit::Interrupted));
        let code = worst(codes);
        Self { code, interrupted, runs }
    }

    /// The summary as JSON.
    ///
    /// # Errors
    /// JSON cannot express it: a bug.
    pub(super) fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }

    /// The summary as JUnit XML, for CI. A run that could not be played is an error, or, with
    /// `skip_unable`, skipped.
    ///
    /// # Errors
    /// XML cannot express it: a bug.
    pub(super) fn junit(&self, skip_unable: bool) -> Result<String, JunitError> {
        let names: Vec<String> = self.runs.iter().map(Row::name).collect();
        let suite = |(row, name)| {
            let (row, name): (&Row, &String) = (row, name);
            let Some(Judged { name: run, report, lasted, trouble }) = &row.judged else {
                let why = row.reasons.first().map_or(row.outcome, String::as_str);
                let skipped = skip_unable && matches!(row.code, Some(Exit::Unable | Exit::Invalid));
                return JunitSuite::Unjudged { name, why, skipped };
            };
            let (Lasted { began, lasted }, trouble) = (*lasted, trouble.as_deref());
            JunitSuite::Judged(JunitRun { report, run, began, lasted, trouble })
        };
        let suites: Vec<_> = self.runs.iter().zip(&names).map(suite).collect();
        junit("tandem", &suites)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |row: &Row| {
            let stem = |path: &str| {
                Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned())
            };
            let on = row.topology.as_deref().and_then(stem);
            let experiment = stem(&row.experiment).unwrap_or_default();
            on.map_or_else(|| experiment.clone(), |on| format!("{experiment} on {on}"))
        };
        let names: Vec<String> = self.runs.iter().map(name).collect();
        let width = names.iter().map(String::len).max().unwrap_or_default().max(10);
        writeln!(
            f,
            "{:<width$}  {:<12}{:>6}{:>12}{:>15}{:>9}",
            "experiment", "outcome", "trials", "joint gaps", "group gap, ms", "took"
        )?;
        for (row, name) in self.runs.iter().zip(&names) {
            let count = |number: Option<u64>| number.map_or("-".to_owned(), |it| it.to_string());
            let gap = row.group_gap_ms_max.map_or("-".to_owned(), |ms| format!("{ms:.0}"));
            let (trials, joint) = (count(row.trials.map(u64::from)), count(row.joint_gaps));
            let took = row.took.as_deref().unwrap_or("-");
            writeln!(
                f,
                "{name:<width$}  {:<12}{trials:>6}{joint:>12}{gap:>15}{took:>9}",
                row.outcome
            )?;
            for why in row.reasons_shown() {
                writeln!(f, "  {why}")?;
            }
        }
        let passed = self.runs.iter().filter(|row| row.code == Some(Exit::Pass)).count();
        let all = self.runs.len();
        writeln!(f, "\n{passed} of {all} passed: exit code {}", self.code.code())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_run_shows_its_first_reasons_and_an_interrupted_one_only_that() {
        let item = Item {
            experiment: PathBuf::from("a.yaml"),
            topology: None,
            planned: None,
            trials: None,
            seed: None,
            unable: None,
        };
        let row = |code: Exit, count: usize| Row {
            code: Some(code),
            reasons: (1..=count).map(|number| format!("reason {number}")).collect(),
            ..Row::unplayed(&item)
        };
        assert_eq!(row(Exit::Interrupted, 9).reasons_shown(), ["reason 1"]);
        assert_eq!(row(Exit::Fail, 3).reasons_shown(), ["reason 1", "reason 2", "reason 3"]);
        assert_eq!(row(Exit::Fail, 5).reasons_shown()[3], "and 2 more: see suite.json");
        assert!(row(Exit::Pass, 1).reasons_shown().is_empty());
    }
}
