//! Options for the topology of a command, and the runtime for commands that ask its clusters.

use std::path::{Path, PathBuf};

use tokio::runtime::{Builder, Runtime};

use super::Failure;
use crate::chaos::{Choice, Prepared, TOPOLOGY, load, load_chosen};
use crate::topology::Plan;
use crate::verdict::Exit;
use crate::yaml::{FileError, Override};

/// A topology, with overrides of single values.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct TopologyArgs {
    /// The topology [default: topologies/duo.yaml].
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    file: Option<PathBuf>,
    /// Replace one value of the topology, as in defaults.session=300ms; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
}

impl TopologyArgs {
    /// Reads and plans it for display; uses the shipped default if no file is named or found.
    pub(super) fn read_to_show(&self) -> Result<Plan, FileError> {
        let file = self.file.as_deref().unwrap_or(Path::new(TOPOLOGY));
        load_chosen(Some(file), &self.overrides).map(|(plan, _)| plan)
    }

    /// Reads and plans it.
    pub(super) fn read(&self) -> Result<Plan, FileError> {
        load_chosen(self.file.as_deref(), &self.overrides).map(|(plan, _)| plan)
    }

    /// Reads and plans it. Also returns its text, without the overrides.
    pub(super) fn read_with_text(&self) -> Result<(Plan, String), Failure> {
        load_chosen(self.file.as_deref(), &self.overrides)
            .map_err(|error| Failure::text(Exit::Invalid, error.to_string()))
    }

    /// The overrides, as `key=value`.
    pub(super) fn overrides(&self) -> Vec<String> {
        self.overrides.iter().map(ToString::to_string).collect()
    }

    /// Reads and plans it for an experiment, which may name another topology.
    pub(super) fn read_for(&self, experiment: &Path) -> Result<Prepared, FileError> {
        let (topology, overrides) = (self.file.clone(), self.overrides.clone());
        load(experiment, &Choice { topology, overrides, ..Choice::default() })
    }

    /// Reads and plans it. An invalid file fails the command.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        self.read().map_err(|error| Failure::text(Exit::Invalid, error.to_string()))
    }
}

/// A small runtime for commands that ask clusters.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|error| Failure::new(Exit::Unable, &error))
}
