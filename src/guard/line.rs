//! The controller's end of the pipes to its guard: questions, answers, and silence.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::lease::{FRESH, LOOK, RENEW, Silence};
use super::pipe::readable;
use super::runs;
use super::undo::lives;
use crate::time::Mono;

/// How long an answer may take: the guard does nothing else.
const ANSWER: Duration = Duration::from_secs(5);

/// The connection to the guard, shared by the renewal thread and all callers.
pub(super) struct Line {
    pidfd: OwnedFd,
    pipe: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    /// When the guard last answered, as nanoseconds of [`Mono`].
    answered: AtomicU64,
    /// When the healing task last gave a pulse, as nanoseconds of [`Mono`].
    pulse: AtomicU64,
    loss: OnceLock<Loss>,
    stop: AtomicBool,
}

/// Why the guard is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The controller was silent, so the guard ended the run in its place.
    #[error("the guard ended this run, because this process did not run for {:.1} s", secs(.0))]
    Healed(Duration),
    /// The guard was killed.
    #[error("the guard died, and nothing may run without it")]
    Died,
    /// The guard runs but does not answer, so it could not undo anything either.
    #[error("the guard did not answer for {ANSWER:?}, and nothing may run without it")]
    Mute,
}

/// The guard cannot be used, so nothing may be started.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Its process cannot be started.
    #[error("the guard cannot be started")]
    Start(#[source] io::Error),
    /// It cannot write its ledger.
    #[error("the ledger of this run cannot be written to {}: {why}", runs().display())]
    Ledger {
        /// The guard's error.
        why: String,
    },
    /// It is lost.
    #[error(transparent)]
    Lost(#[from] Loss),
    /// It does not answer, or its answer makes no sense.
    #[error("the guard does not answer")]
    Silent(#[source] io::Error),
}

impl Line {
    /// A connection to the process of `pidfd`, through its standard input and output.
    pub(super) fn new(pidfd: OwnedFd, input: ChildStdin, output: ChildStdout) -> Self {
        Self {
            pidfd,
            pipe: Mutex::new((input, BufReader::new(output))),
            answered: AtomicU64::new(Mono::now().0),
            pulse: AtomicU64::new(Mono::now().0),
            loss: OnceLock::new(),
            stop: AtomicBool::new(false),
        }
    }

    /// Ends the renewal.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits `within` the time for the guard to end. Returns whether it has.
    pub(super) fn ends(&self, within: Duration) -> bool {
        readable(&self.pidfd, within)
    }

    /// Records a pulse of the healing task.
    pub(super) fn pulse(&self) {
        self.pulse.store(Mono::now().0, Ordering::Relaxed);
    }

    fn is_fresh(&self) -> bool {
        Mono::now().since(Mono(self.pulse.load(Ordering::Relaxed))) < FRESH
    }

    /// Renews the lease until [`stop`](Self::stop), or until the guard is lost. Pauses while the
    /// pulse is stale, because then nothing would be healed.
    pub(super) fn renew(&self) {
        while !self.stop.load(Ordering::Relaxed) && self.loss().is_none() {
            let fresh = self.is_fresh();
            if fresh {
                // The next caller gets the error.
                self.ask("renew").ok();
            }
            // After a moment in which the process did not run, the pulse is stale until the healing
            // task beats.
            std::thread::park_timeout(if fresh { RENEW } else { LOOK });
        }
    }

    /// Sends a line that has no answer.
    pub(super) fn send(&self, line: &str) -> io::Result<()> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipe.0, "{line}").and_then(|()| pipe.0.flush())
    }

    /// Sends a line, and returns the answer. A guard that does not answer in time is lost, and gets
    /// no further lines.
    pub(super) fn ask(&self, question: &str) -> Result<String, GuardError> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let (input, output) = &mut *pipe;
        if let Some(loss) = self.loss() {
            return Err(loss.into());
        }
        let gone = |error| self.loss().map_or(GuardError::Silent(error), GuardError::Lost);
        writeln!(input, "{question}").and_then(|()| input.flush()).map_err(gone)?;
        // The buffer is empty here: each question has one answer, of one line.
        let mut silence = Silence::new(Mono::now());
        while !readable(output.get_ref(), LOOK) {
            if silence.look(Mono::now(), false) >= ANSWER {
                let loss = *self.loss.get_or_init(|| Loss::Mute);
                return Err(loss.into());
            }
        }
        let mut answer = String::new();
        if output.read_line(&mut answer).map_err(gone)? == 0 {
            // The pipe closes a moment before the pidfd reports the end.
            readable(&self.pidfd, ANSWER);
            return Err(gone(io::ErrorKind::UnexpectedEof.into()));
        }
        self.answered.store(Mono::now().0, Ordering::Relaxed);
        Ok(answer.trim_end().to_owned())
    }

    /// When the guard last answered.
    pub(super) fn answered(&self) -> Mono {
        Mono(self.answered.load(Ordering::Relaxed))
    }

    /// How long ago the guard last answered.
    pub(super) fn silence(&self) -> Duration {
        Mono::now().since(self.answered())
    }

    pub(super) fn loss(&self) -> Option<Loss> {
        if self.loss.get().is_none() && lives(&self.pidfd) {
            return None;
        }
        Some(*self.loss.get_or_init(|| {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
            // A guard exits by itself when it is freed, or when the controller is silent too long.
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
