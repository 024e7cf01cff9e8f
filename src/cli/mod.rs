//! What the command line offers: one file a command.

pub mod plan;
pub mod validate;

pub use plan::PlanArgs;
pub use validate::ValidateArgs;

/// Invalid usage or files: nothing was touched.
pub const EXIT_FILES: u8 = 2;

/// How a command answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}
