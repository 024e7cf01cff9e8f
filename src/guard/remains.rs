//! Finds and undoes what neither a run nor its guard could undo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::ledger::{Entry, Ledger, Page, page};
use super::undo::{HeldProcess, Undone, undo};
use super::{Identity, RunLocation};

/// A ledger that was found.
#[derive(Debug)]
pub struct Remains {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub page: io::Result<Page>,
}

/// All ledgers in the folder `runs`, in the order of their names.
///
/// # Errors
/// The folder cannot be read.
pub fn remains(runs: &Path) -> io::Result<Vec<Remains>> {
    let entries = match fs::read_dir(runs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    let found = paths.into_iter().map(|path| Remains { page: page(&path), path });
    // A guard may have removed its ledger a moment ago.
    let still =
        |one: &Remains| !matches!(&one.page, Err(error) if error.kind() == io::ErrorKind::NotFound);
    Ok(found.filter(still).collect())
}

/// Undoes what is left of each run in `runs` whose controller and guard are gone. Returns the names
/// of these runs, with what was undone. Runs that are alive, or on another host, are left alone.
///
/// # Errors
/// The folder cannot be read.
pub fn heal_all(runs: &Path) -> io::Result<Vec<(String, io::Result<Undone>)>> {
    let mut healed = Vec::new();
    for Remains { path, page } in remains(runs)? {
        let name = path.display().to_string();
        match page {
            Err(error) => healed.push((name, Err(error))),
            Ok(Page { run, .. }) if run.lives() => run.wake_guard(),
            Ok(Page { run, .. }) => {
                let undone = heal(&path).transpose();
                healed.extend(undone.map(|undone| (run.name, undone)));
            }
        }
    }
    Ok(healed)
}

/// Undoes what the ledger at `path` lists, and removes the ledger if nothing is left. `None` if the
/// ledger is gone, or another process has it locked.
///
/// # Errors
/// The ledger cannot be read or written.
pub fn heal(path: &Path) -> io::Result<Option<Undone>> {
    let Some((ledger, page)) = Ledger::take(path)? else { return Ok(None) };
    let undone = match page.run.location() {
        // Its processes ended at the reboot; the effects of a command may not have.
        RunLocation::Gone => undo(&[], &page.owed, &[]),
        RunLocation::Elsewhere => return Ok(None),
        RunLocation::Here => {
            let (wards, left) = open(&page.held);
            let mut undone = undo(&wards, &page.owed, &page.promised);
            undone.left.extend(left);
            undone
        }
    };
    ledger.close(&undone, false)?;
    Ok(Some(undone))
}

/// Opens the processes that have not ended. Also returns one line for each that cannot be opened.
fn open(held: &[Identity]) -> (Vec<HeldProcess>, Vec<String>) {
    let (mut wards, mut left) = (Vec::new(), Vec::new());
    for process in held {
        match process.open() {
            Ok(pidfd) => wards.extend(pidfd.map(|pidfd| (process.pid, pidfd))),
            Err(error) => left.push(format!("process {} cannot be reached: {error}", process.pid)),
        }
    }
    (wards, left)
}

impl Ledger {
    /// Writes down what was undone. Removes the ledger if nothing is left, unless it `stays`.
    pub(super) fn close(mut self, undone: &Undone, stays: bool) -> io::Result<()> {
        if undone.left.is_empty() && !stays {
            return self.remove();
        }
        // A later attempt must not start these brokers again: they may have been ended on purpose.
        for broker in undone.started.iter().chain(&undone.kept) {
            self.note(&Entry::Kept(broker.clone()))?;
        }
        for command in &undone.ran {
            self.note(&Entry::Paid(command.clone()))?;
        }
        Ok(())
    }
}
