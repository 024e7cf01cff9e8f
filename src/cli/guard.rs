//! `tandem guard`: started by the controller, for nobody else.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::Failure;
use crate::guard::{runs, watch};
use crate::verdict::Exit;

/// Holds until standard input ends, or nothing comes out of it for too long.
pub(super) fn run() -> Result<Exit, Failure> {
    // Without the buffer of standard input: what waits in there cannot be waited for.
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let undone = input.and_then(|input| watch(input, io::stdout(), &runs()));
    let undone = undone.map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(if undone.left.is_empty() { Exit::Pass } else { Exit::Unhealed })
}
