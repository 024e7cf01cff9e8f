//! A hook for tests that simulates a suspend of the host: every process of a run adds the same
//! number of nanoseconds to its monotonic clock.
//!
//! `TANDEM_TEST_SUSPENDED` names a file. Its first eight bytes, little endian, hold the total
//! simulated suspend so far, in nanoseconds. When a test increases the number, all clocks jump at
//! once. Each process looks up the variable once, at its first clock reading; without the variable,
//! a reading costs one more load.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Duration;

/// The variable that names the file.
const VARIABLE: &str = "TANDEM_TEST_SUSPENDED";

static FILE: OnceLock<Option<File>> = OnceLock::new();

/// The offset to add to the clock.
pub(super) fn offset() -> Duration {
    let file = FILE.get_or_init(|| File::open(std::env::var_os(VARIABLE)?).ok());
    file.as_ref().map_or(Duration::ZERO, read)
}

fn read(file: &File) -> Duration {
    let mut bytes = [0; 8];
    // An empty file means that there was no suspend.
    let read = file.read_exact_at(&mut bytes, 0).is_ok();
    if read { Duration::from_nanos(u64::from_le_bytes(bytes)) } else { Duration::ZERO }
}
