//! One child process: started under the guard, signalled and awaited through its pidfd.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use rustix::time::Timespec;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::ChildStdout;

use super::log_file::LogFile;
use crate::guard::{Guard, GuardError, MARK};

/// A child of ours that has not been waited for; so its pid is surely its own.
pub struct Process {
    pid: u32,
    pidfd: AsyncFd<OwnedFd>,
    stdin: Mutex<Option<ChildStdin>>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessEnd {
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// The status it ended with, if it did by itself.
    pub status: Option<i32>,
}

/// A process that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system refused.
    #[error("cannot start `tandem {what}`")]
    Start {
        /// The first argument.
        what: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It would run unguarded, so it was ended again.
    #[error("cannot start `tandem {what}` without its guard")]
    Unguarded {
        /// The first argument.
        what: String,
        /// Why not.
        #[source]
        source: GuardError,
    },
}

impl Process {
    /// Starts `program` with `arguments`, its log appended to `log`; its pipe of facts.
    ///
    /// # Errors
    /// The system or the guard refuses; then nothing runs.
    pub(super) fn start(
        program: &Path,
        arguments: &[String],
        log: &LogFile,
        guard: &Guard,
    ) -> Result<(Self, ChildStdout), ProcessError> {
        let what = arguments.first().cloned().unwrap_or_default();
        let refused = |source| ProcessError::Start { what: what.clone(), source };
        if let Some(loss) = guard.loss() {
            return Err(ProcessError::Unguarded { what, source: loss.into() });
        }
        let log = log.open().map_err(refused)?;
        let mut child = Command::new(program)
            .args(arguments)
            .env(MARK, guard.mark())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Out of the terminal's foreground group: Ctrl-C is for the controller alone.
            .process_group(0)
            .spawn()
            .map_err(refused)?;
        // A controller that dies before the next line leaves an unguarded child, which ends by
        // itself: its standard input closes, and nobody can have stopped it yet. Where it is only
        // stopped, the guard looks for children that bear the mark.
        if let Err(source) = guard.hold(child.id()) {
            child.kill().ok();
            child.wait().ok();
            return Err(ProcessError::Unguarded { what, source });
        }
        let broken = || refused(io::ErrorKind::BrokenPipe.into());
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(broken)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| refused(error.into()))?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe to call; an OwnedFd keeps what that asks for"
        )]
        let pidfd = AsyncFd::with_interest(pidfd, Interest::READABLE).map_err(refused)?;
        let stdin = child.stdin.take().ok_or_else(broken)?;
        let stdout = child.stdout.take().ok_or_else(broken)?;
        let stdout = ChildStdout::from_std(stdout).map_err(refused)?;
        Ok((Self { pid: child.id(), pidfd, stdin: Mutex::new(Some(stdin)) }, stdout))
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal; to a process that has ended, nothing happens.
    ///
    /// # Errors
    /// The system refuses.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(self.pidfd.get_ref(), signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes one line to its standard input; the pipe holds it for a process that is stopped.
    ///
    /// # Errors
    /// The process is gone.
    pub fn order(&self, line: &str) -> io::Result<()> {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{line}").and_then(|()| stdin.flush())
    }

    /// Whether it has not ended: a pidfd becomes readable when it does.
    #[must_use]
    pub fn lives(&self) -> bool {
        let mut fds = [PollFd::new(self.pidfd.get_ref(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready == 0)
    }

    /// Ends its standard input: whoever lives by it ends.
    pub fn hang_up(&self) {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits until it has ended, and reaps it.
    pub async fn ended(&self) -> ProcessEnd {
        // The only error is a runtime that shuts down, and then nobody asks any more.
        drop(self.pidfd.readable().await);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        match waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
            Ok(Some(status)) => {
                ProcessEnd { signal: status.terminating_signal(), status: status.exit_status() }
            }
            Ok(None) | Err(_) => ProcessEnd::default(),
        }
    }

    /// Whether the kernel has stopped a child of ours, or let it go on, and [`halted`] did not tell
    /// yet.
    ///
    /// [`halted`]: Self::halted
    #[must_use]
    pub fn any_halted() -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
        let look = options | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // Without a child there is an error, and nobody to be stopped.
        matches!(waitid(WaitId::All, look), Ok(Some(_)))
    }

    /// Whether the kernel has stopped it or let it go on since this was last asked.
    #[must_use]
    pub fn halted(&self) -> Option<bool> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options).ok()??;
        (status.stopped() || status.continued()).then(|| status.stopped())
    }
}
