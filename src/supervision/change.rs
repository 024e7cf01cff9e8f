//! A change of what is up: a client asks for it, and is told each step.
//!
//! ```text
//!  client -- ChangeOrder --> supervisor
//!         <-- About, Step, Step, ..., Applied ---
//! ```
//!
//! The supervisor carries it out to the end, also if the client is gone.

use serde::{Deserialize, Serialize};

/// The topology that is to be up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeOrder {
    /// The process that asks for it.
    pub pid: u32,
    /// The topology's file as it was read.
    pub topology: String,
    /// The overrides, `key=value`.
    pub overrides: Vec<String>,
}
