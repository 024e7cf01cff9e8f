//! `tandem edge`: the process of the edges, started only by the controller.

use std::io::{self, BufReader};

use super::Failure;
use crate::verdict::Exit;

/// Runs the edges between clients and brokers until standard input ends.
pub(super) fn run() -> Result<Exit, Failure> {
    crate::edge::run(BufReader::new(io::stdin()), io::stdout())
        .map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(Exit::Pass)
}
