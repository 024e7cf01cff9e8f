//! The files of a journal without end, as they stand in their folder, read as one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{JournalError, Recording, read};
use crate::observation::What;

/// The most of a journal that is read at once; in memory it takes several times as much.
const READ_MAX: u64 = 256 << 20;

/// The file of this number.
pub(super) fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("journal-{number:06}.jsonl"))
}

/// The files in `folder`, in order; none where it holds no journal without end.
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

/// Reads all files of `folder` as one journal: from the first that is kept, or from the first after
/// facts were lost.
///
/// # Errors
/// There is none, they are too much to be read at once, or one of them is no journal.
pub fn read_parts(folder: &Path) -> Result<Recording, JournalError> {
    let file = |action| move |source| JournalError::File { action, path: folder.into(), source };
    let parts = list(folder).map_err(file("read"))?;
    let sizes = parts.iter().map(|(_, path)| fs::metadata(path).map_or(0, |data| data.len()));
    let size = sizes.sum();
    if size > READ_MAX {
        let (path, latest) = (folder.to_owned(), parts.last().map(|(_, path)| path.clone()));
        let latest = latest.unwrap_or_default();
        return Err(JournalError::Large { path, size, most: READ_MAX, latest });
    }
    let last = parts.len();
    let mut all: Option<Recording> = None;
    for (place, (_, path)) in (1..).zip(&parts) {
        let mut next = match read(path) {
            // The oldest is removed while one reads.
            Err(JournalError::File { source, .. })
                if source.kind() == io::ErrorKind::NotFound && all.is_none() =>
            {
                continue;
            }
            next => next?,
        };
        let part = next.header.part;
        if place < last {
            // It was closed because the next was begun: nothing ended there.
            next.facts.retain(|fact| !matches!(fact.what, What::TrialEnded { .. }));
        }
        match &mut all {
            Some(all) if !part.is_some_and(|part| part.after_loss) => {
                let carried = part.map_or(0, |part| part.carried);
                let carried = usize::try_from(carried).unwrap_or(usize::MAX);
                all.facts.extend(next.facts.into_iter().skip(carried));
                all.torn_tail = next.torn_tail;
            }
            Some(_) | None => all = Some(next),
        }
    }
    all.ok_or_else(|| JournalError::Empty { path: folder.to_owned() })
}
