//! What a guard holds for one run: written to the ledger first, then held, and undone at the end.

use std::io;
use std::path::Path;

use super::lease::LEASE;
use super::ledger::{Entry, Ledger, page};
use super::strays::strays;
use super::undo::{self, HeldProcess, Undone, lives};
use super::{Identity, Revival, Run, UserCommand};

/// The limit on held processes, more than any plan has. Beyond it, `hold` is refused.
const HELD_MAX: usize = 10_000;

/// Why a guard ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The controller freed it.
    Freed,
    /// The controller closed the pipe: it has ended.
    Closed,
    /// The controller is silent for too long.
    Silent,
}

/// What the guard of one run must undo.
#[derive(Default)]
pub(super) struct Holdings {
    run: Option<(Run, Ledger)>,
    held: Vec<HeldProcess>,
    promised: Vec<Revival>,
    owed: Vec<UserCommand>,
}

impl Holdings {
    /// Carries out one line of the controller, and returns the answer.
    pub(super) fn answer(&mut self, line: &str, runs: &Path) -> String {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = match word {
            "renew" => Ok("renewed".to_owned()),
            "run" => self.begin(rest, runs),
            "hold" => self.hold(rest),
            "promise" => self.promise(rest),
            "kept" => self.kept(rest),
            "owe" => self.owe(rest),
            "paid" => self.paid(rest),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "unknown command")),
        };
        done.unwrap_or_else(|error| {
            tracing::warn!(line, %error, "The guard refused a command.");
            format!("refused: {error}")
        })
    }

    /// Creates the ledger, and holds what a guard that died has held for the same run. The promises
    /// and owed commands of that guard are those of faults, and are not carried over.
    fn begin(&mut self, json: &str, runs: &Path) -> io::Result<String> {
        let run = Run { guard: Some(Identity::own()), ..serde_json::from_str(json)? };
        let before =
            page(&run.file(runs)).ok().filter(|page| page.run.controller == run.controller);
        let mut held = Vec::new();
        for process in before.map(|page| page.held).unwrap_or_default() {
            if let Some(pidfd) = process.open()? {
                self.held.push((process.pid, pidfd));
                held.push(process);
            }
        }
        let ledger = Ledger::create(runs, &run, &held)?;
        self.run = Some((run, ledger));
        Ok("ready".to_owned())
    }

    fn hold(&mut self, written: &str) -> io::Result<String> {
        self.held.retain(|(_, process)| lives(process));
        if self.held.len() >= HELD_MAX {
            return Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "too many processes are held",
            ));
        }
        let pid = written.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        // A process that has already ended need not be held, nor one twice.
        if !self.held.iter().any(|(held, _)| *held == pid)
            && let Some(process) = Identity::find(pid)?
            && let Some(pidfd) = process.open()?
        {
            self.note(&Entry::Held(process))?;
            self.held.push((pid, pidfd));
        }
        Ok(format!("held {pid}"))
    }

    fn promise(&mut self, written: &str) -> io::Result<String> {
        let broker: Revival = serde_json::from_str(written)?;
        self.note(&Entry::Promised(broker.clone()))?;
        self.promised.push(broker);
        Ok("promised".to_owned())
    }

    fn kept(&mut self, written: &str) -> io::Result<String> {
        let broker: Revival = serde_json::from_str(written)?;
        self.promised.retain(|other| *other != broker);
        self.note(&Entry::Kept(broker))?;
        Ok("forgotten".to_owned())
    }

    fn owe(&mut self, written: &str) -> io::Result<String> {
        let command: UserCommand = serde_json::from_str(written)?;
        self.note(&Entry::Owed(command.clone()))?;
        self.owed.push(command);
        Ok("owed".to_owned())
    }

    fn paid(&mut self, written: &str) -> io::Result<String> {
        let command: UserCommand = serde_json::from_str(written)?;
        self.owed.retain(|other| *other != command);
        self.note(&Entry::Paid(command))?;
        Ok("forgotten".to_owned())
    }

    fn note(&mut self, entry: &Entry) -> io::Result<()> {
        let nowhere = || io::Error::new(io::ErrorKind::NotFound, "no run was begun");
        let (_, ledger) = self.run.as_mut().ok_or_else(nowhere)?;
        ledger.note(entry)
    }

    /// Undoes everything, and removes the ledger if nothing is left.
    pub(super) fn undo(mut self, end: End) -> Undone {
        let Some((run, ledger)) = self.run.take() else { return Undone::default() };
        let mut unread = None;
        if end == End::Silent {
            let (strays, why) = strays(run.controller, &run.mark());
            self.held.extend(strays);
            unread = why;
        }
        let mut undone = undo::undo(&self.held, &self.owed, &self.promised);
        let unread =
            unread.map(|error| format!("not all processes of the run can be found: {error}"));
        undone.left.extend(unread);
        // A controller that is only stopped still has to be ended, and its ledger names it.
        let stays = end == End::Silent && run.controller.lives();
        if let Err(error) = ledger.close(&undone, stays) {
            tracing::warn!(%error, "The ledger of the run could not be closed.");
        }
        // Last, because this write may block: the reader of the log may be stopped as well.
        if end == End::Silent {
            let pid = run.controller.pid;
            tracing::warn!(pid, "The guard ended a run whose controller was silent for {LEASE:?}.");
        }
        for left in &undone.left {
            tracing::error!("Not healed: {left}.");
        }
        undone
    }
}
