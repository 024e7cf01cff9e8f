//! Folders of servers and runs that a test starts: in memory, where there is enough.
//!
//! A store answers a change once it is on its disk, and the bounds allow 40 ms for that; Kafka
//! waits for its disk when that is busy. A member that votes or takes a fence waits for it as well,
//! and has 60 ms. A disk that others use may take longer, which is no property of an election, and
//! no rule on disturbed trials sees it.

use rustix::fs::statvfs;
use tempfile::TempDir;

/// Memory that looks like a disk.
const MEMORY: &str = "/dev/shm";
/// What all of them need of it at most, in bytes. Containers may have less.
const LEAST: u64 = 4 << 30;

/// A folder for what servers or a run write.
#[must_use]
pub fn folder() -> TempDir {
    let enough = statvfs(MEMORY).is_ok_and(|of| of.f_bavail * of.f_frsize >= LEAST);
    if enough { tempfile::tempdir_in(MEMORY) } else { tempfile::tempdir() }.unwrap()
}
