//! All that a process has started, however far it has detached itself.
//!
//! A subreaper (`prctl(2)`, `PR_SET_CHILD_SUBREAPER`) becomes the parent of every descendant whose
//! own parent has ended. So its descendants are found by their parents alone, and there are none
//! once it has no child. A command with a [`Cgroup`] of its own is killed by that as well, at one
//! blow: no process of it is between two looks.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpgid, kill_process_group, wait, waitpid};

use super::cgroup::Cgroup;
use crate::guard::{Family, children_of, family_by, raw_pid};
use crate::time::Mono;

/// How often processes that were killed are checked for their end.
pub(super) const LOOK: Duration = Duration::from_millis(2);

/// Signals every descendant of this process. First the process group of `leader`, in one call: to
/// find the others takes time, which a host may not have. `leader` is a child that was not
/// collected yet, so its pid is no other's. The others are looked for until `by`.
pub(super) fn signal_all(leader: Option<u32>, signals: &[Signal], by: Option<Mono>) {
    let reached = signal_group(leader, signals);
    signal_found(reached, signals, by);
}

/// Signals the process group of `leader`. Returns that group, if there is one.
fn signal_group(leader: Option<u32>, signals: &[Signal]) -> Option<Pid> {
    let group = raw_pid(leader?)?;
    // ESRCH: it has not begun its group yet.
    let reached = signals.iter().filter(|one| kill_process_group(group, **one).is_ok()).count();
    (reached > 0).then_some(group)
}

/// Signals the descendants that are found until `by`; those of the group `reached` have the signals
/// already, and SIGTERM asks once. Returns whether any was found.
fn signal_found(reached: Option<Pid>, signals: &[Signal], by: Option<Mono>) -> bool {
    let Family { members, unread } = family_by(std::process::id(), by);
    if let Some(error) = unread {
        tracing::warn!(%error, "Not every process of the command can be found.");
    }
    for one in &members {
        let is_in = |group| raw_pid(one.pid).and_then(|pid| getpgid(Some(pid)).ok()) == Some(group);
        if !signals.contains(&Signal::KILL) && reached.is_some_and(is_in) {
            continue;
        }
        if let Err(error) = one.signal(signals) {
            tracing::warn!(%error, pid = one.pid, "A process of the command cannot be signalled.");
        }
    }
    !members.is_empty()
}

/// Kills every descendant of this process, and what is in the cgroup: the group of `leader` first.
/// Returns whether any was found.
pub(super) fn kill_each(leader: Option<u32>, cgroup: Option<&Cgroup>, by: Option<Mono>) -> bool {
    let reached = signal_group(leader, &[Signal::KILL]);
    let was_inside = cgroup.is_some_and(|cgroup| !cgroup.is_empty());
    if let Some(cgroup) = cgroup.filter(|_| was_inside)
        && let Err(error) = cgroup.kill()
    {
        tracing::warn!(%error, %cgroup, "The cgroup of a command cannot be killed.");
    }
    signal_found(reached, &[Signal::KILL], by) || was_inside
}

/// Kills every descendant of this process, which must be a subreaper, and what is in the cgroup:
/// first the process group of `leader`, a child that was not collected yet. Returns whether all are
/// gone by `until`; without it, returns once they are.
pub(super) fn kill_all(leader: Option<u32>, cgroup: Option<&Cgroup>, until: Option<Mono>) -> bool {
    // Only now: once it is collected its pid may be another's.
    if leader.is_some() {
        kill_each(leader, cgroup, until);
    }
    while !(reap() && cgroup.is_none_or(Cgroup::is_empty)) {
        if until.is_some_and(|until| Mono::now() >= until) {
            return false;
        }
        kill_each(None, cgroup, until);
        std::thread::sleep(LOOK);
    }
    true
}

/// Collects the children that have ended. Returns whether there is no child left.
pub(super) fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            // There is no child.
            Err(Errno::CHILD) => return true,
            // Nothing else can go wrong, and if it did, that is no proof.
            Ok(None) | Err(_) => return false,
        }
    }
}

/// Collects the children that have ended, but not this one. Returns whether there is no other; or
/// nothing, where the kernel does not list children.
pub(super) fn reap_beside(spared: u32) -> Option<bool> {
    loop {
        let others = children_of(std::process::id()).ok()?.into_iter().filter(|pid| *pid != spared);
        let others: Vec<Pid> = others.filter_map(raw_pid).collect();
        if others.is_empty() {
            return Some(true);
        }
        let ended = |pid: &Pid| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_)));
        // One that has ended may have left others, which are children of this process now.
        if others.iter().filter(|pid| ended(pid)).count() == 0 {
            return Some(false);
        }
    }
}
