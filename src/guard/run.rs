//! Describes a run: its name, its processes, and the host on which their pids are valid.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::Identity;
pub use crate::host::state_home;
use crate::ids::TopologyName;

/// The folder of the ledgers.
#[must_use]
pub fn runs() -> PathBuf {
    state_home().join("tandem/runs")
}

/// Where a pid is valid: one host, one boot, one PID namespace. Elsewhere the same pid is another
/// process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidScope {
    /// The host's name.
    pub host: String,
    /// The kernel's id of the boot.
    pub boot: String,
    /// The PID namespace; a container has its own.
    pub pids: String,
}

impl PidScope {
    /// The scope of this process.
    #[must_use]
    pub fn here() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let pids = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { host, boot: boot.trim().to_owned(), pids: pids.display().to_string() }
    }
}

/// A run, as its ledger describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The run's name.
    pub name: String,
    /// Its topology.
    pub topology: TopologyName,
    /// The folder with its journal and logs.
    pub folder: PathBuf,
    /// Where the pids of its processes are valid.
    #[serde(rename = "place")]
    pub pid_scope: PidScope,
    /// The process of the controller.
    pub controller: Identity,
    /// The process of the guard, which sets this itself.
    #[serde(default)]
    pub guard: Option<Identity>,
    /// Its purpose.
    #[serde(default)]
    pub purpose: Purpose,
}

/// The purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Run an experiment, with faults.
    #[default]
    Experiment,
    /// Keep a topology up, without faults.
    Upkeep,
}

impl Purpose {
    /// The name of the process that controls such a run.
    #[must_use]
    pub const fn controller(self) -> &'static str {
        match self {
            Self::Experiment => "controller",
            Self::Upkeep => "supervisor",
        }
    }
}

impl Run {
    /// A run of this process, with an experiment as its purpose.
    #[must_use]
    pub fn own(name: String, topology: TopologyName, folder: PathBuf) -> Self {
        let (pid_scope, controller) = (PidScope::here(), Identity::own());
        let purpose = Purpose::default();
        Self { name, topology, folder, pid_scope, controller, guard: None, purpose }
    }

    /// The same run with another purpose.
    #[must_use]
    pub fn with(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Whether it keeps a topology up and has not ended. A run on another host counts as running.
    #[must_use]
    pub fn keeps_up(&self) -> bool {
        self.purpose == Purpose::Upkeep
            && match self.location() {
                RunLocation::Here => self.controller.lives(),
                RunLocation::Gone => false,
                RunLocation::Elsewhere => true,
            }
    }

    /// Whether its controller has ended, and its guard undoes what it has left.
    #[must_use]
    pub fn is_being_undone(&self) -> bool {
        self.location() == RunLocation::Here
            && !self.controller.lives()
            && self.guard.is_some_and(Identity::lives)
    }

    /// The path of its ledger in the folder `runs`.
    #[must_use]
    pub fn file(&self, runs: &Path) -> PathBuf {
        runs.join(format!("{}.jsonl", self.mark()))
    }

    /// A unique identifier of the run, legal in a file name.
    #[must_use]
    pub fn mark(&self) -> String {
        let legal = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
        let name: String = self.name.chars().map(legal).take(200).collect();
        format!("{name}-{}", self.controller.pid)
    }
}

/// Where the processes of a run are, seen from this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLocation {
    /// In the PID scope of this process.
    Here,
    /// Gone: the host was rebooted since.
    Gone,
    /// On another host, or in another container.
    Elsewhere,
}

impl Run {
    /// Where its processes are.
    #[must_use]
    pub fn location(&self) -> RunLocation {
        let here = PidScope::here();
        if self.pid_scope == here {
            RunLocation::Here
        } else if self.pid_scope.host == here.host && self.pid_scope.boot != here.boot {
            RunLocation::Gone
        } else {
            RunLocation::Elsewhere
        }
    }

    /// Continues the guard of a dead controller, in case the guard is stopped.
    pub(super) fn wake_guard(&self) {
        if self.location() == RunLocation::Here
            && !self.controller.lives()
            && let Some(Err(error)) = self.guard.map(|guard| guard.signal(&[Signal::CONT]))
        {
            tracing::warn!(%error, run = self.name, "The guard of a dead run cannot be woken.");
        }
    }

    /// Whether its controller or its guard runs. A run on another host counts as running.
    #[must_use]
    pub fn lives(&self) -> bool {
        match self.location() {
            RunLocation::Here => self.controller.lives() || self.guard.is_some_and(Identity::lives),
            RunLocation::Gone => false,
            RunLocation::Elsewhere => true,
        }
    }
}
