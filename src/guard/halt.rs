//! Ends a run from outside: asks its controller to end, waits, and then undoes what is left, as the
//! guard would.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use super::identity::send;
use super::ledger::page;
use super::pipe::readable;
use super::undo::UNDOING;
use super::{Identity, Run, RunLocation, Suite, heal};
use crate::host::DEATH;

/// How long a controller has to heal, and to stop what it started.
const GRACE: Duration = Duration::from_secs(20);
/// How long a suite has. Its current run has to end first.
const GRACE_OF_SUITE: Duration = Duration::from_secs(25);

/// Ends `run`, whose ledger is at `path`. Calls `done` with one line for each step.
///
/// # Errors
/// One line for each thing that is still to be undone.
pub fn halt(path: &Path, run: &Run, mut done: impl FnMut(String)) -> Result<(), Vec<String>> {
    let mut left = match run.location() {
        RunLocation::Here => end_both(path, run, &mut done),
        // The host was rebooted, so the pids now belong to other processes.
        RunLocation::Gone => Vec::new(),
        RunLocation::Elsewhere => {
            let host = &run.pid_scope.host;
            done(format!("it runs on {host}, or in another container: run `tandem halt` there"));
            return Ok(());
        }
    };
    match heal(path) {
        Ok(Some(undone)) => {
            undone.killed.iter().for_each(|pid| done(format!("process {pid} was killed")));
            for command in &undone.ran {
                done(format!("`{command}` was run"));
            }
            for broker in &undone.started {
                done(format!("the broker in {} was started", broker.folder.display()));
            }
            left.extend(undone.left);
        }
        Ok(None) if path.exists() => {
            left.push(format!("another process is undoing {}", path.display()));
        }
        Ok(None) => {}
        Err(error) => left.push(format!("{}: {error}", path.display())),
    }
    if left.is_empty() { Ok(()) } else { Err(left) }
}

/// Ends a suite as Ctrl-C does: it heals and ends its current run, and starts no other. Calls
/// `done` with one line for each step.
///
/// # Errors
/// The suite could not be ended.
pub fn halt_suite(suite: &Suite, mut done: impl FnMut(String)) -> Result<(), String> {
    let pid = suite.process.pid;
    match end(suite.process, &[Signal::INT, Signal::CONT], GRACE_OF_SUITE) {
        Ok(Ended::Already) => {}
        Ok(Ended::Asked) => done(format!("suite {pid} ended when asked")),
        Ok(Ended::Killed) => done(format!(
            "suite {pid} did not end within {GRACE_OF_SUITE:?} after it was asked, and was killed"
        )),
        Err(error) => return Err(format!("suite {pid}: {error}")),
    }
    Ok(())
}

/// Continues the controller of `run` if it is stopped, so that it can react to a request to end.
pub fn wake(run: &Run) {
    if run.location() == RunLocation::Here {
        // If this fails, the controller is killed later.
        run.controller.signal(&[Signal::CONT]).ok();
    }
}

/// Ends the controller, then its guard. Returns one line for each that could not be ended.
fn end_both(path: &Path, run: &Run, done: &mut impl FnMut(String)) -> Vec<String> {
    let mut left = Vec::new();
    let (controller, name) = (run.controller, run.purpose.controller());
    match end(controller, &[Signal::INT, Signal::CONT], GRACE) {
        Ok(Ended::Already) => {}
        Ok(Ended::Asked) => {
            done(format!("{name} {} ended when asked", controller.pid));
        }
        Ok(Ended::Killed) => done(format!(
            "{name} {} did not end within {GRACE:?} after it was asked, and was killed",
            controller.pid
        )),
        Err(error) => left.push(format!("{name} {}: {error}", controller.pid)),
    }
    // The controller may have replaced a guard that died.
    if let Some(guard) = page(path).map_or(run.guard, |page| page.run.guard) {
        // The guard notices that by itself, unless it is stopped. It also runs the commands that
        // the controller still owes, so it needs their time as well.
        let owed = page(path).map(|page| page.patience()).unwrap_or_default();
        match end(guard, &[Signal::CONT], UNDOING + owed) {
            Ok(Ended::Already) => {}
            Ok(Ended::Asked) => done(format!("guard {} undid what it held", guard.pid)),
            Ok(Ended::Killed) => done(format!("guard {} did not react, and was killed", guard.pid)),
            Err(error) => left.push(format!("guard {}: {error}", guard.pid)),
        }
    }
    left
}

/// How a process ended.
enum Ended {
    /// It had ended before.
    Already,
    /// It ended when asked.
    Asked,
    /// It was killed.
    Killed,
}

/// Asks a process to end by `signals`, and kills it if it does not end `within` the time.
fn end(process: Identity, signals: &[Signal], within: Duration) -> io::Result<Ended> {
    let Some(pidfd) = process.open()? else { return Ok(Ended::Already) };
    send(&pidfd, signals)?;
    if readable(&pidfd, within) {
        return Ok(Ended::Asked);
    }
    send(&pidfd, &[Signal::KILL, Signal::CONT])?;
    if readable(&pidfd, DEATH) {
        return Ok(Ended::Killed);
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("it has not ended {DEATH:?} after SIGKILL"),
    ))
}
