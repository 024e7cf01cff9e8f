//! The controller's hand on its guard.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use super::lease::{LEASE, LOOK, RENEW, Silence};
use super::pipe::readable;
use super::undo::lives;
use super::{Revival, Run, heal, runs};
use crate::time::Mono;

/// How long an answer may take: the guard does nothing else.
const ANSWER: Duration = Duration::from_secs(5);
/// How long it may take to undo what its master could not.
const UNDOING: Duration = Duration::from_secs(10);

/// A running guard. Dropping it closes the pipe, and the guard undoes what it holds.
pub struct Guard {
    child: Child,
    line: Arc<Line>,
    renewal: Option<JoinHandle<()>>,
    ledger: PathBuf,
}

/// What the renewal shares with whoever asks.
struct Line {
    pidfd: OwnedFd,
    pipe: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    /// When it last answered, as nanoseconds of [`Mono`].
    answered: AtomicU64,
    loss: OnceLock<Loss>,
    stop: AtomicBool,
}

/// Proof that the guard holds a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held(());

/// Why there is no guard any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It heard nothing of its master, and ended the run in its stead.
    #[error("the run was healed by its guard: this process was stopped for {:.1} s", secs(.0))]
    Healed(Duration),
    /// Somebody ended it.
    #[error("the guard died, and nothing may run without it")]
    Died,
    /// It is there, and does nothing; it could not undo anything either.
    #[error("the guard did not answer for {ANSWER:?}, and nothing may run without it")]
    Mute,
}

/// The guard did not start, or does not answer: nothing may be started without it.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// No process.
    #[error("the guard cannot be started")]
    Start(#[source] io::Error),
    /// What must be undone cannot be written down.
    #[error("the ledger of this run cannot be written to {}: {why}", runs().display())]
    Ledger {
        /// What the guard says.
        why: String,
    },
    /// It is gone.
    #[error(transparent)]
    Lost(#[from] Loss),
    /// It does not answer, or says something else.
    #[error("the guard does not answer")]
    Silent(#[source] io::Error),
}

/// Something is still to be undone; it stands in the ledger, and `tandem halt` tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not healed: {}; `tandem halt` tries again", .0.join("; "))]
pub struct Unhealed(pub Vec<String>);

impl Guard {
    /// Starts the guard of `run` from `program`, which is `tandem` itself. From then on this
    /// process must run: once it was stopped for three seconds, its guard ends the run.
    ///
    /// # Errors
    /// The process cannot be started, or cannot write its ledger.
    pub fn start(program: impl AsRef<OsStr>, run: &Run) -> Result<Self, GuardError> {
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
        let pipe = Mutex::new(pipe.ok_or_else(broken)?);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(broken)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())
            .map_err(|error| GuardError::Start(error.into()))?;
        let (answered, loss, stop) =
            (AtomicU64::new(Mono::now().0), OnceLock::new(), AtomicBool::new(false));
        let line = Arc::new(Line { pidfd, pipe, answered, loss, stop });
        let told = serde_json::to_string(run).unwrap_or_default();
        let answer = line.ask(&format!("run {told}"))?;
        if answer != "ready" {
            let why = answer.strip_prefix("refused: ").unwrap_or(&answer).to_owned();
            return Err(GuardError::Ledger { why });
        }
        let renewing = Arc::clone(&line);
        let renewal = Builder::new()
            .name("lease".to_owned())
            .spawn(move || renewing.renew())
            .map_err(GuardError::Start)?;
        Ok(Self { child, line, renewal: Some(renewal), ledger: run.file(&runs()) })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still there, and does its work.
    #[must_use]
    pub fn lives(&self) -> bool {
        self.loss().is_none()
    }

    /// Why it is there no more, if so.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        self.line.loss()
    }

    /// Whether it was left alone for so long that it may be undoing the run this moment; soon it
    /// is lost, or it answers.
    #[must_use]
    pub fn doubts(&self) -> bool {
        self.line.loss().is_none() && self.line.silence() >= LEASE
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
        let answer = self.line.ask(question)?;
        if answer == expected {
            return Ok(Held(()));
        }
        let said = io::Error::new(io::ErrorKind::InvalidData, format!("it said {answer:?}"));
        Err(GuardError::Silent(said))
    }

    /// Everything was undone by its master: the guard may go. Where it is gone already, or left
    /// something, that is undone here.
    ///
    /// # Errors
    /// Something could not be undone.
    pub fn free(mut self) -> Result<(), Unhealed> {
        self.retire();
        let asked = self.line.ask("renew").is_ok() && self.line.tell("free").is_ok();
        if !asked || !readable(&self.line.pidfd, UNDOING) {
            self.child.kill().ok();
        }
        self.child.wait().ok();
        match heal(&self.ledger) {
            Ok(None) => Ok(()),
            Ok(Some(undone)) if undone.left.is_empty() => Ok(()),
            Ok(Some(undone)) => Err(Unhealed(undone.left)),
            Err(error) => Err(Unhealed(vec![format!("{}: {error}", self.ledger.display())])),
        }
    }

    /// Renews no more.
    fn retire(&mut self) {
        self.line.stop.store(true, Ordering::Relaxed);
        if let Some(renewal) = self.renewal.take() {
            renewal.thread().unpark();
            renewal.join().ok();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It has a hand on the pipe, too, and would keep it open.
        self.retire();
    }
}

impl Line {
    /// Renews the lease until it is to stop, or there is nobody to renew it.
    fn renew(&self) {
        while !self.stop.load(Ordering::Relaxed) && self.loss().is_none() {
            // Why it is lost is asked for by whoever needs the guard.
            self.ask("renew").ok();
            std::thread::park_timeout(RENEW);
        }
    }

    fn tell(&self, line: &str) -> io::Result<()> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipe.0, "{line}").and_then(|()| pipe.0.flush())
    }

    /// The answer to a line. A guard that owes one is not asked again: it is lost.
    fn ask(&self, question: &str) -> Result<String, GuardError> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let (input, output) = &mut *pipe;
        if let Some(loss) = self.loss() {
            return Err(loss.into());
        }
        let gone = |error| self.loss().map_or(GuardError::Silent(error), GuardError::Lost);
        writeln!(input, "{question}").and_then(|()| input.flush()).map_err(gone)?;
        // Nothing is ever left in the buffer: each question has one answer, of one line.
        let mut silence = Silence::new(Mono::now());
        while !readable(output.get_ref(), LOOK) {
            if silence.look(Mono::now(), false) >= ANSWER {
                let loss = *self.loss.get_or_init(|| Loss::Mute);
                return Err(loss.into());
            }
        }
        let mut answer = String::new();
        if output.read_line(&mut answer).map_err(gone)? == 0 {
            // Its end of the pipe closes a moment before it can be seen to have ended.
            readable(&self.pidfd, ANSWER);
            return Err(gone(io::ErrorKind::UnexpectedEof.into()));
        }
        self.answered.store(Mono::now().0, Ordering::Relaxed);
        Ok(answer.trim_end().to_owned())
    }

    /// How long ago it last answered.
    fn silence(&self) -> Duration {
        Mono::now().since(Mono(self.answered.load(Ordering::Relaxed)))
    }

    fn loss(&self) -> Option<Loss> {
        if self.loss.get().is_none() && lives(&self.pidfd) {
            return None;
        }
        Some(*self.loss.get_or_init(|| {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
            // It ends by itself when it was freed, or when it has heard nothing for too long.
            match status {
                Ok(Some(status)) if status.exit_status().is_some() => Loss::Healed(self.silence()),
                Ok(Some(_) | None) | Err(_) => Loss::Died,
            }
        }))
    }
}

fn secs(span: &Duration) -> f64 {
    span.as_secs_f64()
}

/// In one line: JSON has no line breaks of its own.
fn told(revival: &Revival) -> String {
    serde_json::to_string(revival).unwrap_or_default()
}
