//! Finds processes that a controller had started, but not yet given to its guard, when it was
//! stopped.
//!
//! If the controller dies, such a process ends by itself, because its standard input closes. If the
//! controller is only stopped, the input stays open, so the guard has to look for these processes.

use std::io;

use super::identity::{Identity, has_mark, pids, stat};
use super::undo::HeldProcess;

/// The environment variable with which a run marks its processes.
pub const MARK: &str = "TANDEM_RUN";

/// The children of `controller` that have the `mark` of its run.
///
/// # Errors
/// The kernel does not tell all of them.
pub(super) fn strays(controller: Identity, mark: &str) -> io::Result<Vec<HeldProcess>> {
    let is_known = |pid: u32| match stat(pid) {
        Ok(Some(stat)) if stat.parent == controller.pid => has_mark(pid, MARK, mark),
        Ok(_) => Ok(false),
        // Of another user, where users do not see the processes of others.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) => Err(error),
    };
    let mut strays = Vec::new();
    for pid in pids()? {
        if !is_known(pid)? {
            continue;
        }
        // Check again once it is held: the pid may have been reused in between.
        let held = Identity::find(pid)?.map(Identity::open).transpose()?.flatten();
        if let Some(pidfd) = held
            && is_known(pid)?
        {
            strays.push((pid, pidfd));
        }
    }
    Ok(strays)
}
