//! Lists the runs of a suite, from a folder or a suite file, and checks every file before anything
//! is started.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chaos::{
    Allowed, Choice, Permission, Suite, SuiteRun, experiment, load, load_topology, locate,
    read_text,
};
use crate::ids::TopologyName;
use crate::yaml::{FileError, Override};

/// One run of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// The file of the experiment.
    pub experiment: PathBuf,
    /// The file of the topology, if the options or the suite set it.
    pub topology: Option<PathBuf>,
    /// The name of the topology on which it runs, if it can be run.
    pub planned: Option<TopologyName>,
    /// The number of trials, if the options or the suite set it.
    pub trials: Option<u32>,
    /// The seed, if the options or the suite set it.
    pub seed: Option<u64>,
    /// Why it cannot be run, if that is already known.
    pub unable: Option<String>,
}

impl Item {
    /// The name for its folder: the experiment, and the topology if one is set.
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

/// The options that apply to every run.
#[derive(Debug, Clone, Default)]
pub(super) struct Passed<'a> {
    /// The number of trials.
    pub trials: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
    /// Overrides of the topology.
    pub overrides: &'a [Override],
    /// Whether experiments may run the commands that they name.
    pub allow_exec: bool,
    /// More arguments for `chaos run`.
    pub more: Vec<String>,
}

/// All runs of the suite at `path`; if `topologies` are named, each experiment on each of them.
///
/// # Errors
/// A file is invalid, or there is nothing to run.
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
                planned: None,
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

/// Every YAML file in a folder, in order of name. All of them must be experiments.
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
        return Err(format!("{}: the folder has no experiments (*.yaml)", path.display()));
    }
    let run = |file: PathBuf| SuiteRun {
        experiment: file.display().to_string(),
        topology: None,
        trials: None,
        seed: None,
    };
    Ok(files.into_iter().map(run).collect())
}

/// Checks one run. A valid experiment that does not fit a valid topology of `-f` cannot run there;
/// any other problem is an error.
fn checked(mut item: Item, passed: &Passed<'_>, chosen: bool) -> Result<Item, FileError> {
    let (topology, overrides) = (item.topology.clone(), passed.overrides.to_vec());
    let (trials, seed) = (item.trials, item.seed);
    let allowed = Allowed::by(&[(passed.allow_exec, Permission::Exec)]);
    let mut choice = Choice { topology, overrides, trials, seed, allowed };
    let error = match load(&item.experiment, &choice) {
        Ok(prepared) => {
            item.planned = Some(prepared.plan.topology);
            return Ok(item);
        }
        Err(error) => error,
    };
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
