//! The journal of a run, wherever its folder has it.

use std::path::Path;

use super::judged::JOURNAL_FILE;
use crate::journal::{JournalError, Recording, list_parts, read, read_parts};

/// Reads the journal of the run in `dir`, or the file itself where it is one.
pub(super) fn recording(dir: &Path) -> Result<Recording, JournalError> {
    if dir.is_file() {
        return read(dir);
    }
    let whole = dir.join(JOURNAL_FILE);
    if !whole.exists() && list_parts(dir).is_ok_and(|parts| !parts.is_empty()) {
        return read_parts(dir);
    }
    read(&whole)
}
