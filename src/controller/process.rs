//! One child process: started under the guard, signalled and awaited by pidfd.

use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Stdio};
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
use crate::host::tandem;

/// Of so many threads the condition of a process tells.
const THREADS_SHOWN: usize = 32;

/// A child process that has not been reaped, so its pid cannot have been reused.
pub struct Process {
    pid: u32,
    pidfd: AsyncFd<OwnedFd>,
    stdin: Mutex<Option<ChildStdin>>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessEnd {
    /// The signal that killed it, if one did.
    pub signal: Option<i32>,
    /// Its exit status, if it exited by itself.
    pub status: Option<i32>,
}

/// A process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system refused.
    #[error("cannot start `tandem {what}`")]
    Start {
        /// The subcommand.
        what: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The guard does not hold it, so it was not started, or killed again.
    #[error("cannot start `tandem {what}` without its guard")]
    Unguarded {
        /// The subcommand.
        what: String,
        /// The guard's error.
        #[source]
        source: GuardError,
    },
}

impl Process {
    /// Starts `program` with `arguments`, and appends its standard error to `log`. Also returns its
    /// standard output.
    ///
    /// # Errors
    /// The process cannot be started, or the guard cannot hold it. Then nothing runs.
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
        let mut child = tandem(program)
            .args(arguments)
            .env(MARK, guard.mark())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Outside the terminal's foreground group: Ctrl-C must reach only the controller.
            .process_group(0)
            .spawn()
            .map_err(refused)?;
        // If the controller dies before the next line, this child ends by itself, because its
        // standard input closes. If the controller is only stopped, the guard finds the child by
        // its mark.
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

    /// Sends a signal. Does nothing if the process has ended.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(self.pidfd.get_ref(), signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes one line to its standard input. A stopped process reads it when it continues.
    ///
    /// # Errors
    /// The process has closed its input.
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

    /// What the kernel says of it, where its end was not seen: that it has ended, or the state of
    /// each of its threads, and the place in the kernel where it waits.
    #[must_use]
    pub fn condition(&self) -> String {
        let pid = self.pid;
        if !self.lives() {
            return format!("process {pid} has ended, and the controller has not seen it");
        }
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let tasks = tasks.take(THREADS_SHOWN).map(|task| thread(&task.path()));
        let threads = tasks.collect::<Vec<_>>();
        format!("process {pid} has not ended; its threads: {}", threads.join(", "))
    }

    /// Closes its standard input, which ends the process.
    pub fn hang_up(&self) {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits until it has ended. It is reaped a moment later.
    pub async fn ended(&self) -> ProcessEnd {
        // This fails only while the runtime shuts down; the result is not used then.
        drop(self.pidfd.readable().await);
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let end = waitid(WaitId::PidFd(self.pidfd.as_fd()), look);
        self.reap();
        match end {
            Ok(Some(status)) => {
                ProcessEnd { signal: status.terminating_signal(), status: status.exit_status() }
            }
            Ok(None) | Err(_) => ProcessEnd::default(),
        }
    }

    /// Reaps it on a thread of its own. While other threads look into `/proc/PID`, the kernel takes
    /// up to seconds to remove that folder (`proc_invalidate_siblings_dcache`), and the facts of
    /// the other members must not wait for it.
    fn reap(&self) {
        let reap = |process: &OwnedFd| {
            // It fails for a process that has been reaped already.
            waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED).ok();
        };
        let thread = || {
            let process = self.pidfd.get_ref().try_clone()?;
            std::thread::Builder::new().name("reaper".to_owned()).spawn(move || reap(&process))
        };
        if let Err(error) = thread() {
            tracing::debug!(%error, "A process is reaped on the thread that saw its end.");
            reap(self.pidfd.get_ref());
        }
    }

    /// Whether some child of this process has stopped or continued, and [`halted`] has not reported
    /// it yet.
    ///
    /// [`halted`]: Self::halted
    #[must_use]
    pub fn any_halted() -> bool {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
        let look = options | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // Without any child, this is an error.
        matches!(waitid(WaitId::All, look), Ok(Some(_)))
    }

    /// Whether it has stopped (`true`) or continued (`false`) since the last call; `None` if
    /// neither.
    #[must_use]
    pub fn halted(&self) -> Option<bool> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options).ok()??;
        (status.stopped() || status.continued()).then(|| status.stopped())
    }
}

/// A thread in the words of the kernel: its name, the letter of its state, and where it waits.
fn thread(task: &Path) -> String {
    let read = |file: &str| {
        let bytes = fs::read(task.join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    };
    let (name, stat, waits) = (read("comm"), read("stat"), read("wchan"));
    // The name stands in it as well, in parentheses, and may have any letters.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    format!("{name} {} {waits}", state.unwrap_or("?")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::thread;

    #[test]
    fn a_thread_has_a_name_and_a_state() {
        let own = thread(Path::new("/proc/thread-self"));
        assert!(own.split_once(" R").is_some_and(|(name, _)| !name.is_empty()), "{own}");
        assert_eq!(thread(Path::new("/proc/0/task/0")), " ?");
    }
}
