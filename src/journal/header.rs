//! The first line of a journal: everything needed to judge the lines that follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::built::Built;
use crate::time::{Mono, Wall};
use crate::topology::Plan;
use crate::verdict::Brief;

/// The version of the format; a reader refuses any other. Since version 2 the facts of a fault
/// carry its class, by which it is judged.
pub const VERSION: u32 = 2;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// The version of the journal's format.
    pub journal: u32,
    /// The version of Tandem that wrote it.
    pub tandem: String,
    /// The commit that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built: Option<Built>,
    /// The run's name: the experiment's and the time of its start.
    pub run: String,
    /// The run's zero on the clock of the facts.
    #[serde(rename = "zero_ns")]
    pub zero: Mono,
    /// The same instant on the wall clock.
    #[serde(rename = "zero_wall_ms")]
    pub zero_wall: Wall,
    /// The seed of every choice.
    pub seed: u64,
    /// The topology file as it was read, overrides not applied.
    pub topology: String,
    /// The experiment file as it was read, overrides not applied.
    pub experiment: String,
    /// The overrides of the command line, `key=value`.
    pub overrides: Vec<String>,
    /// The plan, overrides applied.
    pub plan: Plan,
    /// What the verdict judges.
    pub brief: Brief,
    /// Which of several files this is; absent for a single file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

impl Header {
    /// Whether the run keeps a topology up, without an experiment.
    #[must_use]
    pub fn is_upkeep(&self) -> bool {
        self.experiment.is_empty() && self.brief.experiment == "up"
    }
}

/// One file of a journal of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Its number, from 1.
    pub number: u32,
    /// How many facts after this line are repeated from earlier files, so that this file can be
    /// read alone.
    pub carried: u64,
    /// When the file was begun.
    #[serde(rename = "from_ns")]
    pub from: Mono,
    /// Whether facts right before this file could not be written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_loss: bool,
    /// Whether the topology was changed while it was up: the files before have another plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

impl Part {
    /// Whether what is read as one journal begins here.
    #[must_use]
    pub const fn stands_alone(&self) -> bool {
        self.after_loss || self.changed
    }
}
