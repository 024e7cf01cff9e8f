//! How commands fail: one message with its causes, printed once, and an exit code.

use std::error::Error;
use std::fmt;

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What the process ends with.
    pub code: u8,
    message: String,
}

impl Failure {
    /// An error with its causes.
    #[must_use]
    pub fn new(code: u8, error: &(dyn Error + 'static)) -> Self {
        Self { code, message: crate::error::chain(error) }
    }

    /// A message that stands for itself.
    #[must_use]
    pub fn text(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
