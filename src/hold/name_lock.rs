//! Takes a member's name on this machine: one process at a time bears it, each of its lives has a
//! number, and what an earlier life left behind is ended before the next one joins.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::cgroup::{Cgroup, NoCgroup};
use crate::guard::{end_marked, state_home};
use crate::host::DEATH;
use crate::ids::{GroupName, Incarnation, MemberId, TopologyName};
use crate::time::Mono;

/// How often what an earlier life left is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A name that this process bears until the value is dropped.
#[derive(Debug)]
pub struct NameLock {
    _file: File,
    /// Which life of the name this is.
    pub incarnation: Incarnation,
    /// What marks the processes of its command.
    pub mark: String,
    /// The file with the cgroup of its command.
    cgroup: PathBuf,
}

/// A name cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum NameLockError {
    /// Another process bears it.
    #[error("another `tandem hold` runs as {name} in group {group}: choose another --name")]
    Taken {
        /// The name.
        name: MemberId,
        /// Its group.
        group: GroupName,
    },
    /// The file of the name cannot be used.
    #[error("{path} cannot be used")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Processes of an earlier life cannot be ended.
    #[error("processes of an earlier `tandem hold` with this name do not end: {pids:?}")]
    Left {
        /// Their process ids.
        pids: Vec<u32>,
    },
}

impl NameLock {
    /// Takes the name, counts its lives, and ends what an earlier life left behind.
    ///
    /// # Errors
    /// Another process bears it, its file cannot be used, or a process does not end.
    pub fn take(
        topology: &TopologyName,
        group: &GroupName,
        name: &MemberId,
    ) -> Result<Self, NameLockError> {
        let file = format!("{topology}.{group}.{name}");
        let folder = state_home().join("tandem/hold");
        let path = folder.join(&file);
        let refused = |source| NameLockError::File { path: path.clone(), source };
        let mut file_of_lives = open(&folder, &path).map_err(refused)?;
        match flock(&file_of_lives, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(NameLockError::Taken { name: name.clone(), group: group.clone() });
            }
            Err(error) => return Err(refused(error.into())),
        }
        let incarnation = next_life(&mut file_of_lives).map_err(refused)?;
        // Where the lives of the name are counted: elsewhere the same name is another one.
        let mark = path.display().to_string();
        end_all(&mark)?;
        let cgroup = state_home().join("tandem/hold-cgroups").join(file);
        // Last: now no keeper is left that could start a command there.
        end_cgroup(&cgroup)?;
        Ok(Self { _file: file_of_lives, incarnation, mark, cgroup })
    }

    /// Makes a cgroup for the command, and notes it for the next life before it is there.
    ///
    /// # Errors
    /// There is none for this process.
    pub fn cgroup(&self) -> Result<Cgroup, NoCgroup> {
        let cgroup = Cgroup::planned()?;
        let refused = |source| NoCgroup::Refused { path: self.cgroup.clone(), source };
        let folder = self.cgroup.parent().unwrap_or(&self.cgroup);
        make_folder(folder).map_err(refused)?;
        fs::write(&self.cgroup, format!("{cgroup}\n")).map_err(refused)?;
        cgroup.make()?;
        Ok(cgroup)
    }
}

/// Ends all that is in the cgroup which this file names, and waits until it is gone.
fn end_cgroup(file: &Path) -> Result<(), NameLockError> {
    let path = fs::read_to_string(file).unwrap_or_default();
    let Some(cgroup) = Cgroup::at(path.trim_end()) else { return Ok(()) };
    let left = || NameLockError::Left { pids: cgroup.pids() };
    // The command of the earlier life has started this process, which cannot end itself.
    if cgroup.has_this_process() {
        return Err(left());
    }
    let began = Mono::now();
    while !cgroup.is_empty() {
        if let Err(error) = cgroup.kill() {
            tracing::warn!(%error, %cgroup, "What an earlier life left cannot be killed.");
        }
        if Mono::now().since(began) >= DEATH {
            return Err(left());
        }
        std::thread::sleep(LOOK);
    }
    cgroup.remove();
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn open(folder: &Path, path: &Path) -> io::Result<File> {
    make_folder(folder)?;
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Counts one more life in the file. An unreadable count begins anew.
fn next_life(file: &mut File) -> io::Result<Incarnation> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let next = text.trim().parse().unwrap_or(0_u32).saturating_add(1);
    file.rewind()?;
    file.set_len(0)?;
    writeln!(file, "{next}")?;
    Ok(Incarnation(next))
}

/// Ends all processes with this mark, and waits until they are gone.
fn end_all(mark: &str) -> Result<(), NameLockError> {
    end_marked(mark).map_err(|pids| NameLockError::Left { pids })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_are_counted_and_garbage_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/t.p1.a");
        let life = |path: &Path| {
            let mut file = open(path.parent().unwrap(), path).unwrap();
            next_life(&mut file).unwrap().0
        };
        assert_eq!([life(&path), life(&path), life(&path)], [1, 2, 3]);
        fs::write(&path, "garbage that is longer than a number").unwrap();
        assert_eq!([life(&path), life(&path)], [1, 2]);
    }
}
