//! `tandem witness`: the process beside a member that delivers its facts.

use super::Failure;
use crate::external::{bear_witness, wake_in_the_end};
use crate::verdict::Exit;

/// Deliver the facts of a member, and see its death.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct WitnessArgs {
    /// Be the witness, instead of starting it.
    #[arg(long)]
    beside: bool,
    /// Continue a process that is paused, when this one's input ends.
    #[arg(long, conflicts_with = "beside")]
    wake: bool,
}

/// Bears witness for the member whose facts arrive on standard input.
pub(super) fn run(args: &WitnessArgs) -> Result<Exit, Failure> {
    if args.wake {
        wake_in_the_end().map_err(|error| Failure::new(Exit::Unable, &error))?;
        return Ok(Exit::Pass);
    }
    bear_witness(args.beside).map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(Exit::Pass)
}
