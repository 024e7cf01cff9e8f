//! Finds processes that a controller had started, but not yet given to its guard, when it was
//! stopped.
//!
//! If the controller dies, such a process ends by itself, because its standard input closes. If the
//! controller is only stopped, the input stays open, so the guard has to look for these processes.

use std::io;

use super::identity::{Identity, has_mark, pids, visible};
use super::undo::HeldProcess;

/// The environment variable with which a run marks its processes.
pub const MARK: &str = "TANDEM_RUN";

/// The children of `controller` that have the `mark` of its run, as far as they are found, and
/// why there may be more.
pub(super) fn strays(controller: Identity, mark: &str) -> (Vec<HeldProcess>, Option<io::Error>) {
    let mut strays = Vec::new();
    let mut unread = None;
    let pids = pids().unwrap_or_else(|error| {
        unread = Some(error);
        Vec::new()
    });
    for pid in pids {
        match stray(pid, controller, mark) {
            Ok(held) => strays.extend(held),
            Err(error) => unread = Some(error),
        }
    }
    (strays, unread)
}

/// This process, if it is one.
fn stray(pid: u32, controller: Identity, mark: &str) -> io::Result<Option<HeldProcess>> {
    let is_one = || match visible(pid)? {
        Some(stat) if stat.parent == controller.pid => has_mark(pid, MARK, mark),
        _ => Ok(false),
    };
    if !is_one()? {
        return Ok(None);
    }
    let held = Identity::find(pid)?.map(Identity::open).transpose()?.flatten();
    // Check again once it is held: the pid may have been reused in between.
    Ok(if is_one()? { held.map(|pidfd| (pid, pidfd)) } else { None })
}
