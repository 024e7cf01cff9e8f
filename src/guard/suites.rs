//! Suites under way, a file each: `tandem halt` finds there who would start the next run.
//!
//! The files stand beside the ledgers, in `$XDG_STATE_HOME/tandem/suites`. They name processes to
//! be ended, so nobody but their owner may write there. A suite itself has nothing to be undone.

use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ledger::{options, own};
use super::{Identity, Place, state_home};

/// No file is longer.
const SIZE_MAX: u64 = 64 << 10;

/// A suite under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    /// Where its runs go.
    pub folder: PathBuf,
    /// Where it runs.
    pub place: Place,
    /// Its process.
    pub process: Identity,
}

/// That this process is a suite; over when dropped.
#[derive(Debug)]
pub struct Entered(PathBuf);

impl Drop for Entered {
    fn drop(&mut self) {
        // One that stays names a process that is gone, and is removed by whoever looks next.
        fs::remove_file(&self.0).ok();
    }
}

/// Where the files are.
#[must_use]
pub fn suites_at() -> PathBuf {
    state_home().join("tandem/suites")
}

/// Whether a file can be made in `folder`, which nobody else may write.
///
/// # Errors
/// It cannot, or others can write there.
pub fn writable(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    own(&fs::metadata(folder)?, folder)?;
    let trial = folder.join(format!("{}.trial", std::process::id()));
    fs::remove_file(&trial).ok();
    options().write(true).create_new(true).mode(0o600).open(&trial)?.write_all(b"trial\n")?;
    fs::remove_file(&trial)
}

/// Writes down that this process is a suite whose runs go to `folder`.
///
/// # Errors
/// It cannot be written, or others can write there.
pub fn enter_suite(at: &Path, folder: &Path) -> io::Result<Entered> {
    DirBuilder::new().recursive(true).mode(0o700).create(at)?;
    own(&fs::metadata(at)?, at)?;
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let suite = Suite { folder, place: Place::here(), process: Identity::own() };
    let name = suite.process.pid.to_string();
    let (beside, path) = (at.join(format!("{name}.new")), at.join(format!("{name}.json")));
    // Somebody with our number died right here.
    fs::remove_file(&beside).ok();
    let mut file = options().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(&serde_json::to_vec(&suite)?)?;
    fs::rename(&beside, &path)?;
    Ok(Entered(path))
}

/// The suites of this machine that are under way, in the order of their process ids. What others
/// have left is removed.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn suites(at: &Path) -> io::Result<Vec<Suite>> {
    let entries = match fs::read_dir(at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let here = Place::here();
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let suite = match read(&path) {
            // It has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            suite => suite?,
        };
        if suite.place == here && suite.process.lives() {
            found.push(suite);
        } else if suite.place.host == here.host && suite.place.pids == here.pids {
            fs::remove_file(&path).ok();
        }
    }
    found.sort_by_key(|suite| suite.process.pid);
    Ok(found)
}

fn read(path: &Path) -> io::Result<Suite> {
    let file = options().read(true).open(path)?;
    own(&file.metadata()?, path)?;
    let mut text = String::new();
    file.take(SIZE_MAX).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_found_while_it_is_under_way() {
        let state = tempfile::tempdir().unwrap();
        let at = state.path().join("suites");
        assert_eq!(suites(&at).unwrap(), []);
        let entered = enter_suite(&at, state.path()).unwrap();
        let found = suites(&at).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].process, Identity::own());
        // The same number, and somebody else's process.
        let mut dead = found[0].clone();
        dead.process.since += 1;
        fs::write(at.join("1.json"), serde_json::to_vec(&dead).unwrap()).unwrap();
        assert_eq!(suites(&at).unwrap(), found);
        assert!(!at.join("1.json").exists(), "it is removed");
        drop(entered);
        assert_eq!(suites(&at).unwrap(), []);
    }
}
