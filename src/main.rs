//! The door.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use tandem::cli::{PlanArgs, ValidateArgs, plan, validate};

/// Keeps a set of roles led all the time, and measures under injected faults for how long it was not
#[derive(Parser)]
#[command(version)]
enum Command {
    Plan(PlanArgs),
    Validate(ValidateArgs),
}

fn main() -> io::Result<ExitCode> {
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    let code = match Command::parse() {
        Command::Plan(args) => plan::run(&args, &mut out, &mut err)?,
        Command::Validate(args) => validate::run(&args, &mut out, &mut err)?,
    };
    Ok(code.into())
}
