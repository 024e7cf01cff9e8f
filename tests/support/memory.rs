//! Folders of servers and runs that a test starts: in memory, where there is enough.
//!
//! A store answers a change once it is on its disk, and the bounds allow 40 ms for that; Kafka
//! waits for its disk when that is busy. A member that votes or takes a fence waits for it as well,
//! and has 60 ms. A disk that others use may take longer, which is no property of an election, and
//! no rule on disturbed trials sees it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use rustix::fs::statvfs;
use tempfile::TempDir;

/// Memory that looks like a disk.
const MEMORY: &str = "/dev/shm";
/// What all of them need of it at most, in bytes. Containers may have less.
const LEAST: u64 = 4 << 30;

/// How much of a folder is kept at most, in KiB: brokers may write more than anybody reads.
const KEPT: u64 = 64 << 10;
/// The places in which this program has kept something.
static CLEARED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder that goes with its owner. Where a test fails, a copy of it stays below `failed` in the
/// scratch folder, under the name of the test, until that fails again.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            keep(self.path());
        }
    }
}

/// A folder for what servers or a run write.
#[must_use]
pub fn folder() -> Folder {
    let enough = statvfs(MEMORY).is_ok_and(|of| of.f_bavail * of.f_frsize >= LEAST);
    Folder(if enough { tempfile::tempdir_in(MEMORY) } else { tempfile::tempdir() }.unwrap())
}

/// Copies a folder of the test that fails. It fails for another reason than this.
fn keep(folder: &Path) {
    let test = std::thread::current().name().unwrap_or("?").replace("::", "-");
    let place = crate::scratch().join("failed").join(test);
    let size = Command::new("du").arg("-sk").arg(folder).output();
    let size = size
        .map_or_else(|_| String::new(), |done| String::from_utf8_lossy(&done.stdout).into_owned());
    let size = size.split_whitespace().next().and_then(|size| size.parse::<u64>().ok());
    if size.is_none_or(|size| size > KEPT) {
        return eprintln!("{} is not kept: it has {size:?} KiB", folder.display());
    }
    // What the test left when it failed before goes; it may have several folders now.
    if CLEARED.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone()) {
        std::fs::remove_dir_all(&place).ok();
    }
    std::fs::create_dir_all(&place).ok();
    let copied = Command::new("cp").arg("-r").arg(folder).arg(&place).status();
    if copied.is_ok_and(|status| status.success()) {
        eprintln!("what {} had is in {}", folder.display(), place.display());
    }
}
