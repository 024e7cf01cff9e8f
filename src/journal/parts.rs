//! Reads the files of an endless journal in a folder as one journal.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::reader::{header, open_with};
use super::{JournalError, Reading, Recording};

/// The path of the file with this number.
pub(super) fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("journal-{number:06}.jsonl"))
}

/// The files in `folder`, in order; empty if it has no endless journal.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("journal-"));
        let number = number.and_then(|name| name.strip_suffix(".jsonl")?.parse().ok());
        found.extend(number.map(|number: u32| (number, path(folder, number))));
    }
    found.sort();
    Ok(found)
}

/// Opens all files of `folder` as one journal: from the oldest file, or from the first after facts
/// were lost or the topology was changed.
///
/// # Errors
/// There is no file, or one of them is not a journal.
pub fn open_parts(folder: &Path) -> Result<Reading, JournalError> {
    let file = |source| JournalError::File { action: "read", path: folder.into(), source };
    let mut parts: Vec<PathBuf> = list(folder).map_err(file)?.into_iter().map(|it| it.1).collect();
    let mut whole = VecDeque::new();
    while let Some(path) = parts.pop() {
        match header(&path) {
            Ok(header) => {
                whole.push_front(path);
                if header.part.is_some_and(|part| part.stands_alone()) {
                    break;
                }
            }
            // The writer is just beginning this file.
            Err(JournalError::Empty { .. }) if whole.is_empty() && !parts.is_empty() => {}
            // The writer may remove the oldest files meanwhile.
            Err(JournalError::File { source, .. })
                if source.kind() == io::ErrorKind::NotFound && !whole.is_empty() =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let first = whole.pop_front();
    open_with(&first.ok_or_else(|| JournalError::Empty { path: folder.to_owned() })?, whole)
}

/// Reads all files of `folder` as one journal into memory.
///
/// # Errors
/// As for [`open_parts`], or a line is not one of a journal.
pub fn read_parts(folder: &Path) -> Result<Recording, JournalError> {
    open_parts(folder)?.into_recording()
}
