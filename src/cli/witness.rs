//! `tandem witness`: the process beside a member that delivers its facts.

use super::Failure;
use crate::external::bear_witness;
use crate::verdict::Exit;

/// Deliver the facts of a member, and see its death.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct WitnessArgs {
    /// Be the witness, instead of starting it.
    #[arg(long)]
    beside: bool,
}

/// Bears witness for the member whose facts arrive on standard input.
pub(super) fn run(args: &WitnessArgs) -> Result<Exit, Failure> {
    bear_witness(args.beside).map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(Exit::Pass)
}
