//! `tandem guard`: the process of the guard, started only by the controller.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::Failure;
use crate::guard::{runs, watch};
use crate::verdict::Exit;

/// Runs the guard until standard input ends or is silent for too long.
pub(super) fn run() -> Result<Exit, Failure> {
    // Without `Stdin`, because `poll` does not see what is in its buffer.
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let undone = input.and_then(|input| watch(input, io::stdout(), &runs()));
    let undone = undone.map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(if undone.left.is_empty() { Exit::Pass } else { Exit::Unhealed })
}
