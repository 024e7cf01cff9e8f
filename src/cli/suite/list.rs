//! What a suite consists of: read from a folder or a suite's file, and every file checked, before
//! anything is started.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chaos::{
    Allowed, Choice, Permission, Suite, SuiteRun, experiment, load, load_topology, locate,
    read_text,
};
use crate::yaml::{FileError, Override};

/// One run to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// The experiment's file.
    pub experiment: PathBuf,
    /// The topology's, where somebody says so.
    pub topology: Option<PathBuf>,
    /// How many trials, where somebody says so.
    pub trials: Option<u32>,
    /// The seed, where somebody says so.
    pub seed: Option<u64>,
    /// Why it cannot be run, if that is known by now.
    pub unable: Option<String>,
}

impl Item {
    /// What its folder is named after: experiment, and topology where one is said.
    pub(super) fn name(&self) -> String {
        let stem = |path: &Path| {
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let experiment = stem(&self.experiment);
        match &self.topology {
            Some(topology) => format!("{experiment}-{}", stem(topology)),
            None => experiment,
        }
    }
}

/// What every run is given, instead of what files say.
#[derive(Debug, Clone, Default)]
pub(super) struct Passed<'a> {
    /// How many trials.
    pub trials: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// Values of the topology to be replaced.
    pub overrides: &'a [Override],
    /// Whether experiments may run the commands that they name.
    pub allow_exec: bool,
    /// Further arguments, as `chaos run` reads them.
    pub more: Vec<String>,
}

/// All runs of the suite at `path`, each on every one of `topologies` where some are named.
///
/// # Errors
/// A file is not what it should be, or there is nothing to run.
pub(super) fn list(
    path: &Path,
    topologies: &[PathBuf],
    passed: &Passed<'_>,
) -> Result<Vec<Item>, String> {
    let runs = if path.is_dir() { folder(path)? } else { file(path)? };
    let mut items = Vec::new();
    for run in runs {
        let own = run.topology.as_ref().map(PathBuf::from);
        let on: Vec<Option<PathBuf>> = match topologies {
            [] => vec![own],
            named => named.iter().cloned().map(Some).collect(),
        };
        for topology in on {
            let item = Item {
                experiment: PathBuf::from(&run.experiment),
                topology,
                trials: passed.trials.or(run.trials),
                seed: passed.seed.or(run.seed),
                unable: None,
            };
            let checked = checked(item, passed, !topologies.is_empty());
            items.push(checked.map_err(|error| error.to_string())?);
        }
    }
    Ok(items)
}

fn file(path: &Path) -> Result<Vec<SuiteRun>, String> {
    Suite::load(path).map(|suite| suite.runs).map_err(|error| error.to_string())
}

/// Every experiment in a folder, in order of name; whatever else is YAML there is a mistake.
fn folder(path: &Path) -> Result<Vec<SuiteRun>, String> {
    let cannot = |error: std::io::Error| format!("{}: cannot be read: {error}", path.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(cannot)? {
        let file = entry.map_err(cannot)?.path();
        if file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: there is no experiment in it (*.yaml)", path.display()));
    }
    let run = |file: PathBuf| SuiteRun {
        experiment: file.display().to_string(),
        topology: None,
        trials: None,
        seed: None,
    };
    Ok(files.into_iter().map(run).collect())
}

/// An experiment that is good and does not fit a topology that somebody chose for all of them
/// cannot run there; anything else that is wrong is a mistake.
fn checked(mut item: Item, passed: &Passed<'_>, chosen: bool) -> Result<Item, FileError> {
    let (topology, overrides) = (item.topology.clone(), passed.overrides.to_vec());
    let (trials, seed) = (item.trials, item.seed);
    let allowed = Allowed::by(&[(passed.allow_exec, Permission::Exec)]);
    let mut choice = Choice { topology, overrides, trials, seed, allowed };
    let Err(error) = load(&item.experiment, &choice) else { return Ok(item) };
    choice.allowed = Allowed::Everything;
    if load(&item.experiment, &choice).is_ok() {
        return Err(error);
    }
    let good = read_text(&locate(&item.experiment)).is_ok_and(|text| experiment(&text).is_ok());
    let topology = item.topology.as_deref();
    let there = topology.is_some_and(|path| load_topology(path, &choice.overrides).is_ok());
    if !(chosen && good && there) {
        return Err(error);
    }
    let first = error.to_string().lines().next().unwrap_or_default().to_owned();
    item.unable = Some(format!("it does not fit: {first}"));
    Ok(item)
}
