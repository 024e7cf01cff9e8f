//! What must be undone, written down before it is done: one file a run, which whoever finds it can
//! undo. It only grows, and is removed when nothing is left.
//!
//! The files stand in `$XDG_STATE_HOME/tandem/runs`, where `$XDG_STATE_HOME` is `~/.local/state`
//! unless set. They name processes to be killed and commands to be run, so nobody but their owner
//! may write there.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{Identity, Revival, Run, UserCommand};
use crate::host::is_ours_alone;

/// A run of a hundred thousand trials writes a tenth of this.
const SIZE_MOST: u64 = 64 << 20;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// The first.
    Run(Run),
    /// It must end with the run.
    Held(Identity),
    /// It must run again after it.
    Promised(Revival),
    /// It does.
    Kept(Revival),
    /// It must be run before the run is over.
    Owed(UserCommand),
    /// It was.
    Paid(UserCommand),
}

/// A ledger that is written. Whoever has it is the only one: the file is locked.
pub(super) struct Ledger {
    path: PathBuf,
    file: File,
    whole: bool,
}

/// What a ledger says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Whose it is.
    pub run: Run,
    /// What must end.
    pub held: Vec<Identity>,
    /// What must run again.
    pub promised: Vec<Revival>,
    /// What must be run.
    pub owed: Vec<UserCommand>,
}

impl Page {
    /// How long it may take to run what is owed.
    pub(super) fn patience(&self) -> Duration {
        self.owed.iter().map(UserCommand::patience).sum()
    }
}

impl Ledger {
    /// Begins the ledger of `run`.
    pub(super) fn create(runs: &Path, run: &Run) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(runs)?;
        own(&fs::metadata(runs)?, runs)?;
        let path = run.file(runs);
        // Locked, and with its first line in it, before anybody can find it.
        let beside = runs.join(format!("{}.new", run.mark()));
        // Somebody with our number died right here.
        fs::remove_file(&beside).ok();
        let file = options().append(true).create_new(true).mode(0o600).open(&beside)?;
        file.try_lock()?;
        let mut ledger = Self { path, file, whole: true };
        ledger.note(&Entry::Run(run.clone()))?;
        fs::rename(&beside, &ledger.path)?;
        Ok(ledger)
    }

    /// Takes over a ledger that nobody writes any more, and what it says; nothing where somebody
    /// does, or it is gone.
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
        // Whoever had the lock before may have removed it.
        if !path.exists() {
            return Ok(None);
        }
        let page = read(&file, path)?;
        Ok(Some((Self { path: path.to_owned(), file, whole: true }, page)))
    }

    /// Writes a line. What could not be written must not be done, and is the last that was tried:
    /// behind half a line no other could be read.
    pub(super) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        if !self.whole {
            return Err(io::Error::other("its last line is torn"));
        }
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line).inspect_err(|_| self.whole = false)
    }

    /// Nothing is left to be undone.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// What the ledger at `path` says.
///
/// # Errors
/// It cannot be read, is not ours alone, or does not begin as a ledger does.
pub fn page(path: &Path) -> io::Result<Page> {
    read(&options().read(true).open(path)?, path)
}

fn read(file: &File, path: &Path) -> io::Result<Page> {
    own(&file.metadata()?, path)?;
    // Bytes, not text: a last line that was torn within a character spoils no other.
    let mut lines = BufReader::new(file.take(SIZE_MOST)).split(b'\n');
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it does not begin as a ledger does");
    let first = lines.next().transpose()?.unwrap_or_default();
    let Ok(Entry::Run(run)) = serde_json::from_slice(&first) else { return Err(wrong()) };
    let mut page = Page { run, held: Vec::new(), promised: Vec::new(), owed: Vec::new() };
    for line in lines {
        // The last line may be torn: then what it speaks of was not done.
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

/// A link could lead to somebody else's file.
pub(super) fn options() -> OpenOptions {
    let mut options = File::options();
    options.custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default());
    options
}

/// What others can write would have us run their commands.
pub(super) fn own(found: &Metadata, path: &Path) -> io::Result<()> {
    if is_ours_alone(found) {
        return Ok(());
    }
    let why = format!(
        "{} must belong to the user who runs this, and to nobody else: chmod go-w, or set \
         XDG_STATE_HOME",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn run() -> Run {
        Run::own("calm-1/2".to_owned(), "duo".parse().unwrap(), "/tmp/out".into())
    }

    fn broker(name: &str) -> Revival {
        Revival { command: vec![name.to_owned()], folder: name.into(), ends_within: None }
    }

    #[test]
    fn what_is_noted_is_read_by_whoever_takes_over() {
        let state = tempfile::tempdir().unwrap();
        let runs = state.path().join("runs");
        let mut ledger = Ledger::create(&runs, &run()).unwrap();
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
        // Half a line was written when the end came, and half a character of it.
        ledger.file.write_all(b"{\"promised\":{\"folder\":\"/tmp/\xc3").unwrap();
        drop(ledger);
        let expected =
            Page { run: run(), held: vec![me], promised: vec![broker("b")], owed: Vec::new() };
        assert_eq!(page(&path).unwrap(), expected);
        let (taken, said) = Ledger::take(&path).unwrap().unwrap();
        assert_eq!(said, expected);
        taken.remove().unwrap();
        assert!(Ledger::take(&path).unwrap().is_none());
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0);
    }

    #[test]
    fn nobody_else_can_write_it() {
        let state = tempfile::tempdir().unwrap();
        let runs = state.path().join("runs");
        let path = run().file(&runs);
        drop(Ledger::create(&runs, &run()).unwrap());
        assert_eq!(fs::metadata(&runs).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o620)).unwrap();
        let refused = page(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{refused}");
        fs::set_permissions(&runs, Permissions::from_mode(0o777)).unwrap();
        let refused = Ledger::create(&runs, &run()).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{refused}");
    }
}
