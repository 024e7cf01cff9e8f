//! The controller's hand on its guard.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::Revival;

/// How long an answer may take: the guard does nothing else.
const ANSWER: Duration = Duration::from_secs(5);

/// A running guard. Dropping it closes the pipe, and the guard undoes what it holds.
pub struct Guard {
    child: Child,
    pidfd: OwnedFd,
    pipe: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

/// Proof that the guard holds a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held(());

/// The guard did not start, or does not answer: nothing may be started without it.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// No process.
    #[error("the guard cannot be started")]
    Start(#[source] io::Error),
    /// It is gone, or said something else.
    #[error("the guard does not answer")]
    Silent(#[source] io::Error),
}

impl Guard {
    /// Starts the guard from `program`, which is `tandem` itself.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(program: impl AsRef<OsStr>) -> Result<Self, GuardError> {
        let mut child = Command::new(program)
            .arg("guard")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Out of the terminal's foreground group, or Ctrl-C would reach it too.
            .process_group(0)
            .spawn()
            .map_err(GuardError::Start)?;
        let pipe = child.stdin.take().zip(child.stdout.take().map(BufReader::new));
        let broken = || GuardError::Start(io::ErrorKind::BrokenPipe.into());
        let pipe = pipe.ok_or_else(broken)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(broken)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())
            .map_err(|error| GuardError::Start(error.into()))?;
        Ok(Self { child, pidfd, pipe: Mutex::new(pipe) })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still there.
    #[must_use]
    pub fn lives(&self) -> bool {
        super::watch::lives(&self.pidfd)
    }

    /// Has it hold a child of ours that was not yet waited for, so that the number is surely its.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn hold(&self, pid: u32) -> Result<Held, GuardError> {
        self.ask(&format!("hold {pid}"), &format!("held {pid}"))
    }

    /// Has it start a broker again when we are gone before we did.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn promise(&self, revival: &Revival) -> Result<Held, GuardError> {
        self.ask(&format!("promise {}", told(revival)), "promised")
    }

    /// The broker runs again. A guard that is gone has nothing to forget.
    pub fn kept(&self, revival: &Revival) {
        self.ask(&format!("kept {}", told(revival)), "forgotten").ok();
    }

    fn ask(&self, question: &str, expected: &str) -> Result<Held, GuardError> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let (input, output) = &mut *pipe;
        writeln!(input, "{question}").and_then(|()| input.flush()).map_err(GuardError::Silent)?;
        // Nothing is ever left in the buffer: each question has one answer, of one line.
        if !super::watch::readable(output.get_ref(), ANSWER) {
            return Err(GuardError::Silent(io::ErrorKind::TimedOut.into()));
        }
        let mut answer = String::new();
        output.read_line(&mut answer).map_err(GuardError::Silent)?;
        if answer.trim_end() == expected {
            Ok(Held(()))
        } else {
            let said = io::Error::new(io::ErrorKind::InvalidData, format!("it said {answer:?}"));
            Err(GuardError::Silent(said))
        }
    }

    /// Everything was undone by its master: the guard may go.
    pub fn free(mut self) {
        let pipe = self.pipe.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A guard that is dead already is as free as can be.
        writeln!(pipe.0, "free").and_then(|()| pipe.0.flush()).ok();
        if !super::watch::readable(&self.pidfd, ANSWER) {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}

/// In one line: JSON has no line breaks of its own.
fn told(revival: &Revival) -> String {
    serde_json::to_string(revival).unwrap_or_default()
}
