//! The word of a fault, and what all steps with it share.

use schemars::{Schema, SchemaGenerator};

use super::{AnyFault, Restart, Written};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::yaml::Problem;

/// The word of a fault, and what all steps with it share.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// The word in experiment files.
    pub name: &'static str,
    /// The noun for it in messages.
    pub noun: &'static str,
    /// Other names that users try; each yields a "did you mean".
    pub aliases: &'static [&'static str],
    /// How the verdict treats it.
    pub class: FaultClass,
    /// What it can hit.
    pub targets: Targets,
    /// The fields that it takes in addition to those of every step.
    pub fields: &'static [&'static str],
    /// The schema of these fields.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// A hint for a field that it does not take.
    pub hint: fn(&str) -> Option<&'static str>,
    /// Reads the fault from the fields of a step.
    pub read: fn(Written<'_>) -> Result<AnyFault, Problem>,
    /// How it is used as a strike of a storm; `None` if a storm cannot inject it.
    pub in_storm: Option<InStorm>,
    /// What the command line must permit before it is injected.
    pub permission: Option<Permission>,
    /// What the machine must be able to do for it.
    pub needs: &'static [Need],
    /// What `doctor` says of a machine that can inject it; empty: the text of the last need.
    pub able: &'static str,
}

/// What a fault can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// Nothing.
    None,
    /// Members.
    Members,
    /// Members, by a signal; of a machine, all its processes.
    Processes,
    /// Members, through their connections to brokers.
    Links,
    /// A machine.
    Machine,
    /// Brokers.
    Brokers,
    /// Members, one strike each; all members by default.
    InTurn,
    /// Members, or something else that concerns every group.
    Anything,
}

/// A strike of a storm.
#[derive(Debug, Clone, Copy)]
pub enum InStorm {
    /// The victim ends, and comes back like this.
    Ends(fn(Restart) -> AnyFault),
    /// The fault lasts this long.
    Held(fn(Span) -> AnyFault),
}

/// What only the user can allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Running commands that an experiment names.
    Exec,
}

impl Permission {
    /// The option that grants it.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Self::Exec => "--allow-exec",
        }
    }
}

/// What a machine must be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Start processes, and kill them.
    Kill,
    /// Stop processes, and continue them.
    Stop,
    /// Open ports for edges.
    Listen,
    /// Reach brokers that faults may hit.
    Brokers,
}

impl Word {
    /// The hint function of a word without hints.
    pub(super) fn no_hint(_: &str) -> Option<&'static str> {
        None
    }
}
