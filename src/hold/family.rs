//! All that a process has started, however far it has detached itself.
//!
//! A subreaper (`prctl(2)`, `PR_SET_CHILD_SUBREAPER`) becomes the parent of every descendant whose
//! own parent has ended. So its descendants are found by their parents alone, and there are none
//! once it has no child. A command with a [`Cgroup`] of its own is killed by that as well, at one
//! blow: no process of it is between two looks.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Signal, WaitOptions, WaitStatus, wait};

use super::cgroup::Cgroup;
use crate::guard::family;
use crate::time::Mono;

/// How often processes that were killed are checked for their end.
pub(super) const LOOK: Duration = Duration::from_millis(2);

/// Signals every descendant of this process. Returns whether there was one.
pub(super) fn signal_all(signals: &[Signal]) -> bool {
    let all = family(std::process::id());
    for one in &all {
        if let Err(error) = one.signal(signals) {
            tracing::warn!(%error, pid = one.pid, "A process of the command cannot be signalled.");
        }
    }
    !all.is_empty()
}

/// Kills every descendant of this process, and what is in the cgroup. Returns whether there was
/// something.
pub(super) fn kill_each(cgroup: Option<&Cgroup>) -> bool {
    let was_inside = cgroup.is_some_and(|cgroup| !cgroup.is_empty());
    if let Some(cgroup) = cgroup.filter(|_| was_inside)
        && let Err(error) = cgroup.kill()
    {
        tracing::warn!(%error, %cgroup, "The cgroup of a command cannot be killed.");
    }
    signal_all(&[Signal::KILL]) || was_inside
}

/// Kills every descendant of this process, which must be a subreaper, and what is in the cgroup.
/// Returns whether all are gone by `until`; without it, returns once they are.
pub(super) fn kill_all(cgroup: Option<&Cgroup>, until: Option<Mono>) -> bool {
    while !(reap().1 && cgroup.is_none_or(Cgroup::is_empty)) {
        if until.is_some_and(|until| Mono::now() >= until) {
            return false;
        }
        kill_each(cgroup);
        std::thread::sleep(LOOK);
    }
    true
}

/// Collects children that have ended: their pids, and how they ended. Second, whether there is no
/// child left.
pub(super) fn reap() -> (Vec<(u32, WaitStatus)>, bool) {
    let mut ended = Vec::new();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                ended.push((u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0), status));
            }
            Ok(None) => return (ended, false),
            Err(Errno::INTR) => {}
            // ECHILD: there is no child. Nothing else can go wrong.
            Err(_) => return (ended, true),
        }
    }
}
