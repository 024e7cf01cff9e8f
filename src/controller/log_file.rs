//! The log of a process that is started again and again: opened once, for to open a file is to wait
//! for its disk.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A log, appended to by one life after the other.
pub(super) struct LogFile {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl LogFile {
    /// At this path; it is opened when it is first needed.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, file: Mutex::default() }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A hand on it for another process.
    pub(super) fn open(&self) -> io::Result<File> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*file {
            return file.try_clone();
        }
        let opened = File::options().append(true).create(true).open(&self.path)?;
        file.insert(opened).try_clone()
    }
}
