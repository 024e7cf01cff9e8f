//! Identifies a process. A pid may be reused; together with the start time it is unique.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process, unique on this host until it reboots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// The process id.
    pub pid: u32,
    /// The start time, in the kernel's clock ticks.
    pub since: u64,
}

impl Identity {
    /// The process that has this pid now, unless it has ended.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        started(pid).map(|since| Self { pid, since })
    }

    /// This process.
    #[must_use]
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, since: started(pid).unwrap_or_default() }
    }

    /// Whether it has not ended. A zombie has ended.
    #[must_use]
    pub fn lives(self) -> bool {
        started(self.pid) == Some(self.since)
    }

    /// Whether it has not ended, and is not stopped.
    #[must_use]
    pub fn runs(self) -> bool {
        let stat = stat(self.pid).filter(|stat| !matches!(stat.state.as_str(), "T" | "t"));
        stat.and_then(|stat| stat.started()) == Some(self.since)
    }

    /// A pidfd of the process, unless it has ended. It stays valid for this process even if the pid
    /// is reused later.
    ///
    /// # Errors
    /// The pidfd cannot be opened.
    pub fn open(self) -> io::Result<Option<OwnedFd>> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return Ok(None);
        };
        // Open first, then compare: if the process still has its pid now, it is the one opened.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(self.lives().then_some(pidfd)),
            Err(Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends it signals, one after the other. Does nothing if it has ended.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn signal(self, signals: &[Signal]) -> io::Result<()> {
        self.open()?.map_or(Ok(()), |process| send(&process, signals))
    }
}

/// Sends signals, one after the other. Does nothing if the process has ended.
pub(super) fn send(process: &OwnedFd, signals: &[Signal]) -> io::Result<()> {
    for signal in signals {
        match pidfd_send_signal(process, *signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What the kernel says of a process in `/proc/PID/stat`.
struct Stat {
    /// The letter of its state.
    state: String,
    parent: u32,
    /// In the kernel's clock ticks.
    since: u64,
}

impl Stat {
    /// Its start time, if it has not ended. A zombie still has an entry.
    fn started(&self) -> Option<u64> {
        (!matches!(self.state.as_str(), "Z" | "X")).then_some(self.since)
    }
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything, so count the fields after it.
    let mut rest = text.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (rest.next()?.to_owned(), rest.next()?.parse().ok()?);
    Some(Stat { state, parent, since: rest.nth(17)?.parse().ok()? })
}

/// The start time of a process that has not ended, in the kernel's clock ticks.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    stat(pid)?.started()
}

/// The pids of all processes of this host.
pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether the environment with which a process started sets `variable` to `value`. The environment
/// of another user's process cannot be read: false.
#[must_use]
pub(super) fn has_mark(pid: u32, variable: &str, value: &str) -> bool {
    let wanted = format!("{variable}={value}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
}

/// The parent of a process, unless the process has ended.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    stat(pid).map(|stat| stat.parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_another_process() {
        let me = Identity::own();
        assert!(me.lives());
        assert!(me.open().unwrap().is_some());
        let before = Identity { since: me.since + 1, ..me };
        assert!(!before.lives());
        assert!(before.open().unwrap().is_none());
        // A signal that arrives would end this test.
        before.signal(&[Signal::KILL]).unwrap();
    }
}
