//! `tandem plan`: what a topology comes to, before anything is started.

use std::io::{self, Write};

use super::which::TopologyArgs;
use super::{EXIT_FILES, Output};
use crate::topology::Page;

/// Show what a topology comes to: names, partitions, load, and what each fault may cost.
///
/// Everything is decided here; nothing is started and no broker is asked. Warnings say what the
/// groups share and where the sizes or the pace are unwise.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  tandem plan
  tandem plan -f topologies/trio.yaml --set defaults.session=300ms
  tandem plan -f topologies/solo.yaml -o json")]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub topology: TopologyArgs,
    /// How to print it.
    #[arg(short = 'o', long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Writes the plan to `out`, or what is wrong with the file to `err`; the answer is the exit code.
///
/// # Errors
/// Where `out` or `err` cannot be written.
pub(super) fn run(args: &PlanArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    match args.topology.read() {
        Ok(plan) => {
            match args.output {
                Output::Text => write!(out, "{}", Page(&plan))?,
                Output::Json => {
                    serde_json::to_writer_pretty(&mut *out, &plan)?;
                    writeln!(out)?;
                }
            }
            Ok(0)
        }
        Err(error) => {
            writeln!(err, "{error}")?;
            Ok(EXIT_FILES)
        }
    }
}
