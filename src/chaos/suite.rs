//! The format of suite files: experiments to run one after the other.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::load::{read_text, shown};
use super::shipped::{alike, is_file, is_inside, locate, named};
use crate::ids::ExperimentName;
use crate::yaml::{Cursor, FileError, FileKind, Problem, parse, read};

/// Experiments, one after the other.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a suite")]
#[schemars(title = "Suite")]
pub struct Suite {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// The suite's name.
    pub name: ExperimentName,
    /// The runs, in order.
    pub runs: Vec<SuiteRun>,
}

/// One run of a suite.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a run, as in {experiment: kill-leader.yaml, trials: 2}")]
pub struct SuiteRun {
    /// The experiment's file, relative to this one.
    pub experiment: String,
    /// The topology's file, relative to this one; default: the experiment's.
    pub topology: Option<String>,
    /// The number of trials; default: the experiment's.
    #[schemars(range(min = 1, max = 100_000))]
    pub trials: Option<u32>,
    /// The seed of every choice; default: the experiment's.
    pub seed: Option<u64>,
}

impl Suite {
    /// Reads the suite at `path`. The files that it names must exist; their paths become relative
    /// to the current directory.
    ///
    /// # Errors
    /// The file has problems.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let path = &*locate(path);
        let text = read_text(path)?;
        let wrong = |problems| FileError::new(path.display(), &text, problems);
        let document = parse(&text).map_err(|problem| wrong(vec![problem]))?;
        FileKind::Suite.expect(&document).map_err(|problem| wrong(vec![problem]))?;
        let mut suite: Self = read(&document).map_err(wrong)?;
        let place = Cursor::of(&document);
        let mut problems = Vec::new();
        if suite.version != 1 {
            let message = format!("version {} of this format is not known", suite.version);
            problems.push(Problem::at(place.key("version").origin(), message).hint("write 1"));
        }
        if suite.runs.is_empty() {
            let nothing = Problem::at(place.key("runs").origin(), "the suite runs nothing");
            problems.push(nothing.hint("as in runs: [{experiment: kill-leader.yaml}]"));
        }
        for (index, run) in suite.runs.iter().enumerate() {
            if run.trials == Some(0) {
                let origin = place.key("runs").index(index).key("trials").origin();
                problems.push(Problem::at(origin, "a run has at least one trial"));
            }
        }
        for (index, run) in suite.runs.iter_mut().enumerate() {
            let place = place.key("runs").index(index);
            let mut found = |key: &str, file: &mut String| {
                let there = named(path, Path::new(file));
                if !is_file(&there) {
                    let message = format!("there is no file {}", shown(&there));
                    let origin = place.key(key).origin();
                    problems.push(Problem::at(origin, message).maybe_hint(alike(&there)));
                }
                let inside = is_inside(&there);
                *file = if inside { shown(&there) } else { there.display().to_string() };
            };
            found("experiment", &mut run.experiment);
            run.topology.iter_mut().for_each(|topology| found("topology", topology));
        }
        if problems.is_empty() { Ok(suite) } else { Err(wrong(problems)) }
    }
}
