//! The failure of a command: one message with its causes, and an exit code.

use std::error::Error;
use std::fmt;

use crate::verdict::Exit;

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The exit code of the process.
    pub exit: Exit,
    message: String,
}

impl Failure {
    /// An error with its causes.
    #[must_use]
    pub fn new(exit: Exit, error: &(dyn Error + 'static)) -> Self {
        Self { exit, message: crate::error::chain(error) }
    }

    /// A message without an underlying error.
    #[must_use]
    pub fn text(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
