//! Undoes a run: kills held processes, runs owed commands, and wakes or starts promised brokers. A
//! failure does not stop the rest.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Signal, getpgid, kill_process_group};

use super::family::signal_families;
use super::identity::{raw_pid, send};
use super::pipe::readable;
use super::{Revival, UserCommand};
use crate::error::chain;
use crate::host::DEATH;
use crate::time::{Mono, Span};

/// How long a guard has to undo what its controller could not.
pub(super) const UNDOING: Duration = DEATH.saturating_add(Duration::from_secs(10));
/// A broker that still runs this long after its controller is gone was not killed.
const DYING: Duration = Duration::from_secs(1);
/// The polling interval.
const LOOK: Duration = Duration::from_millis(5);

/// A process to end: its pid, for messages, and its pidfd.
pub(super) type HeldProcess = (u32, OwnedFd);

/// What was undone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// The pids of the killed processes.
    pub killed: Vec<u32>,
    /// The commands that were run.
    pub ran: Vec<UserCommand>,
    /// The brokers that were started again.
    pub started: Vec<Revival>,
    /// The promised brokers that needed nothing: they run, or `deploy/kafka/down` removed them.
    pub kept: Vec<Revival>,
    /// What is still to be undone, a line each.
    pub left: Vec<String>,
}

impl Undone {
    /// One line, or `None` if there was nothing to do.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        let killed = match self.killed.len() {
            0 => None,
            1 => Some("killed 1 process".to_owned()),
            more => Some(format!("killed {more} processes")),
        };
        let started = match self.started.len() {
            0 => None,
            1 => Some("started 1 broker".to_owned()),
            more => Some(format!("started {more} brokers")),
        };
        let ran = match self.ran.len() {
            0 => None,
            1 => Some("ran 1 command".to_owned()),
            more => Some(format!("ran {more} commands")),
        };
        let parts: Vec<_> = killed.into_iter().chain(ran).chain(started).collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}

/// Kills what is held, runs what is owed, and wakes or starts what is promised.
pub(super) fn undo(held: &[HeldProcess], owed: &[UserCommand], promised: &[Revival]) -> Undone {
    let mut undone = Undone::default();
    let mut dying = Vec::new();
    // A member's programs may be stopped with it: their keepers must run to see it end.
    let pids: Vec<u32> = held.iter().map(|(pid, _)| *pid).collect();
    if let Err(error) = signal_families(&pids, Signal::CONT) {
        tracing::warn!(%error, "Not all programs of members can be found.");
    }
    // Kill all first, then wait for all.
    for (pid, process) in held.iter().filter(|(_, process)| lives(process)) {
        end_group(*pid);
        match send(process, &[Signal::KILL, Signal::CONT]) {
            Ok(()) => dying.push((*pid, process)),
            Err(error) => undone.left.push(format!("process {pid} cannot be killed: {error}")),
        }
    }
    let began = Mono::now();
    for (pid, process) in dying {
        if readable(process, DEATH.saturating_sub(Mono::now().since(began))) {
            undone.killed.push(pid);
        } else {
            undone.left.push(format!("process {pid} has not ended within {DEATH:?}"));
        }
    }
    run(owed, &mut undone);
    revive(promised, &mut undone);
    undone
}

/// Kills the process group that `pid` leads, if it leads one: a command of the user may have
/// started other processes. The process still runs, so its pid cannot have been reused.
fn end_group(pid: u32) {
    if let Some(pid) = raw_pid(pid).filter(|pid| getpgid(Some(*pid)) == Ok(*pid)) {
        // If this fails, the caller still kills the process itself by its pidfd.
        kill_process_group(pid, Signal::KILL).ok();
    }
}

/// Runs the owed commands, the last one first.
fn run(owed: &[UserCommand], undone: &mut Undone) {
    for command in owed.iter().rev() {
        match command.run() {
            Ok(()) => undone.ran.push(command.clone()),
            Err(error) => undone.left.push(chain(&error)),
        }
    }
}

fn revive(promised: &[Revival], undone: &mut Undone) {
    for broker in promised {
        if let Err(error) = broker.wake() {
            let folder = broker.folder.display();
            undone.left.push(format!("the broker in {folder} cannot be woken: {error}"));
        }
    }
    let began = Mono::now();
    for broker in promised {
        // The fault may not have reached it yet, or it may be ending right now.
        let dying = broker.ends_within.map_or(DYING, Span::get);
        while broker.lives() && Mono::now().since(began) < dying {
            std::thread::sleep(LOOK);
        }
        // `deploy/kafka/down` removes the folders of its brokers.
        if !broker.folder.is_dir() {
            undone.kept.push(broker.clone());
            continue;
        }
        match broker.start() {
            Ok(None) => undone.kept.push(broker.clone()),
            // It outlives this process, until `deploy/kafka/down` ends it.
            Ok(Some(_)) => undone.started.push(broker.clone()),
            Err(error) => {
                let folder = broker.folder.display();
                undone.left.push(format!("the broker in {folder} cannot be started: {error}"));
            }
        }
    }
}

/// Whether the process has not ended: a pidfd becomes readable when it does.
pub(super) fn lives(process: &OwnedFd) -> bool {
    !readable(process, Duration::ZERO)
}
