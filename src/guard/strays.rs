//! Processes that a master had started, and not yet given to its guard, when it was stopped.
//!
//! One whose master dies ends by itself: its standard input closes, and nobody can have stopped it
//! yet. That of a master which is merely stopped stays open, so they are looked for.

use std::fs;

use super::Identity;
use super::undo::Ward;

/// What a run calls itself in the environment of its processes.
pub const MARK: &str = "TANDEM_RUN";

/// The children of `master` that bear the `mark` of its run.
pub(super) fn strays(master: Identity, mark: &str) -> Vec<Ward> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let known = |pid: &u32| parent(*pid) == Some(master.pid) && bears(*pid, mark);
    let strays = numbers.filter_map(Identity::of).filter_map(|process| {
        // Looked at again when it is held: a number may be used again in between.
        let pidfd = known(&process.pid).then(|| process.open().ok().flatten()).flatten()?;
        known(&process.pid).then_some((process.pid, pidfd))
    });
    strays.collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything: count from behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn bears(pid: u32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
}
