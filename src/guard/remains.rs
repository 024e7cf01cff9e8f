//! What runs have left that neither they nor their guards could undo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::ledger::{Entry, Ledger, Page, page};
use super::undo::{Undone, Ward, undo};
use super::{Identity, Whereabouts};

/// A ledger that was found.
#[derive(Debug)]
pub struct Remains {
    /// The file.
    pub path: PathBuf,
    /// What it says.
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
    // One that was there a moment ago was removed by its guard.
    let still =
        |one: &Remains| !matches!(&one.page, Err(error) if error.kind() == io::ErrorKind::NotFound);
    Ok(found.filter(still).collect())
}

/// Undoes what the runs in `runs` have left whose controller and guard are gone; by their names.
/// Those that are alive, or elsewhere, are left alone.
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

/// Undoes what the ledger at `path` says, and removes it where nothing is left; nothing where it
/// is gone, or somebody else is at it.
///
/// # Errors
/// It cannot be read.
pub fn heal(path: &Path) -> io::Result<Option<Undone>> {
    let Some((ledger, page)) = Ledger::take(path)? else { return Ok(None) };
    let undone = match page.run.whereabouts() {
        // Its processes are gone with the machine; what a command did may not be.
        Whereabouts::Gone => undo(&[], &page.owed, &[]),
        Whereabouts::Elsewhere => return Ok(None),
        Whereabouts::Here => {
            let (wards, left) = open(&page.held);
            let mut undone = undo(&wards, &page.owed, &page.promised);
            undone.left.extend(left);
            undone
        }
    };
    ledger.close(&undone, false)?;
    Ok(Some(undone))
}

/// Holds on those that have not ended, and why there is none, in words.
fn open(held: &[Identity]) -> (Vec<Ward>, Vec<String>) {
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
    /// Writes down what was undone; removes the ledger where nothing is left, unless it `stays`.
    pub(super) fn close(mut self, undone: &Undone, stays: bool) -> io::Result<()> {
        if undone.left.is_empty() && !stays {
            return self.remove();
        }
        // Whoever tries again must not start them again, when they may have been ended since.
        for broker in undone.started.iter().chain(&undone.kept) {
            self.note(&Entry::Kept(broker.clone()))?;
        }
        for command in &undone.ran {
            self.note(&Entry::Paid(command.clone()))?;
        }
        Ok(())
    }
}
