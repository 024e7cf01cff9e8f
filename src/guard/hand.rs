//! The controller's hand on its guard.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::lease::LEASE;
use super::line::{GuardError, Line, Loss};
use super::{Children, Revival, Run, UserCommand, heal, page, runs};
use crate::time::Mono;

/// How long it may take to undo what its master could not.
const UNDOING: Duration = Duration::from_secs(10);

/// A running guard. Dropping it closes the pipe, and the guard undoes what it holds.
pub struct Guard {
    child: Child,
    line: Arc<Line>,
    renewal: Option<JoinHandle<()>>,
    ledger: PathBuf,
    folder: PathBuf,
    mark: String,
    children: Arc<Children>,
}

/// Proof that the guard holds a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held(());

/// Something is still to be undone; it stands in the ledger, and `tandem halt` tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not healed: {}; `tandem halt` tries again", .0.join("; "))]
pub struct Unhealed(pub Vec<String>);

impl Guard {
    /// Starts the guard of `run` from `program`, which is `tandem` itself. From then on this
    /// process must run, and [`pulse`](Self::pulse): once it was stopped for three seconds, or gave
    /// no pulse for five, its guard ends the run.
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
        let broken = || GuardError::Start(io::ErrorKind::BrokenPipe.into());
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or_else(broken)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(broken)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())
            .map_err(|error| GuardError::Start(error.into()))?;
        let line = Arc::new(Line::new(pidfd, input, output));
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
        let (ledger, folder, mark) = (run.file(&runs()), run.folder.clone(), run.mark());
        let children = Arc::new(Children::default());
        children.add(child.id());
        Ok(Self { child, line, renewal: Some(renewal), ledger, folder, mark, children })
    }

    /// The processes of the run, itself among them.
    #[must_use]
    pub fn children(&self) -> &Arc<Children> {
        &self.children
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the processes of its run bear as [`MARK`](super::MARK) in their environment.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// The run's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is still there, and does its work.
    #[must_use]
    pub fn lives(&self) -> bool {
        self.loss().is_none()
    }

    /// Shows that whoever heals runs. A thread renews the lease, and only while this is fresh: that
    /// the thread lives says nothing of the loop beside it.
    pub fn pulse(&self) {
        self.line.pulse();
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

    /// From when on it has ended in our stead what we had started, if it has: since it last
    /// answered, this process stood still.
    #[must_use]
    pub fn left_alone(&self) -> Option<Mono> {
        matches!(self.loss(), Some(Loss::Healed(_))).then(|| self.line.answered())
    }

    /// Has it hold a child of ours that was not yet waited for, so that the number is surely its.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn hold(&self, pid: u32) -> Result<Held, GuardError> {
        let held = self.ask(&format!("hold {pid}"), &format!("held {pid}"))?;
        self.children.add(pid);
        Ok(held)
    }

    /// Has it start a broker again when we are gone before we did.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn promise(&self, revival: &Revival) -> Result<Held, GuardError> {
        self.ask(&format!("promise {}", json(revival)), "promised")
    }

    /// The broker runs again. A guard that is gone has nothing to forget.
    pub fn kept(&self, revival: &Revival) {
        self.ask(&format!("kept {}", json(revival)), "forgotten").ok();
    }

    /// Has it run a command when we are gone before we did.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn owe(&self, command: &UserCommand) -> Result<Held, GuardError> {
        self.ask(&format!("owe {}", json(command)), "owed")
    }

    /// The command was run. A guard that is gone has nothing to forget.
    pub fn paid(&self, command: &UserCommand) {
        self.ask(&format!("paid {}", json(command)), "forgotten").ok();
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
        let asked = self.line.ask("renew").is_ok();
        let owed = page(&self.ledger).map(|page| page.patience()).unwrap_or_default();
        let freed = asked && self.line.tell("free").is_ok();
        self.replace(freed && self.line.ends(UNDOING + owed))
    }

    /// Does what the guard did not: where it `ended` in peace, that is nothing.
    fn replace(&mut self, ended: bool) -> Result<(), Unhealed> {
        if !ended {
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
        self.line.stop();
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
        if self.loss().is_some()
            && let Err(error) = self.replace(false)
        {
            tracing::error!("{error}.");
        }
    }
}

/// In one line: JSON has no line breaks of its own.
fn json(what: &impl serde::Serialize) -> String {
    serde_json::to_string(what).unwrap_or_default()
}
