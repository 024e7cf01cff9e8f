//! Ends a run from outside: asks its controller, waits, then does what its guard would do.

use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use super::identity::send;
use super::ledger::page;
use super::pipe::readable;
use super::{Identity, Run, Suite, Whereabouts, heal};

/// How long a controller may take to heal, and to end what it started.
const PEACE: Duration = Duration::from_secs(20);
/// How long a suite may: its run takes its own time first.
const PEACE_OF_SUITE: Duration = Duration::from_secs(25);
/// How long a guard may take once its master is gone.
const UNDOING: Duration = Duration::from_secs(10);
/// The kernel ends a process within milliseconds, on a busy host too.
const DEATH: Duration = Duration::from_secs(5);

/// Ends `run`, whose ledger is at `path`; one line for each thing that was `done`.
///
/// # Errors
/// What is left, a line each.
pub fn halt(path: &Path, run: &Run, mut done: impl FnMut(String)) -> Result<(), Vec<String>> {
    let mut left = match run.whereabouts() {
        Whereabouts::Here => end_both(path, run, &mut done),
        // Numbers of processes mean others by now.
        Whereabouts::Gone => Vec::new(),
        Whereabouts::Elsewhere => {
            let host = &run.place.host;
            done(format!("it is on {host}, or in another container: to be halted there"));
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
            left.push(format!("somebody else is at work on {}", path.display()));
        }
        Ok(None) => {}
        Err(error) => left.push(format!("{}: {error}", path.display())),
    }
    if left.is_empty() { Ok(()) } else { Err(left) }
}

/// Ends a suite as by Ctrl-C: it ends its run, healed, and starts no other; one line for what was
/// `done`.
///
/// # Errors
/// It goes on.
pub fn halt_suite(suite: &Suite, mut done: impl FnMut(String)) -> Result<(), String> {
    let pid = suite.process.pid;
    match end(suite.process, &[Signal::INT, Signal::CONT], PEACE_OF_SUITE) {
        Ok(Ended::Already) => {}
        Ok(Ended::Asked) => done(format!("suite {pid} was asked to end, and did")),
        Ok(Ended::Killed) => done(format!(
            "suite {pid} was asked to end, did not within {PEACE_OF_SUITE:?}, and was killed"
        )),
        Err(error) => return Err(format!("suite {pid}: {error}")),
    }
    Ok(())
}

/// Has the controller of `run` go on, where it is stopped: then it hears what it is asked.
pub fn wake(run: &Run) {
    if run.whereabouts() == Whereabouts::Here {
        // One that cannot be woken is killed later.
        run.controller.signal(&[Signal::CONT]).ok();
    }
}

/// Ends the controller, then its guard; who could not be ended.
fn end_both(path: &Path, run: &Run, done: &mut impl FnMut(String)) -> Vec<String> {
    let mut left = Vec::new();
    let controller = run.controller;
    match end(controller, &[Signal::INT, Signal::CONT], PEACE) {
        Ok(Ended::Already) => {}
        Ok(Ended::Asked) => {
            done(format!("controller {} was asked to end, and did", controller.pid));
        }
        Ok(Ended::Killed) => done(format!(
            "controller {} was asked to end, did not within {PEACE:?}, and was killed",
            controller.pid
        )),
        Err(error) => left.push(format!("controller {}: {error}", controller.pid)),
    }
    if let Some(guard) = run.guard {
        // It has heard of that, unless it is stopped itself.
        // What the controller owes is for its guard to run.
        let owed = page(path).map(|page| page.patience()).unwrap_or_default();
        match end(guard, &[Signal::CONT], UNDOING + owed) {
            Ok(Ended::Already) => {}
            Ok(Ended::Asked) => done(format!("guard {} undid what it held, and ended", guard.pid)),
            Ok(Ended::Killed) => done(format!("guard {} did nothing, and was killed", guard.pid)),
            Err(error) => left.push(format!("guard {}: {error}", guard.pid)),
        }
    }
    left
}

/// How a process came to its end.
enum Ended {
    /// It had ended before.
    Already,
    /// It did as it was asked.
    Asked,
    /// It had to be killed.
    Killed,
}

/// Asks a process to end by `signals`, and kills it where it does not.
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
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("not dead within {DEATH:?}")))
}
