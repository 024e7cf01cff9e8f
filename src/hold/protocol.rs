//! The lines between `tandem hold` and the keeper of its command: orders down, reports up, one JSON
//! object each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::departure::Departure;
use crate::time::{Mono, Span};

/// An order to the keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// Start the command. It must have ended at `until`, unless the claim is renewed.
    Start {
        /// When it was given.
        at: Mono,
        /// The end of the claim.
        until: Mono,
        /// Whether that is a promise, which the command must not outlive.
        promised: bool,
        /// Its environment, beside that of the keeper.
        environment: BTreeMap<String, String>,
    },
    /// The claim lasts until then.
    Renew {
        /// When it was given.
        at: Mono,
        /// The end of the claim.
        until: Mono,
    },
    /// End the command: ask it now, and kill it at `by`.
    Stop {
        /// The latest instant of SIGKILL.
        by: Mono,
    },
    /// If `tandem hold` dies, leave its group like this once nothing of the command is left; or do
    /// not, for it ends of its own accord.
    Depart {
        /// How.
        like: Option<Departure>,
    },
}

impl Order {
    /// When it was given, where that is said.
    pub(super) const fn at(&self) -> Option<Mono> {
        match self {
            Self::Start { at, .. } | Self::Renew { at, .. } => Some(*at),
            Self::Stop { .. } | Self::Depart { .. } => None,
        }
    }
}

/// A report of the keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The command runs.
    Started {
        /// Its process id, and that of its process group.
        pid: u32,
    },
    /// Nothing of the command is left.
    Ended(CommandEnd),
    /// The command was not started: the keeper acts so late that it could not end it in time.
    Declined {
        /// How late.
        late: Span,
    },
    /// The command could not be started.
    Failed {
        /// The system's error.
        why: String,
    },
}

/// How a command ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// Its exit status, if it exited.
    pub status: Option<i32>,
    /// The signal that killed it, if one did.
    pub signal: Option<i32>,
    /// Whether it was asked to end.
    pub asked: bool,
    /// Whether it, or a process that it left behind, had to be killed.
    pub killed: bool,
}

impl CommandEnd {
    /// It could not be started, as shells report that.
    pub(super) const NOT_RUN: Self =
        Self { status: Some(126), signal: None, asked: false, killed: false };

    /// The exit code by which a shell would report it.
    #[must_use]
    pub fn code(&self) -> u8 {
        let number = self.status.or(self.signal.map(|signal| signal.saturating_add(128)));
        number.and_then(|number| u8::try_from(number).ok()).unwrap_or(1)
    }
}

/// `exit status 3`, or `signal 9`.
impl std::fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.status, self.signal) {
            (Some(status), _) => write!(f, "exit status {status}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("an unknown status"),
        }
    }
}
