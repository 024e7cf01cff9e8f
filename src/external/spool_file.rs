//! The file shell of a spool: the facts that a witness has received survive its death.
//!
//! Two files take turns. When one is full, the other begins anew, so together they hold between
//! half and all of what is kept. Each begins with the origin, so each can be read alone. A lock
//! says whether a witness still works on them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::Origin;
use crate::time::Mono;

/// The size at which the other file begins anew.
const HALF: u64 = 2 * 1024 * 1024;
/// The names of the two files.
const FILES: [&str; 2] = ["0.jsonl", "1.jsonl"];

/// The files of one life, locked.
#[derive(Debug)]
pub(super) struct SpoolFile {
    folder: PathBuf,
    _lock: File,
    head: Vec<u8>,
    current: File,
    which: usize,
    size: u64,
    half: u64,
}

/// What the witness of an earlier life has left.
#[derive(Debug)]
pub(super) struct Left {
    /// Where; locked as long as this value lives.
    folder: PathBuf,
    _lock: File,
    pub(super) origin: Origin,
    /// When its member died, if the witness saw it.
    pub(super) died: Option<Mono>,
    /// Its facts, each with its line break.
    pub(super) lines: Vec<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    origin: Origin,
}

#[derive(Serialize, Deserialize)]
struct Death {
    died_ns: Mono,
}

/// The number of a fact.
#[derive(Deserialize)]
struct Number {
    seq: u64,
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

fn lock(folder: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let path = folder.join("lock");
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn begin(folder: &Path, which: usize, head: &[u8]) -> io::Result<File> {
    let path = folder.join(FILES.get(which).copied().unwrap_or_default());
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(head)?;
    Ok(file)
}

impl SpoolFile {
    /// The files of a life, in a folder of their own.
    pub(super) fn create(folder: PathBuf, origin: &Origin) -> io::Result<Self> {
        Self::create_with(folder, origin, HALF)
    }

    fn create_with(folder: PathBuf, origin: &Origin, half: u64) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let lock = lock(&folder)?.ok_or(io::ErrorKind::WouldBlock)?;
        let head = line(&Head { origin: origin.clone() });
        let current = begin(&folder, 0, &head)?;
        Ok(Self { folder, _lock: lock, head, current, which: 0, size: 0, half })
    }

    /// Writes a line, with its line break.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.size >= self.half {
            self.which = 1 - self.which;
            self.current = begin(&self.folder, self.which, &self.head)?;
            self.size = 0;
        }
        self.current.write_all(line)?;
        self.size += u64::try_from(line.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Writes that the member is gone.
    pub(super) fn died(&mut self, at: Mono) -> io::Result<()> {
        self.append(&line(&Death { died_ns: at }))
    }

    /// All is delivered: nothing needs to be kept.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)
    }
}

impl Left {
    /// What the lives below `folder` have left, and no witness delivers, oldest first.
    pub(super) fn find(folder: &Path) -> Vec<Self> {
        let folders = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<_> = folders.filter_map(|entry| Self::read(entry.path())).collect();
        found.sort_by_key(|left| left.origin.life.incarnation);
        found
    }

    fn read(folder: PathBuf) -> Option<Self> {
        let lock = lock(&folder).ok()??;
        let (mut origin, mut died, mut lines) = (None, None, Vec::new());
        for name in FILES {
            let text = fs::read(folder.join(name)).unwrap_or_default();
            // A line without its end was not written to the end.
            for line in text.split_inclusive(|byte| *byte == b'\n').filter(|it| it.ends_with(b"\n"))
            {
                if let Ok(Head { origin: one }) = serde_json::from_slice(line) {
                    origin = Some(one);
                } else if let Ok(Death { died_ns }) = serde_json::from_slice(line) {
                    died = Some(died_ns);
                } else if let Ok(Number { seq }) = serde_json::from_slice(line) {
                    lines.push((seq, line.to_vec()));
                }
            }
        }
        let Some(origin) = origin else {
            // There is nothing in it that could be delivered.
            fs::remove_dir_all(&folder).ok();
            return None;
        };
        lines.sort_by_key(|(seq, _)| *seq);
        let lines = lines.into_iter().map(|(_, line)| line).collect();
        Some(Self { folder, _lock: lock, origin, died, lines })
    }

    /// All is delivered.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ClockDomain;

    fn origin(life: &str) -> Origin {
        Origin {
            group: "p1".parse().unwrap(),
            life: life.to_owned().try_into().unwrap(),
            pid: 7,
            began: Mono(5),
            clock: ClockDomain { boot: "b".to_owned(), time_namespace: 1 },
        }
    }

    fn fact(seq: u64) -> Vec<u8> {
        format!("{{\"t_ns\":{seq},\"seq\":{seq},\"life\":\"p1-a.1\",\"leaving\":null}}\n").into()
    }

    #[test]
    fn what_was_written_is_found_once_its_witness_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = SpoolFile::create(folder.path().join("1"), &origin("p1-a.1")).unwrap();
        for seq in 1..4 {
            file.append(&fact(seq)).unwrap();
        }
        file.current.write_all(b"{\"t_ns\":9,\"se").unwrap();
        assert!(Left::find(folder.path()).is_empty(), "its witness still works on it");
        drop(file);
        let mut left = Left::find(folder.path());
        let one = left.pop().unwrap();
        assert_eq!((one.origin.clone(), one.died), (origin("p1-a.1"), None));
        assert_eq!(one.lines, [fact(1), fact(2), fact(3)], "half a line is none");
        one.remove().unwrap();
        assert!(left.is_empty() && Left::find(folder.path()).is_empty());
    }

    #[test]
    fn the_files_are_bounded_and_keep_the_latest_lines_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1");
        let mut file = SpoolFile::create_with(path.clone(), &origin("p1-a.1"), 500).unwrap();
        for seq in 1..=100 {
            file.append(&fact(seq)).unwrap();
        }
        file.died(Mono(77)).unwrap();
        let size: u64 = FILES.iter().map(|name| fs::metadata(path.join(name)).unwrap().len()).sum();
        assert!(size < 2 * 800, "{size} bytes");
        drop(file);
        let one = Left::find(folder.path()).pop().unwrap();
        assert_eq!(one.died, Some(Mono(77)));
        let count = u64::try_from(one.lines.len()).unwrap();
        assert!((5..20).contains(&count), "{count}");
        let wanted: Vec<_> = (101 - count..=100).map(fact).collect();
        assert_eq!(one.lines, wanted, "the latest, without a hole");
    }
}
