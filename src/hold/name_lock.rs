//! Takes a member's name on this machine: one process at a time bears it, each of its lives has a
//! number, and what an earlier life left behind is ended before the next one joins.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::cgroup::{Cgroup, NoCgroup};
use crate::guard::{Unended, end_marked, state_home};
use crate::host::DEATH;
use crate::ids::{GroupName, Incarnation, MemberId, TopologyName};
use crate::time::Mono;

/// How often what an earlier life left is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A name that this process bears until the value is dropped.
#[derive(Debug)]
pub struct NameLock {
    _file: File,
    /// The file that the name had before, shared with others that had it: a process of an earlier
    /// version takes it alone, and finds it taken.
    _earlier: Option<File>,
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
    #[error("what an earlier `tandem hold` with this name has left cannot be ended")]
    Left(#[from] Unended),
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
        let file = file_of(topology, group, name);
        let folder = state_home().join("tandem/hold");
        let path = folder.join(&file);
        let refused = |source| NameLockError::File { path: path.clone(), source };
        let mut file_of_lives = open(&folder, &path).map_err(refused)?;
        let taken = || NameLockError::Taken { name: name.clone(), group: group.clone() };
        if !lock(&file_of_lives, FlockOperation::NonBlockingLockExclusive).map_err(refused)? {
            return Err(taken());
        }
        // Where the lives of the name are counted: elsewhere the same name is another one.
        let mark = mark_of(&path);
        let (mut before, mut shared) = (0, None);
        let earlier = folder.join(earlier_file_of(topology, group, name));
        if earlier != path && earlier.exists() {
            let mut counted = open(&folder, &earlier).map_err(refused)?;
            if !lock(&counted, FlockOperation::NonBlockingLockShared).map_err(refused)? {
                return Err(taken());
            }
            before = lives(&mut counted).map_err(refused)?;
            end_marked(&mark_of(&earlier))?;
            let noted = state_home().join("tandem/hold-cgroups");
            let noted = noted.join(earlier_file_of(topology, group, name));
            end_cgroup(&noted)?;
            shared = Some(counted);
        }
        let incarnation = next_life(&mut file_of_lives, before).map_err(refused)?;
        end_marked(&mark)?;
        let cgroup = state_home().join("tandem/hold-cgroups").join(file);
        // Last: now no keeper is left that could start a command there.
        end_cgroup(&cgroup)?;
        Ok(Self { _file: file_of_lives, _earlier: shared, incarnation, mark, cgroup })
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
        let line = [cgroup.path().as_os_str().as_bytes(), b"\n"].concat();
        fs::write(&self.cgroup, line).map_err(refused)?;
        cgroup.make()?;
        Ok(cgroup)
    }
}

/// Whether this process has the lock of the file now.
fn lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// What marks the processes of a name with this file.
fn mark_of(path: &Path) -> String {
    let bytes = || path.as_os_str().as_bytes().escape_ascii().to_string();
    path.to_str().map_or_else(bytes, str::to_owned)
}

/// The file that a name had before, which names with dots could share.
fn earlier_file_of(topology: &TopologyName, group: &GroupName, name: &MemberId) -> String {
    [topology.as_str(), group.as_str(), name.as_str()].join(".")
}

/// The file of a name. Names may have dots: where one does, commas part them, which no name has.
fn file_of(topology: &TopologyName, group: &GroupName, name: &MemberId) -> String {
    let parts = [topology.as_str(), group.as_str(), name.as_str()];
    parts.join(if parts.iter().any(|part| part.contains('.')) { "," } else { "." })
}

/// Ends all that is in the cgroup which this file names, and waits until it is gone.
fn end_cgroup(file: &Path) -> Result<(), NameLockError> {
    let path = match fs::read(file) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(NameLockError::File { path: file.to_owned(), source }),
    };
    let Some(cgroup) = Cgroup::at(path.trim_ascii_end()) else { return Ok(()) };
    let left = || Unended::Left(cgroup.pids()).into();
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

/// The lives that the file counts. An unreadable count begins anew.
fn lives(file: &mut File) -> io::Result<u32> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let count = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
    Ok(count.unwrap_or_default())
}

/// Counts one more life in the file, after so many elsewhere.
fn next_life(file: &mut File, before: u32) -> io::Result<Incarnation> {
    let next = lives(file)?.max(before).saturating_add(1);
    file.rewind()?;
    file.set_len(0)?;
    writeln!(file, "{next}")?;
    Ok(Incarnation(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_have_one_file() {
        let some = ["a", "b", "a.a", "a.b", "b.a", "a-b", "a_b", "a.a.b", "..."];
        let mut files = std::collections::BTreeSet::new();
        for topology in some {
            for group in some {
                for name in some {
                    let parsed = (topology.parse().unwrap(), group.parse().unwrap());
                    let file = file_of(&parsed.0, &parsed.1, &name.parse().unwrap());
                    assert!(files.insert(file.clone()), "{file}: {topology}, {group}, {name}");
                }
            }
        }
        let plain = file_of(&"t".parse().unwrap(), &"p1".parse().unwrap(), &"a".parse().unwrap());
        assert_eq!(plain, "t.p1.a", "what was plain before stays as it is");
    }

    #[test]
    fn lives_are_counted_and_garbage_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/t.p1.a");
        let life = |path: &Path| {
            let mut file = open(path.parent().unwrap(), path).unwrap();
            next_life(&mut file, 0).unwrap().0
        };
        assert_eq!([life(&path), life(&path), life(&path)], [1, 2, 3]);
        fs::write(&path, "garbage that is longer than a number").unwrap();
        assert_eq!([life(&path), life(&path)], [1, 2]);
        fs::write(&path, b"\xff").unwrap();
        let mut file = open(path.parent().unwrap(), &path).unwrap();
        assert_eq!(next_life(&mut file, 7).unwrap().0, 8, "after those in another file");
    }
}
