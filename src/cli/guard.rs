//! `tandem guard`: started by the controller, for nobody else.

use std::io;

use super::Failure;

/// Holds until standard input ends.
pub(super) fn run() -> Result<u8, Failure> {
    crate::guard::watch(io::stdin().lock(), io::stdout())
        .map_err(|error| Failure::new(1, &error))?;
    Ok(0)
}
