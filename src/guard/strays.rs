//! Finds processes that a controller had started, but not yet given to its guard, when it was
//! stopped.
//!
//! If the controller dies, such a process ends by itself, because its standard input closes. If the
//! controller is only stopped, the input stays open, so the guard has to look for these processes.

use super::identity::{Identity, has_mark, parent, pids};
use super::undo::HeldProcess;

/// The environment variable with which a run marks its processes.
pub const MARK: &str = "TANDEM_RUN";

/// The children of `controller` that have the `mark` of its run.
pub(super) fn strays(controller: Identity, mark: &str) -> Vec<HeldProcess> {
    let known = |pid: &u32| parent(*pid) == Some(controller.pid) && has_mark(*pid, MARK, mark);
    let strays = pids().filter_map(Identity::of).filter_map(|process| {
        // Check again once it is held: the pid may have been reused in between.
        let pidfd = known(&process.pid).then(|| process.open().ok().flatten()).flatten()?;
        known(&process.pid).then_some((process.pid, pidfd))
    });
    strays.collect()
}
