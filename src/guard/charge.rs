//! What a guard has in its charge: written down first, then held, and undone in the end.

use std::io;
use std::path::Path;

use super::lease::LEASE;
use super::ledger::{Entry, Ledger};
use super::strays::strays;
use super::undo::{self, Undone, Ward, lives};
use super::{Identity, Revival, Run, UserCommand};

/// More processes than any plan has; beyond it `hold` is refused.
const HELD_MAX: usize = 10_000;

/// Why a guard comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its master said so.
    Freed,
    /// Its master is gone.
    Closed,
    /// Its master is silent.
    Silent,
}

/// Of one run.
#[derive(Default)]
pub(super) struct Charge {
    run: Option<(Run, Ledger)>,
    held: Vec<Ward>,
    promised: Vec<Revival>,
    owed: Vec<UserCommand>,
}

impl Charge {
    /// Does what a line says; the answer.
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
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "nobody knows what this is")),
        };
        done.unwrap_or_else(|error| {
            tracing::warn!(line, %error, "The guard cannot do this.");
            format!("refused: {error}")
        })
    }

    /// Begins the ledger.
    fn begin(&mut self, told: &str, runs: &Path) -> io::Result<String> {
        let run = Run { guard: Some(Identity::own()), ..serde_json::from_str(told)? };
        let ledger = Ledger::create(runs, &run)?;
        self.run = Some((run, ledger));
        Ok("ready".to_owned())
    }

    fn hold(&mut self, written: &str) -> io::Result<String> {
        self.held.retain(|(_, process)| lives(process));
        if self.held.len() >= HELD_MAX {
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, "there are too many"));
        }
        let pid = written.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        // One that is dead already needs no holding.
        if let Some(process) = Identity::of(pid)
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

    /// Undoes everything, and closes the ledger where nothing is left.
    pub(super) fn undo(mut self, end: End) -> Undone {
        let Some((run, ledger)) = self.run.take() else { return Undone::default() };
        if end == End::Silent {
            self.held.extend(strays(run.controller, &run.mark()));
        }
        let undone = undo::undo(&self.held, &self.owed, &self.promised);
        // A master that was stopped is still to be ended: its ledger leads to it.
        let stays = end == End::Silent && run.controller.lives();
        if let Err(error) = ledger.close(&undone, stays) {
            tracing::warn!(%error, "The ledger of the run stays.");
        }
        // Said last: who reads this may be stopped as well.
        if end == End::Silent {
            let pid = run.controller.pid;
            tracing::warn!(pid, "A run was silent for {LEASE:?}, and was ended by its guard.");
        }
        for left in &undone.left {
            tracing::error!("Not healed: {left}.");
        }
        undone
    }
}
