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

/// What the renewal shares with whoever asks.
pub(super) struct Line {
    pidfd: OwnedFd,
    pipe: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    /// When it last answered, as nanoseconds of [`Mono`].
    answered: AtomicU64,
    /// When whoever heals last showed that it runs, in the same way.
    pulse: AtomicU64,
    loss: OnceLock<Loss>,
    stop: AtomicBool,
}

/// Why there is no guard any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It heard nothing of its master, and ended the run in its stead.
    #[error("the run was healed by its guard: this process stood still for {:.1} s", secs(.0))]
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

impl Line {
    /// To the process behind `pidfd`, through its standard input and output.
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

    /// Renews no more.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the process has ended, waiting for that so long.
    pub(super) fn ends(&self, within: Duration) -> bool {
        readable(&self.pidfd, within)
    }

    /// Whoever heals runs.
    pub(super) fn pulse(&self) {
        self.pulse.store(Mono::now().0, Ordering::Relaxed);
    }

    fn is_fresh(&self) -> bool {
        Mono::now().since(Mono(self.pulse.load(Ordering::Relaxed))) < FRESH
    }

    /// Renews the lease until it is to stop, or there is nobody to renew it; not while the pulse is
    /// stale, for then nobody would heal.
    pub(super) fn renew(&self) {
        while !self.stop.load(Ordering::Relaxed) && self.loss().is_none() {
            if self.is_fresh() {
                // Why it is lost is asked for by whoever needs the guard.
                self.ask("renew").ok();
            }
            std::thread::park_timeout(RENEW);
        }
    }

    pub(super) fn tell(&self, line: &str) -> io::Result<()> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipe.0, "{line}").and_then(|()| pipe.0.flush())
    }

    /// The answer to a line. A guard that owes one is not asked again: it is lost.
    pub(super) fn ask(&self, question: &str) -> Result<String, GuardError> {
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

    /// When it last answered.
    pub(super) fn answered(&self) -> Mono {
        Mono(self.answered.load(Ordering::Relaxed))
    }

    /// How long ago that is.
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
