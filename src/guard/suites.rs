//! Lists running suites, a file each. `tandem halt` ends them first, so that they start no new run.
//!
//! The files are in `$XDG_STATE_HOME/tandem/suites`. They name processes to end, so only their
//! owner may write there. A suite itself leaves nothing to undo.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ledger::{options, own};
use super::{Identity, PidScope, state_home};
use crate::ids::TopologyName;

/// The most that is read of a file.
const SIZE_MAX: u64 = 64 << 10;

/// A running suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    /// The output folder of its runs.
    pub folder: PathBuf,
    /// The topologies of its runs.
    #[serde(default)]
    pub topologies: BTreeSet<TopologyName>,
    /// Where its pid is valid.
    #[serde(rename = "place")]
    pub pid_scope: PidScope,
    /// Its process.
    pub process: Identity,
}

/// The entry of this process in the list of suites. Dropping it removes the entry.
#[derive(Debug)]
pub struct Entered(PathBuf);

impl Drop for Entered {
    fn drop(&mut self) {
        // If this fails, the next call of `suites` removes the file.
        fs::remove_file(&self.0).ok();
    }
}

/// The folder of the files.
#[must_use]
pub fn suites_at() -> PathBuf {
    state_home().join("tandem/suites")
}

/// Checks that a file can be created in `folder`, and that only this user can write there.
///
/// # Errors
/// No file can be created, or other users can write there.
pub fn writable(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    own(&fs::metadata(folder)?, folder)?;
    let trial = folder.join(format!("{}.trial", std::process::id()));
    fs::remove_file(&trial).ok();
    options().write(true).create_new(true).mode(0o600).open(&trial)?.write_all(b"trial\n")?;
    fs::remove_file(&trial)
}

/// Adds this process to the list of suites, with `folder` as the output folder of its runs, and
/// their topologies.
///
/// # Errors
/// The file cannot be written, or other users can write there.
pub fn enter_suite(
    at: &Path,
    folder: &Path,
    topologies: BTreeSet<TopologyName>,
) -> io::Result<Entered> {
    DirBuilder::new().recursive(true).mode(0o700).create(at)?;
    own(&fs::metadata(at)?, at)?;
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let (pid_scope, process) = (PidScope::here(), Identity::own());
    let suite = Suite { folder, topologies, pid_scope, process };
    let name = suite.process.pid.to_string();
    let (beside, path) = (at.join(format!("{name}.new")), at.join(format!("{name}.json")));
    // An earlier process with this pid may have died at this point.
    fs::remove_file(&beside).ok();
    let mut file = options().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(&serde_json::to_vec(&suite)?)?;
    fs::rename(&beside, &path)?;
    Ok(Entered(path))
}

/// The running suites of this host, ordered by process id. Files of dead suites are removed.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn suites(at: &Path) -> io::Result<Vec<Suite>> {
    let entries = match fs::read_dir(at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let here = PidScope::here();
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let suite = match read(&path) {
            // The suite has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            suite => suite?,
        };
        if suite.pid_scope == here && suite.process.lives() {
            found.push(suite);
        } else if suite.pid_scope.host == here.host && suite.pid_scope.pids == here.pids {
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
    fn a_suite_is_found_while_it_runs() {
        let state = tempfile::tempdir().unwrap();
        let at = state.path().join("suites");
        assert_eq!(suites(&at).unwrap(), []);
        let topologies = BTreeSet::from(["duo".parse().unwrap()]);
        let entered = enter_suite(&at, state.path(), topologies.clone()).unwrap();
        let found = suites(&at).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].process, Identity::own());
        assert_eq!(found[0].topologies, topologies);
        // The same pid, but another process.
        let mut dead = found[0].clone();
        dead.process.since += 1;
        fs::write(at.join("1.json"), serde_json::to_vec(&dead).unwrap()).unwrap();
        assert_eq!(suites(&at).unwrap(), found);
        assert!(!at.join("1.json").exists(), "it is removed");
        drop(entered);
        assert_eq!(suites(&at).unwrap(), []);
    }
}
