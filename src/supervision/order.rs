//! An experiment on what a supervisor keeps up: what the client asks, and how each trial ended.
//!
//! ```text
//!  client -- Order, then Asked: play 1, here, here, play 2, ... --> supervisor
//!         <-- facts, and for each trial a TrialEnd ---------------
//! ```
//!
//! The connection is the lease of all its faults: they are healed when it ends, or when the client
//! says nothing for three seconds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::TrialNumber;

/// How long a client may say nothing while its experiment is under way.
pub const LEASE: Duration = Duration::from_secs(3);

/// An experiment to carry out, trial by trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The name of the run.
    pub run: String,
    /// The process that asks for it.
    pub pid: u32,
    /// The experiment's file as it was read.
    pub experiment: String,
    /// The seed of every choice.
    pub seed: u64,
    /// Whether it may run the commands that it names.
    pub exec: bool,
}

/// One line of a client after its order was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Play this trial.
    Play(TrialNumber),
    /// The client is there.
    Here,
    /// Heal the faults of this trial, and play no more.
    Stop,
}

/// How a trial ended; its faults are healed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialEnd {
    /// Everything settled again.
    Recovered,
    /// Something did not settle in time.
    Unrecovered(String),
    /// It was stopped, with the limit that it would have exceeded, if it was that.
    Stopped(Option<String>),
    /// Something could not be healed.
    Unhealed(String),
}

/// An experiment that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Underway {
    /// The name of the run.
    pub run: String,
    /// The process that asked for it.
    pub pid: u32,
}
