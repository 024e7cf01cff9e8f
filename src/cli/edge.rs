//! `tandem edge`: started by the controller, for nobody else.

use std::io::{self, BufReader};

use super::Failure;

/// Stands between clients and brokers until standard input ends.
pub(super) fn run() -> Result<u8, Failure> {
    crate::edge::run(BufReader::new(io::stdin()), io::stdout())
        .map_err(|error| Failure::new(1, &error))?;
    Ok(0)
}
