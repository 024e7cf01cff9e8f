//! The ledger of a run: one file that lists what must be undone, each entry written before the
//! thing is done. Any later process of the user can undo it. The file only grows, and is removed
//! when nothing is left.
//!
//! The files are in `$XDG_STATE_HOME/tandem/runs` (default `~/.local/state/tandem/runs`). They name
//! processes to kill and commands to run, so only their owner may write there.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{Identity, Revival, Run, UserCommand};
use crate::host::is_ours_alone;

/// The most that is read; a run of a hundred thousand trials writes a tenth of it.
const SIZE_MOST: u64 = 64 << 20;

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// The run; the first line.
    Run(Run),
    /// The process must end with the run.
    Held(Identity),
    /// The broker must run after the run.
    Promised(Revival),
    /// The broker runs again.
    Kept(Revival),
    /// The command must be run before the run is over.
    Owed(UserCommand),
    /// The command has run.
    Paid(UserCommand),
}

/// A ledger that is open for writing. The file is locked, so there is one writer.
pub(super) struct Ledger {
    path: PathBuf,
    file: File,
    whole: bool,
}

/// The content of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The run.
    pub run: Run,
    /// The processes that must end.
    pub held: Vec<Identity>,
    /// The brokers that must run again.
    pub promised: Vec<Revival>,
    /// The commands that must be run.
    pub owed: Vec<UserCommand>,
}

impl Page {
    /// The longest time that the owed commands may take.
    pub(super) fn patience(&self) -> Duration {
        self.owed.iter().map(UserCommand::patience).sum()
    }
}

impl Ledger {
    /// Creates the ledger of `run`, with what is `held` already. It takes the place of the ledger
    /// of a guard that died: either of the two lists what is held, at every instant.
    pub(super) fn create(runs: &Path, run: &Run, held: &[Identity]) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(runs)?;
        own(&fs::metadata(runs)?, runs)?;
        let path = run.file(runs);
        // The file gets its final name after it is locked and has its first line.
        let beside = runs.join(format!("{}.new", run.mark()));
        // An earlier process with this pid may have died at this point.
        fs::remove_file(&beside).ok();
        let file = options().append(true).create_new(true).mode(0o600).open(&beside)?;
        file.try_lock()?;
        let mut ledger = Self { path, file, whole: true };
        ledger.note(&Entry::Run(run.clone()))?;
        held.iter().try_for_each(|process| ledger.note(&Entry::Held(*process)))?;
        fs::rename(&beside, &ledger.path)?;
        Ok(ledger)
    }

    /// Takes over a ledger that has no writer, and reads it. `None` if another process has it
    /// locked, or the file is gone.
    pub(super) fn take(path: &Path) -> io::Result<Option<(Self, Page)>> {
        let file = match options().read(true).append(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Ok(None),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
        // The previous holder of the lock may have removed the file.
        if !path.exists() {
            return Ok(None);
        }
        let page = read(&file, path)?;
        Ok(Some((Self { path: path.to_owned(), file, whole: true }, page)))
    }

    /// Writes a line. If this fails, the thing must not be done, and no further line is written:
    /// nothing after a torn line could be read.
    pub(super) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        if !self.whole {
            return Err(io::Error::other("its last line is torn"));
        }
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line).inspect_err(|_| self.whole = false)
    }

    /// Removes the file: nothing is left to be undone.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Reads the ledger at `path`.
///
/// # Errors
/// The file cannot be read, other users can write it, or it is not a ledger.
pub fn page(path: &Path) -> io::Result<Page> {
    read(&options().read(true).open(path)?, path)
}

fn read(file: &File, path: &Path) -> io::Result<Page> {
    own(&file.metadata()?, path)?;
    // Bytes, not text: the last line may be torn within a character.
    let mut lines = BufReader::new(file.take(SIZE_MOST)).split(b'\n');
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it is not a ledger");
    let first = lines.next().transpose()?.unwrap_or_default();
    let Ok(Entry::Run(run)) = serde_json::from_slice(&first) else { return Err(wrong()) };
    let mut page = Page { run, held: Vec::new(), promised: Vec::new(), owed: Vec::new() };
    for line in lines {
        // The last line may be torn; then its entry was not carried out.
        match serde_json::from_slice(&line?) {
            Ok(Entry::Held(process)) => page.held.push(process),
            Ok(Entry::Promised(broker)) => page.promised.push(broker),
            Ok(Entry::Kept(broker)) => page.promised.retain(|other| *other != broker),
            Ok(Entry::Owed(command)) => page.owed.push(command),
            Ok(Entry::Paid(command)) => page.owed.retain(|other| *other != command),
            Ok(Entry::Run(_)) | Err(_) => break,
        }
    }
    Ok(page)
}

/// Options that do not follow symbolic links, which could lead to another user's file.
pub(super) fn options() -> OpenOptions {
    let mut options = File::options();
    options.custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default());
    options
}

/// Fails if other users can write the file: they could make us run their commands.
pub(super) fn own(found: &Metadata, path: &Path) -> io::Result<()> {
    if is_ours_alone(found) {
        return Ok(());
    }
    let why = format!(
        "{} must belong to the user who runs this, and be writable only by that user: chmod go-w, \
         or set XDG_STATE_HOME",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::time::Mono;

    fn run() -> Run {
        Run::own("calm-1/2".to_owned(), "duo".parse().unwrap(), "/tmp/out".into())
    }

    /// A holder has ended once no process has its file open: one that another test starts at that
    /// moment has it until it has become another program.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Takes it as soon as its holder has ended.
    fn taken(path: &Path) -> (Ledger, Page) {
        let began = Mono::now();
        loop {
            if let Some(taken) = Ledger::take(path).unwrap() {
                return taken;
            }
            assert!(Mono::now().since(began) < PATIENCE, "its holder has ended, and it is locked");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn broker(name: &str) -> Revival {
        Revival { command: vec![name.to_owned()], folder: name.into(), ends_within: None }
    }

    #[test]
    fn the_next_holder_reads_all_entries() {
        let state = tempfile::tempdir().unwrap();
        let runs = state.path().join("runs");
        let mut ledger = Ledger::create(&runs, &run(), &[]).unwrap();
        let me = Identity::own();
        for entry in [
            Entry::Held(me),
            Entry::Promised(broker("a")),
            Entry::Promised(broker("b")),
            Entry::Kept(broker("a")),
        ] {
            ledger.note(&entry).unwrap();
        }
        let path = run().file(&runs);
        assert!(Ledger::take(&path).unwrap().is_none(), "it is still written");
        // The process died within a line, and within a character of it.
        ledger.file.write_all(b"{\"promised\":{\"folder\":\"/tmp/\xc3").unwrap();
        drop(ledger);
        let expected =
            Page { run: run(), held: vec![me], promised: vec![broker("b")], owed: Vec::new() };
        assert_eq!(page(&path).unwrap(), expected);
        let (taken, content) = taken(&path);
        assert_eq!(content, expected);
        taken.remove().unwrap();
        assert!(Ledger::take(&path).unwrap().is_none());
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0);
    }

    #[test]
    fn other_users_cannot_write_it() {
        let state = tempfile::tempdir().unwrap();
        let runs = state.path().join("runs");
        let path = run().file(&runs);
        drop(Ledger::create(&runs, &run(), &[]).unwrap());
        assert_eq!(fs::metadata(&runs).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o620)).unwrap();
        let refused = page(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{refused}");
        fs::set_permissions(&runs, Permissions::from_mode(0o777)).unwrap();
        let refused = Ledger::create(&runs, &run(), &[]).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{refused}");
    }
}
