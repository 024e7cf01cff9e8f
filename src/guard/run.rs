//! Whose run it is, and where: what leads to its processes.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::Identity;
use crate::ids::TopologyName;

/// The folder in which programs of this user keep what outlives them.
#[must_use]
pub fn state_home() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || PathBuf::from(set("HOME").unwrap_or_else(|| "/".into())).join(".local/state");
    set("XDG_STATE_HOME").map_or_else(home, PathBuf::from)
}

/// Where the ledgers are.
#[must_use]
pub fn runs() -> PathBuf {
    state_home().join("tandem/runs")
}

/// The machine, since when it runs, and which of its processes one sees: elsewhere, the numbers
/// mean others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The host's name.
    pub host: String,
    /// The kernel's name for this boot.
    pub boot: String,
    /// The namespace of the process numbers: a container has its own.
    pub pids: String,
}

impl Place {
    /// This one.
    #[must_use]
    pub fn here() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let pids = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { host, boot: boot.trim().to_owned(), pids: pids.display().to_string() }
    }
}

/// Whose ledger it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// What the run is called.
    pub name: String,
    /// What it runs on.
    pub topology: TopologyName,
    /// Its journal and logs.
    pub folder: PathBuf,
    /// Where it runs.
    pub place: Place,
    /// Who runs it.
    pub controller: Identity,
    /// Who undoes it; nobody until the guard itself has written this.
    #[serde(default)]
    pub guard: Option<Identity>,
    /// What it is for.
    #[serde(default)]
    pub purpose: Purpose,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It plays an experiment, and disturbs what it started.
    #[default]
    Experiment,
    /// It keeps a topology up, and disturbs nothing.
    Upkeep,
}

impl Run {
    /// A run of this process, which plays an experiment.
    #[must_use]
    pub fn own(name: String, topology: TopologyName, folder: PathBuf) -> Self {
        let (place, controller) = (Place::here(), Identity::own());
        let purpose = Purpose::default();
        Self { name, topology, folder, place, controller, guard: None, purpose }
    }

    /// The same run for another purpose.
    #[must_use]
    pub fn with(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Whether it keeps a topology up, and goes on: its controller lives, or is elsewhere.
    #[must_use]
    pub fn keeps_up(&self) -> bool {
        self.purpose == Purpose::Upkeep
            && match self.whereabouts() {
                Whereabouts::Here => self.controller.lives(),
                Whereabouts::Gone => false,
                Whereabouts::Elsewhere => true,
            }
    }

    /// Its file.
    #[must_use]
    pub fn file(&self, runs: &Path) -> PathBuf {
        runs.join(format!("{}.jsonl", self.mark()))
    }

    /// What it is known by: the same never means two runs.
    #[must_use]
    pub fn mark(&self) -> String {
        let legal = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
        let name: String = self.name.chars().map(legal).take(200).collect();
        format!("{name}-{}", self.controller.pid)
    }
}

/// Where a run is, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// Among the processes of this machine.
    Here,
    /// Nowhere: the machine was started anew since.
    Gone,
    /// On another machine, or in another container.
    Elsewhere,
}

impl Run {
    /// Where it is.
    #[must_use]
    pub fn whereabouts(&self) -> Whereabouts {
        let here = Place::here();
        if self.place == here {
            Whereabouts::Here
        } else if self.place.host == here.host && self.place.boot != here.boot {
            Whereabouts::Gone
        } else {
            Whereabouts::Elsewhere
        }
    }

    /// A guard that was stopped undoes nothing after its master's end.
    pub(super) fn wake_guard(&self) {
        if self.whereabouts() == Whereabouts::Here
            && !self.controller.lives()
            && let Some(Err(error)) = self.guard.map(|guard| guard.signal(&[Signal::CONT]))
        {
            tracing::warn!(%error, run = self.name, "The guard of a dead run cannot be woken.");
        }
    }

    /// Whether its controller, or its guard, is there; of a run elsewhere nobody knows.
    #[must_use]
    pub fn lives(&self) -> bool {
        match self.whereabouts() {
            Whereabouts::Here => self.controller.lives() || self.guard.is_some_and(Identity::lives),
            Whereabouts::Gone => false,
            Whereabouts::Elsewhere => true,
        }
    }
}
