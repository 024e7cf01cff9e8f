//! `tandem validate`: checks topologies, experiments and suites.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::chaos::{Choice, Suite, experiment, load, locate, read_text};
use crate::topology::plan;
use crate::verdict::Exit;
use crate::yaml::{FileError, FileKind, parse};

/// Check topologies, experiments and suites, without starting anything.
///
/// The keys of a file decide what it is. An experiment that names a topology is checked against it.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  tandem validate topologies/*.yaml chaos/*.yaml")]
pub(super) struct ValidateArgs {
    /// Topologies, experiments, suites.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// Writes one line for each valid file to `out`, and the errors of the others to `err`. Returns the
/// exit code.
///
/// # Errors
/// `out` or `err` cannot be written.
pub(super) fn run(
    args: &ValidateArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    let mut exit = Exit::Pass;
    for file in &args.files {
        match check(file) {
            Ok(kind) => writeln!(out, "{}: ok, {kind}", file.display())?,
            Err(error) => {
                writeln!(err, "{error}")?;
                exit = Exit::Invalid;
            }
        }
    }
    Ok(exit)
}

/// Checks one file. Returns what kind of file it is.
///
/// # Errors
/// The file is invalid.
pub fn check(path: &Path) -> Result<String, FileError> {
    let path = &*locate(path);
    let text = read_text(path)?;
    let wrong = |problems| FileError::new(path.display(), &text, problems);
    let document = parse(&text).map_err(|problem| wrong(vec![problem]))?;
    let Some(kind) = FileKind::of(&document) else {
        return Err(wrong(vec![FileKind::none(&document)]));
    };
    match kind {
        FileKind::Topology => {
            let plan = plan(&text, &[]).map_err(wrong)?;
            return Ok(match plan.warnings.len() {
                0 => kind.noun().to_owned(),
                1 => format!("{} with a warning: see `tandem plan`", kind.noun()),
                many => format!("{} with {many} warnings: see `tandem plan`", kind.noun()),
            });
        }
        FileKind::Experiment => {
            let (experiment, _) = experiment(&text).map_err(wrong)?;
            if experiment.topology.is_some() {
                load(path, &Choice::default())?;
            }
        }
        FileKind::Suite => {
            for run in Suite::load(path)?.runs {
                let topology = run.topology.map(PathBuf::from);
                let choice = Choice { topology, ..Choice::default() };
                load(Path::new(&run.experiment), &choice)?;
            }
        }
    }
    Ok(kind.noun().to_owned())
}
