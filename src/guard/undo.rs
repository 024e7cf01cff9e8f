//! Undoing: what is held ends, what is owed is run, what is promised runs and is awake. Nothing
//! that fails keeps the rest from it.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgid, kill_process_group};

use super::identity::send;
use super::pipe::readable;
use super::{Revival, UserCommand};
use crate::error::chain;
use crate::time::{Mono, Span};

/// For how long the dead are waited for; SIGKILL takes milliseconds.
pub(super) const GONE: Duration = Duration::from_secs(5);
/// A broker that lives for so long after its killer is gone was not killed.
const DYING: Duration = Duration::from_secs(1);
/// How often one looks.
const LOOK: Duration = Duration::from_millis(5);

/// A process to be ended: its number, for people, and a hold on it.
pub(super) type Ward = (u32, OwnedFd);

/// What was undone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// The numbers of the processes that were killed.
    pub killed: Vec<u32>,
    /// The commands that were run.
    pub ran: Vec<UserCommand>,
    /// The brokers that were started again.
    pub started: Vec<Revival>,
    /// What was promised, and needs nothing: it runs, or whoever started it has removed it.
    pub kept: Vec<Revival>,
    /// What is still to be undone, in words.
    pub left: Vec<String>,
}

impl Undone {
    /// In one line; nothing where there was nothing to do.
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

/// Ends what is held, runs what is owed, and starts what is promised.
pub(super) fn undo(held: &[Ward], owed: &[UserCommand], promised: &[Revival]) -> Undone {
    let mut undone = Undone::default();
    let mut dying = Vec::new();
    // All at once, then all are waited for.
    for (pid, process) in held.iter().filter(|(_, process)| lives(process)) {
        end_group(*pid);
        match send(process, &[Signal::KILL, Signal::CONT]) {
            Ok(()) => dying.push((*pid, process)),
            Err(error) => undone.left.push(format!("process {pid} cannot be killed: {error}")),
        }
    }
    let began = Mono::now();
    for (pid, process) in dying {
        if readable(process, GONE.saturating_sub(Mono::now().since(began))) {
            undone.killed.push(pid);
        } else {
            undone.left.push(format!("process {pid} has not ended within {GONE:?}"));
        }
    }
    run(owed, &mut undone);
    revive(promised, &mut undone);
    undone
}

/// A process that leads a group takes it along: a command of the user's own starts others. It
/// lives, so the number is its own.
fn end_group(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|pid| getpgid(Some(*pid)) == Ok(*pid)) {
        // A process that this does not reach is killed by its pidfd, or is not ours.
        kill_process_group(pid, Signal::KILL).ok();
    }
}

/// Undoes first what was done last.
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
        // It may have been promised and not been struck yet, or be dying this very moment.
        let dying = broker.ends_within.map_or(DYING, Span::get);
        while broker.lives() && Mono::now().since(began) < dying {
            std::thread::sleep(LOOK);
        }
        // `deploy/kafka/down` removes the folders of what is not wanted any more.
        if !broker.folder.is_dir() {
            undone.kept.push(broker.clone());
            continue;
        }
        match broker.start() {
            Ok(None) => undone.kept.push(broker.clone()),
            // It outlives us, as `deploy/kafka/up` meant it to; `down` ends it.
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
