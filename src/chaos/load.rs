//! Reads the files of an experiment; no other file of this module reads from disk.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use super::shipped::{alike, is_inside, locate, named, text};
use super::{Experiment, Permission, fits, reading};
use crate::topology::{Plan, plan};
use crate::verdict::Brief;
use crate::yaml::{Cursor, FileError, Node, Origin, Override, Position, Problem};

/// The default topology.
pub const TOPOLOGY: &str = "topologies/duo.yaml";
/// The hint if the default topology cannot be read.
const UNNAMED: &str =
    "it is the default; name your own with -f, or a shipped one, as in -f topologies/duo.yaml";
/// The longest file that is read, in bytes: a million names have their place.
const SIZE_MOST: u64 = 32 << 20;

/// An experiment and the plan that it fits, ready to be run.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The experiment.
    pub experiment: Experiment,
    /// The plan.
    pub plan: Plan,
    /// What the verdict judges.
    pub brief: Brief,
    /// The experiment's file as it was read.
    pub experiment_text: String,
    /// The experiment's path; a `shipped:` file is inside the program.
    pub experiment_path: PathBuf,
    /// The topology's path; a `shipped:` file is inside the program.
    pub topology_path: PathBuf,
    /// The topology's file as it was read, overrides not applied.
    pub topology_text: String,
    /// The overrides, `key=value`.
    pub overrides: Vec<String>,
    /// The seed of every choice: the argument, else the experiment's own; if neither is given, the
    /// caller draws it.
    pub seed: Option<u64>,
}

/// What the command line sets in addition to the experiment's file.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The topology, instead of the one that the experiment names.
    pub topology: Option<PathBuf>,
    /// Values of the topology to replace.
    pub overrides: Vec<Override>,
    /// The number of trials, instead of the experiment's number or claim.
    pub trials: Option<u32>,
    /// The seed, instead of the experiment's.
    pub seed: Option<u64>,
    /// What the faults of the run may do.
    pub allowed: Allowed,
}

/// What the user allows.
#[derive(Debug, Clone, Default)]
pub enum Allowed {
    /// Everything, because nothing is run.
    #[default]
    Everything,
    /// These permissions, and no others.
    Only(Vec<Permission>),
}

impl Allowed {
    /// The permissions that the command line's options grant.
    #[must_use]
    pub fn by(options: &[(bool, Permission)]) -> Self {
        Self::Only(options.iter().filter(|(given, _)| *given).map(|(_, it)| *it).collect())
    }

    fn has(&self, permission: Permission) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(these) => these.contains(&permission),
        }
    }
}

/// Reads an experiment, and plans the topology that it is run on.
///
/// # Errors
/// Either file has problems.
pub fn load(path: &Path, choice: &Choice) -> Result<Prepared, FileError> {
    let path = &*locate(path);
    let experiment_text = read_text(path)?;
    let wrong = |problems| FileError::new(shown(path), &experiment_text, problems);
    let (mut experiment, document) = reading::experiment(&experiment_text).map_err(wrong)?;
    let refused = refused(&experiment, &document, &choice.allowed);
    if !refused.is_empty() {
        return Err(wrong(refused));
    }
    if let Some(trials) = choice.trials {
        experiment.trials = trials;
        experiment.until = None;
    }
    experiment.topology = experiment.topology.map(|topology| named(path, &topology));
    let topology_path = choice
        .topology
        .clone()
        .or_else(|| experiment.topology.clone())
        .unwrap_or_else(|| PathBuf::from(TOPOLOGY));
    let topology_path = locate(&topology_path).into_owned();
    let topology_text = read_text(&topology_path).map_err(|error| {
        match (&choice.topology, &experiment.topology) {
            // The mistake is in this file: it names a missing one.
            (None, Some(_)) => {
                let origin = Cursor::of(&document).key("topology").origin();
                let hint = error.problems().next().and_then(|problem| problem.hint.clone());
                wrong(vec![Problem::at(origin, error.headline()).maybe_hint(hint)])
            }
            (Some(_), _) => error,
            (None, None) => error.hint(UNNAMED),
        }
    })?;
    let plan = plan_text(&topology_path, &topology_text, &choice.overrides)?;
    let plan = plan.with_longest_pause(experiment.longest_pause());
    let plan = if experiment.needs_edges() { plan.with_edges() } else { plan };
    let problems = fits(&experiment, &document, &plan);
    if !problems.is_empty() {
        return Err(wrong(problems));
    }
    Ok(Prepared {
        brief: super::brief(&experiment, &plan),
        seed: choice.seed.or(experiment.seed),
        overrides: choice.overrides.iter().map(ToString::to_string).collect(),
        experiment,
        plan,
        experiment_text,
        experiment_path: path.to_owned(),
        topology_path,
        topology_text,
    })
}

/// The steps that need a permission which the user has not given.
pub(super) fn refused(experiment: &Experiment, document: &Node, allowed: &Allowed) -> Vec<Problem> {
    let place = Cursor::of(document).key("method");
    let mut refused = Vec::new();
    for (index, step) in experiment.method.iter().enumerate() {
        let word = step.fault.kind().word();
        let Some(missing) = word.permission.filter(|it| !allowed.has(*it)) else { continue };
        let message = format!("a {} must be allowed", word.noun);
        let hint = format!("read what it does, then allow it with {}", missing.option());
        let origin = place.index(index).key("fault").origin();
        refused.push(Problem::at(origin, message).hint(hint));
    }
    refused
}

/// Reads and plans the chosen topology, or the default. Returns its text as well.
///
/// # Errors
/// The file has problems.
pub fn load_chosen(
    path: Option<&Path>,
    overrides: &[Override],
) -> Result<(Plan, String), FileError> {
    // A shipped topology is used only if it is named, so `tandem up` never starts one by accident.
    let file = &*path.map_or(Cow::Borrowed(Path::new(TOPOLOGY)), locate);
    let unread = |error: FileError| if path.is_some() { error } else { error.hint(UNNAMED) };
    let text = read_text(file).map_err(unread)?;
    Ok((plan_text(file, &text, overrides)?, text))
}

/// Reads and plans a topology. Returns its text as well.
///
/// # Errors
/// The file has problems.
pub fn load_topology(path: &Path, overrides: &[Override]) -> Result<(Plan, String), FileError> {
    load_chosen(Some(path), overrides)
}

fn plan_text(path: &Path, text: &str, overrides: &[Override]) -> Result<Plan, FileError> {
    plan(text, overrides).map_err(|problems| FileError::new(shown(path), text, problems))
}

/// A path without `.` and `..`, for display only: with symbolic links it may be a different file.
#[must_use]
pub fn shown(path: &Path) -> String {
    let mut short = PathBuf::new();
    for part in path.components() {
        let up = part == Component::ParentDir;
        if up && matches!(short.components().next_back(), Some(Component::Normal(_))) {
            short.pop();
        } else {
            short.push(part);
        }
    }
    short.display().to_string()
}

/// Reads a text file of bounded length.
///
/// # Errors
/// The file does not exist, is not text, or is too long.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let unreadable = |why: String| FileError::unreadable(shown(path), why);
    let cannot = |error: std::io::Error| unreadable(format!("cannot be read: {error}"));
    if is_inside(path) {
        let missing =
            || unreadable("is not shipped; `tandem init --list` shows what is".to_owned());
        return text(path).map(str::to_owned).ok_or_else(missing);
    }
    let file = File::open(path).map_err(|error| {
        let hint = (error.kind() == ErrorKind::NotFound).then(|| alike(path)).flatten();
        let error = cannot(error);
        hint.map_or(error.clone(), |hint| error.hint(&hint))
    })?;
    if file.metadata().map_err(cannot)?.is_dir() {
        return Err(unreadable("is a directory; name a file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(SIZE_MOST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > SIZE_MOST {
        return Err(unreadable("is longer than 32 MiB".to_owned()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let before: String = text.get(..good).unwrap_or_default().to_owned();
        let line = before.split('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let origin = Origin::File(Position { line, column, width: 1 });
        FileError::new(shown(path), &text, vec![Problem::at(origin, "this is not UTF-8")])
    })
}
