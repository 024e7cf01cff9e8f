//! The hook with which a test suspends the host in appearance: every process of a run adds the same
//! number of nanoseconds to its monotonic clock.
//!
//! `TANDEM_TEST_SUSPENDED` names a file; its first eight bytes, little endian, are for how long the
//! host "was suspended" so far. A test makes the number larger, and all clocks jump at once. The
//! variable is looked for once, at the first reading of the clock; where it is not set, a reading
//! costs one more load.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Duration;

/// The variable that names the file.
const VARIABLE: &str = "TANDEM_TEST_SUSPENDED";

static FILE: OnceLock<Option<File>> = OnceLock::new();

/// What is to be added to the clock.
pub(super) fn offset() -> Duration {
    let file = FILE.get_or_init(|| File::open(std::env::var_os(VARIABLE)?).ok());
    file.as_ref().map_or(Duration::ZERO, read)
}

fn read(file: &File) -> Duration {
    let mut bytes = [0; 8];
    // A file that is still empty suspends nothing.
    let read = file.read_exact_at(&mut bytes, 0).is_ok();
    if read { Duration::from_nanos(u64::from_le_bytes(bytes)) } else { Duration::ZERO }
}
