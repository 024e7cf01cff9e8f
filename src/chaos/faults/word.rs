//! What belongs to the word of a fault, the same in all steps.

use schemars::{Schema, SchemaGenerator};

use super::{AnyFault, Restart, Written};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::yaml::Problem;

/// The word of a fault, and what belongs to it.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// As experiments write it.
    pub name: &'static str,
    /// What a sentence calls it.
    pub noun: &'static str,
    /// What others call it.
    pub aliases: &'static [&'static str],
    /// How it is judged.
    pub class: FaultClass,
    /// Whom it can hit.
    pub targets: Targets,
    /// The fields of a step that it takes, beside those that say when and to whom.
    pub fields: &'static [&'static str],
    /// The schema of these fields.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// What is meant, where a step has a field that it does not take.
    pub hint: fn(&str) -> Option<&'static str>,
    /// From the fields of a step to the fault.
    pub read: fn(Written<'_>) -> Result<AnyFault, Problem>,
    /// As a strike of a storm; nothing where a storm cannot strike with it.
    pub in_storm: Option<InStorm>,
    /// What the command line must say before it is done; nothing where nothing must be said.
    pub permission: Option<Permission>,
    /// What a machine must be able to do for it.
    pub needs: &'static [Need],
    /// What is said of a machine that can; what is said of the last need where this is empty.
    pub able: &'static str,
}

/// Whom a fault can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// None: nothing is done.
    None,
    /// Members.
    Members,
    /// Members, by a signal: of a machine, all that it has.
    Processes,
    /// Members, by what is between them and their brokers.
    Links,
    /// A machine.
    Machine,
    /// Brokers.
    Brokers,
    /// Members, one strike each: all of them, where none is named.
    InTurn,
    /// Members, or what is no member at all and concerns every group.
    Anything,
}

/// A strike of a storm.
#[derive(Debug, Clone, Copy)]
pub enum InStorm {
    /// Its victim ends, and comes back like this.
    Ends(fn(Restart) -> AnyFault),
    /// Its victim is held for so long.
    Held(fn(Span) -> AnyFault),
}

/// What only the user can allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// To run commands that an experiment names.
    Exec,
}

impl Permission {
    /// The option that gives it.
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
    /// Hold processes, and kill them.
    Kill,
    /// Stop processes, and wake them.
    Stop,
    /// Open ports for edges.
    Listen,
    /// Reach brokers that may be struck.
    Brokers,
}

impl Word {
    /// The hint of a word that has none.
    pub(super) fn no_hint(_: &str) -> Option<&'static str> {
        None
    }
}
