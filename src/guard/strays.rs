//! Finds processes that a controller had started, but not yet given to its guard, when it was
//! stopped.
//!
//! If the controller dies, such a process ends by itself, because its standard input closes. If the
//! controller is only stopped, the input stays open, so the guard has to look for these processes.

use std::fs;

use super::Identity;
use super::undo::HeldProcess;

/// The environment variable with which a run marks its processes.
pub const MARK: &str = "TANDEM_RUN";

/// The children of `controller` that have the `mark` of its run.
pub(super) fn strays(controller: Identity, mark: &str) -> Vec<HeldProcess> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let known = |pid: &u32| parent(*pid) == Some(controller.pid) && has_mark(*pid, mark);
    let strays = numbers.filter_map(Identity::of).filter_map(|process| {
        // Check again once it is held: the pid may have been reused in between.
        let pidfd = known(&process.pid).then(|| process.open().ok().flatten()).flatten()?;
        known(&process.pid).then_some((process.pid, pidfd))
    });
    strays.collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything, so count the fields after it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn has_mark(pid: u32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
}
