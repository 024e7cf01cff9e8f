//! Identifies a process. A pid may be reused; together with the start time it is unique.
//!
//! What the kernel says of a process are bytes: the name in `/proc/PID/stat` is cut after 15 of
//! them, also within a letter. And a file of the kernel that cannot be read, for lack of a
//! descriptor or of a right, says nothing: only one that is not there says that the process has
//! ended.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process};
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
    /// The process that has this pid now, unless it has ended or cannot be read.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        started(pid).map(|since| Self { pid, since })
    }

    /// The process that has this pid now, unless it has ended.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn find(pid: u32) -> io::Result<Option<Self>> {
        let since = stat(pid)?.and_then(|stat| stat.started());
        Ok(since.map(|since| Self { pid, since }))
    }

    /// This process.
    #[must_use]
    pub fn own() -> Self {
        let pid = std::process::id();
        Self { pid, since: started(pid).unwrap_or_default() }
    }

    /// Whether it has not ended. A zombie has ended; one that cannot be read has not.
    #[must_use]
    pub fn lives(self) -> bool {
        match stat(self.pid) {
            Ok(stat) => stat.and_then(|stat| stat.started()) == Some(self.since),
            Err(_) => {
                raw_pid(self.pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
            }
        }
    }

    /// Whether it has not ended, and is not stopped.
    #[must_use]
    pub fn runs(self) -> bool {
        let stat = stat(self.pid).ok().flatten().filter(|stat| !stat.is_stopped());
        stat.and_then(|stat| stat.started()) == Some(self.since)
    }

    /// Whether it is stopped (`true`) or runs (`false`); `None` once it has ended, or if it cannot
    /// be read.
    #[must_use]
    pub fn is_stopped(self) -> Option<bool> {
        let stat = stat(self.pid).ok().flatten().filter(|it| it.started() == Some(self.since))?;
        Some(stat.is_stopped())
    }

    /// A pidfd of the process, unless it has ended. It stays valid for this process even if the pid
    /// is reused later.
    ///
    /// # Errors
    /// The pidfd cannot be opened.
    pub fn open(self) -> io::Result<Option<OwnedFd>> {
        let Some(pid) = raw_pid(self.pid) else {
            return Ok(None);
        };
        // Open first, then compare: if the process still has its pid now, it is the one opened.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => {
                let since = stat(self.pid)?.and_then(|stat| stat.started());
                Ok((since == Some(self.since)).then_some(pidfd))
            }
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

/// A process id as system calls take it.
#[must_use]
pub fn raw_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// What the kernel says of a process in `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// The letter of its state.
    state: u8,
    pub(super) parent: u32,
    threads: u32,
    /// In the kernel's clock ticks.
    since: u64,
}

impl Stat {
    /// Reads proc_pid_stat(5). The name, in parentheses, may have any bytes, so the fields are
    /// counted after it.
    fn of(bytes: &[u8]) -> Option<Self> {
        let name_ends = bytes.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(bytes.get(name_ends + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let (state, parent) = (*fields.next()?.as_bytes().first()?, fields.next()?.parse().ok()?);
        let (threads, since) = (fields.nth(15)?.parse().ok()?, fields.nth(1)?.parse().ok()?);
        Some(Self { state, parent, threads, since })
    }

    /// Its start time, if it has not ended. A zombie still has an entry; a process of which only
    /// the first thread has ended looks like one, and has others.
    pub(super) fn started(&self) -> Option<u64> {
        let ended = self.state == b'X' || (self.state == b'Z' && self.threads <= 1);
        (!ended).then_some(self.since)
    }

    fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// What the kernel says of a process; `None` if there is none with this pid.
pub(super) fn stat(pid: u32) -> io::Result<Option<Stat>> {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(bytes) => Stat::of(&bytes).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into()),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The same, and `None` for one of another user, where users do not see the processes of others.
pub(super) fn visible(pid: u32) -> io::Result<Option<Stat>> {
    match stat(pid) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        found => found,
    }
}

/// Whether a file of `/proc/PID` could not be read because the process is gone.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// The start time of a process that has not ended, in the kernel's clock ticks.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    stat(pid).ok()??.started()
}

/// The pids of all processes of this host.
///
/// # Errors
/// Not all of them can be read.
pub(super) fn pids() -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(pids)
}

/// Whether the environment with which a process started sets `variable` to `value`. The environment
/// of another user's process cannot be read: false.
///
/// # Errors
/// It cannot be read for another reason.
pub(super) fn has_mark(pid: u32, variable: &str, value: &str) -> io::Result<bool> {
    let environment = match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => environment,
        Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let wanted = format!("{variable}={value}");
    Ok(environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
}

/// The parent of a process, unless the process has ended.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    stat(pid).ok()?.map(|stat| stat.parent)
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

    #[test]
    fn a_name_may_have_any_bytes() {
        let rest = " S 41 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 1234 9 9 9";
        for name in [&b"sleep"[..], b"n\xc3\xa4chtliche-pr\xc3", b"a) R 1 (b", b"\xff\n\xfe"] {
            let line = [&b"43 ("[..], name, b")", rest.as_bytes()].concat();
            let stat = Stat { state: b'S', parent: 41, threads: 1, since: 1_234 };
            assert_eq!(Stat::of(&line), Some(stat), "{name:?}");
        }
        let one = |state, threads| Stat { state, parent: 1, threads, since: 7 };
        let ended = [one(b'S', 1), one(b'Z', 1), one(b'Z', 2), one(b'X', 0)];
        assert_eq!(ended.map(|one| one.started()), [Some(7), None, Some(7), None]);
        for broken in [&b""[..], b"43 (sleep", b"43 (sleep)", b"43 (sleep) S 41 42"] {
            assert_eq!(Stat::of(broken), None);
        }
    }
}
