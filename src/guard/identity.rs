//! Which process: a number alone may be used again, with its start it is somebody.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process of this machine since it booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// Its number.
    pub pid: u32,
    /// When it started, in the kernel's ticks.
    pub since: u64,
}

impl Identity {
    /// Whoever has this number now, unless it has ended.
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

    /// Whether it has not ended. One that is dead and was not waited for has.
    #[must_use]
    pub fn lives(self) -> bool {
        started(self.pid) == Some(self.since)
    }

    /// A hold on the process, unless it has ended: whatever becomes of the number later, this is
    /// nobody else.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(self) -> io::Result<Option<OwnedFd>> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return Ok(None);
        };
        // First opened, then compared: it had the number all along, so it is whom was opened.
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(self.lives().then_some(pidfd)),
            Err(Errno::SRCH) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends it signals, one after the other; to one that has ended, nothing happens.
    ///
    /// # Errors
    /// The system refuses.
    pub fn signal(self, signals: &[Signal]) -> io::Result<()> {
        self.open()?.map_or(Ok(()), |process| send(&process, signals))
    }
}

/// Sends signals, one after the other; to a process that has ended, nothing happens.
pub(super) fn send(process: &OwnedFd, signals: &[Signal]) -> io::Result<()> {
    for signal in signals {
        match pidfd_send_signal(process, *signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// When a process that has not ended started, in the kernel's ticks: with its number, an identity.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything: count from behind it.
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    // The dead that nobody has waited for yet still stand there.
    if matches!(rest.next()?, "Z" | "X") {
        return None;
    }
    rest.nth(18)?.parse().ok()
}

/// The process that started it, unless it has ended.
#[must_use]
pub fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_somebody_else_has_now_is_nobody() {
        let me = Identity::own();
        assert!(me.lives());
        assert!(me.open().unwrap().is_some());
        let before = Identity { since: me.since + 1, ..me };
        assert!(!before.lives());
        assert!(before.open().unwrap().is_none());
        // It would end this test.
        before.signal(&[Signal::KILL]).unwrap();
    }
}
