//! The controller's handle to its guard.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{Builder, JoinHandle};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::lease::LEASE;
use super::line::{GuardError, Line, Loss};
use super::undo::UNDOING;
use super::{Children, Revival, Run, UserCommand, heal, page, parent, runs};
use crate::host::tandem;
use crate::time::Mono;

/// A running guard. Dropping it closes the pipe, and the guard undoes what it holds.
pub struct Guard {
    program: OsString,
    run: Run,
    post: RwLock<Post>,
    mark: String,
    children: Arc<Children>,
}

/// The process of a guard.
struct Post {
    child: Child,
    line: Arc<Line>,
    renewal: Option<JoinHandle<()>>,
}

/// Proof that the guard holds a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held(());

/// Something is still to be undone. The ledger lists it, and `tandem halt` tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not healed: {}; `tandem halt` tries again", .0.join("; "))]
pub struct Unhealed(pub Vec<String>);

impl Guard {
    /// Starts the guard of `run` from `program`, the `tandem` binary. From then on this process
    /// must keep running and call [`pulse`](Self::pulse): the guard ends the run if the process is
    /// stopped for three seconds, or gives no pulse for five.
    ///
    /// # Errors
    /// The guard cannot be started, or cannot write its ledger.
    pub fn start(program: impl AsRef<OsStr>, run: &Run) -> Result<Self, GuardError> {
        let program = program.as_ref().to_owned();
        let post = Post::take(&program, run)?;
        let children = Arc::new(Children::default());
        children.add(post.child.id());
        let (run, mark) = (run.clone(), run.mark());
        Ok(Self { program, run, post: RwLock::new(post), mark, children })
    }

    /// Starts another guard in the place of one that is lost, which is killed if it still runs.
    /// From its first answer on it holds what the ledger lists, so that this process may die
    /// meanwhile; and then all processes of the run. Promises and owed commands are those of
    /// faults, and are not carried over.
    ///
    /// # Errors
    /// It cannot be started. Then the run is without a guard.
    pub fn replace_lost(&self) -> Result<(), GuardError> {
        let mut post = self.post.write().unwrap_or_else(PoisonError::into_inner);
        post.retire();
        post.child.kill().ok();
        post.child.wait().ok();
        self.children.remove(post.child.id());
        let next = Post::take(&self.program, &self.run)?;
        for pid in self.children.all() {
            // Only a child of this process: another may have the pid of one that has ended.
            if parent(pid) == Some(std::process::id()) {
                ask(&next.line, &format!("hold {pid}"), &format!("held {pid}"))?;
            }
        }
        self.children.add(next.child.id());
        *post = next;
        Ok(())
    }

    fn post(&self) -> RwLockReadGuard<'_, Post> {
        self.post.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> Arc<Line> {
        Arc::clone(&self.post().line)
    }

    /// The processes of the run, including the guard.
    #[must_use]
    pub fn children(&self) -> &Arc<Children> {
        &self.children
    }

    /// The `tandem` binary.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The guard's process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.post().child.id()
    }

    /// The value of the variable [`MARK`](super::MARK) in the environment of the run's processes.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// The run's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.run.folder
    }

    /// Whether the guard runs and answers.
    #[must_use]
    pub fn lives(&self) -> bool {
        self.loss().is_none()
    }

    /// Shows that the task that heals faults makes progress. A thread renews the lease with the
    /// guard, but only while the last pulse is recent, because the thread may outlive the task.
    pub fn pulse(&self) {
        self.post().line.pulse();
    }

    /// Why the guard is lost, if it is.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        self.post().line.loss()
    }

    /// Whether the guard got no renewal for so long that it may be undoing the run right now. Soon
    /// after, it either answers or is lost.
    #[must_use]
    pub fn doubts(&self) -> bool {
        let line = self.line();
        line.loss().is_none() && line.silence() >= LEASE
    }

    /// If the guard has ended the run in place of this process: its last answer, since when this
    /// process did not run.
    #[must_use]
    pub fn left_alone(&self) -> Option<Mono> {
        matches!(self.loss(), Some(Loss::Healed(_))).then(|| self.line().answered())
    }

    /// Makes the guard hold a child of this process. The child must not have been reaped, so that
    /// its pid cannot have been reused.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn hold(&self, pid: u32) -> Result<Held, GuardError> {
        // The guard is not replaced before the child is among those that the next one must hold.
        let post = self.post();
        let held = ask(&post.line, &format!("hold {pid}"), &format!("held {pid}"))?;
        self.children.add(pid);
        Ok(held)
    }

    /// Makes the guard start a broker again if this process ends before it has done so.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn promise(&self, revival: &Revival) -> Result<Held, GuardError> {
        self.ask(&format!("promise {}", json(revival)), "promised")
    }

    /// Cancels a promise: the broker runs again. Does nothing if the guard is gone.
    pub fn kept(&self, revival: &Revival) {
        self.ask(&format!("kept {}", json(revival)), "forgotten").ok();
    }

    /// Makes the guard run a command if this process ends before it has done so.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn owe(&self, command: &UserCommand) -> Result<Held, GuardError> {
        self.ask(&format!("owe {}", json(command)), "owed")
    }

    /// Cancels an owed command: it has run. Does nothing if the guard is gone.
    pub fn paid(&self, command: &UserCommand) {
        self.ask(&format!("paid {}", json(command)), "forgotten").ok();
    }

    fn ask(&self, question: &str, expected: &str) -> Result<Held, GuardError> {
        ask(&self.line(), question, expected)
    }

    /// Ends the guard after the run has undone everything itself. If the guard is already gone, or
    /// left something, this process undoes the rest.
    ///
    /// # Errors
    /// Something could not be undone.
    pub fn free(self) -> Result<(), Unhealed> {
        let ledger = self.run.file(&runs());
        let mut post = self.post.write().unwrap_or_else(PoisonError::into_inner);
        post.retire();
        let asked = post.line.ask("renew").is_ok();
        let owed = page(&ledger).map(|page| page.patience()).unwrap_or_default();
        let freed = asked && post.line.send("free").is_ok();
        let ended = freed && post.line.ends(UNDOING + owed);
        post.undo_the_rest(ended, &ledger)
    }
}

impl Post {
    /// Starts a guard's process, which creates the ledger of `run`.
    fn take(program: &OsStr, run: &Run) -> Result<Self, GuardError> {
        let mut child = tandem(program)
            .arg("guard")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Outside the terminal's foreground group, or Ctrl-C would reach it, too.
            .process_group(0)
            .spawn()
            .map_err(GuardError::Start)?;
        let broken = || GuardError::Start(io::ErrorKind::BrokenPipe.into());
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or_else(broken)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(broken)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())
            .map_err(|error| GuardError::Start(error.into()))?;
        let line = Arc::new(Line::new(pidfd, input, output));
        let answer = line.ask(&format!("run {}", json(run)))?;
        if answer != "ready" {
            let why = answer.strip_prefix("refused: ").unwrap_or(&answer).to_owned();
            return Err(GuardError::Ledger { why });
        }
        let renewing = Arc::clone(&line);
        let renewal = Builder::new()
            .name("lease".to_owned())
            .spawn(move || renewing.renew())
            .map_err(GuardError::Start)?;
        Ok(Self { child, line, renewal: Some(renewal) })
    }

    /// Undoes what the guard did not undo. `ended` says whether the guard ended by itself.
    fn undo_the_rest(&mut self, ended: bool, ledger: &Path) -> Result<(), Unhealed> {
        if !ended {
            self.child.kill().ok();
        }
        self.child.wait().ok();
        match heal(ledger) {
            Ok(None) => Ok(()),
            Ok(Some(undone)) if undone.left.is_empty() => Ok(()),
            Ok(Some(undone)) => Err(Unhealed(undone.left)),
            Err(error) => Err(Unhealed(vec![format!("{}: {error}", ledger.display())])),
        }
    }

    /// Stops the thread that renews the lease.
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
        let ledger = self.run.file(&runs());
        let post = self.post.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The renewal thread holds the pipe, too, and would keep it open.
        post.retire();
        if post.line.loss().is_some()
            && let Err(error) = post.undo_the_rest(false, &ledger)
        {
            tracing::error!("{error}.");
        }
    }
}

fn ask(line: &Line, question: &str, expected: &str) -> Result<Held, GuardError> {
    let answer = line.ask(question)?;
    if answer == expected {
        return Ok(Held(()));
    }
    let odd = io::Error::new(io::ErrorKind::InvalidData, format!("it answered {answer:?}"));
    Err(GuardError::Silent(odd))
}

/// As JSON in one line.
fn json(what: &impl serde::Serialize) -> String {
    serde_json::to_string(what).unwrap_or_default()
}
