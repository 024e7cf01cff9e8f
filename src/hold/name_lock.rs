//! Takes a member's name on this machine: one process at a time bears it, each of its lives has a
//! number, and what an earlier life left behind is ended before the next one joins.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::guard::{Identity, state_home};
use crate::ids::{GroupName, Incarnation, MemberId, TopologyName};
use crate::time::Mono;

/// The environment variable that marks the processes of a command.
pub const MARK: &str = "TANDEM_HOLD";
/// How long what an earlier life left behind may take to be gone.
const GONE: Duration = Duration::from_secs(10);

/// A name that this process bears until the value is dropped.
#[derive(Debug)]
pub struct NameLock {
    _file: File,
    /// Which life of the name this is.
    pub incarnation: Incarnation,
    /// What marks the processes of its command.
    pub mark: String,
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
        let folder = state_home().join("tandem/hold");
        let path = folder.join(format!("{topology}.{group}.{name}"));
        let refused = |source| NameLockError::File { path: path.clone(), source };
        let mut file = open(&folder, &path).map_err(refused)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(NameLockError::Taken { name: name.clone(), group: group.clone() });
            }
            Err(error) => return Err(refused(error.into())),
        }
        let incarnation = next_life(&mut file).map_err(refused)?;
        // Where the lives of the name are counted: elsewhere the same name is another one.
        let mark = path.display().to_string();
        end_all(&mark)?;
        Ok(Self { _file: file, incarnation, mark })
    }
}

fn open(folder: &Path, path: &Path) -> io::Result<File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
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

/// Kills all processes with this mark, and waits until they are gone.
fn end_all(mark: &str) -> Result<(), NameLockError> {
    let began = Mono::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return Ok(());
        }
        if Mono::now().since(began) >= GONE {
            return Err(NameLockError::Left { pids: left.iter().map(|one| one.pid).collect() });
        }
        for one in left {
            if let Err(error) = one.signal(&[Signal::KILL]) {
                tracing::warn!(%error, pid = one.pid, "A process that is left cannot be ended.");
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes with this mark, except this one.
fn marked(mark: &str) -> Vec<Identity> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = numbers.filter(|pid: &u32| *pid != std::process::id());
    // The identity comes first: a pid that is reused afterwards is another process, and is not hit.
    let found = others.filter_map(Identity::of).filter(|one| bears(one.pid, mark));
    found.collect()
}

fn bears(pid: u32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    // Another user's is not readable, and is none of ours.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

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

    #[test]
    fn what_bears_the_mark_is_ended_and_nothing_else() {
        let mark = format!("test/p1/{}", std::process::id());
        let sleep = |mark: &str| Command::new("sleep").arg("60").env(MARK, mark).spawn().unwrap();
        let (mut ours, mut other) = (sleep(&mark), sleep(&format!("{mark}0")));
        // The child still has this process's environment until it has become `sleep`.
        while !bears(ours.id(), &mark) {
            std::thread::sleep(Duration::from_millis(1));
        }
        end_all(&mark).unwrap();
        assert!(!ours.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "a process of another mark was ended");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
