//! How commands fail: one message with its causes, printed once, and how the process exits.

use std::error::Error;
use std::fmt;

use crate::verdict::Exit;

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What the process ends with.
    pub exit: Exit,
    message: String,
}

impl Failure {
    /// An error with its causes.
    #[must_use]
    pub fn new(exit: Exit, error: &(dyn Error + 'static)) -> Self {
        Self { exit, message: crate::error::chain(error) }
    }

    /// A message that stands for itself.
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
