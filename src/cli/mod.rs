//! The command line: one file a command, and what they share.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod failure;
mod guard;
mod member;
pub mod plan;
pub mod validate;

pub use failure::Failure;

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

/// Keeps roles led all the time by redundant leader elections on Kafka, breaks them on purpose, and
/// measures for how long a role was led by nobody (a gap) or by two (an overlap).
#[derive(Debug, Parser)]
#[command(name = "tandem", version, max_term_width = 100)]
#[command(after_help = "\
Exit codes: 0 pass; 1 could not run; 2 usage or invalid file; 3 verdict fail; 4 verdict unknown;
5 aborted by a limit; 6 something could not be healed; 130 interrupted.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(plan::Args),
    Validate(validate::Args),
    Member(Box<member::Args>),
    #[command(hide = true)]
    Guard,
}

/// Runs the command that the arguments name; what the process ends with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    // Who stopped reading has seen enough.
    let written = |answer: std::io::Result<u8>| match answer {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        answer => answer.map_err(|error| Failure::new(1, &error)),
    };
    let result = match cli.command {
        Command::Plan(args) => written(plan::run(&args, &mut out, &mut err)),
        Command::Validate(args) => written(validate::run(&args, &mut out, &mut err)),
        Command::Member(args) => member::run(*args),
        Command::Guard => guard::run(),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // A standard error that is closed is no reason to fail differently.
            writeln!(std::io::stderr(), "tandem: {failure}").ok();
            ExitCode::from(failure.code)
        }
    }
}
