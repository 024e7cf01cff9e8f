//! The log file of a process that may be restarted. It is opened once, because opening a file may
//! block on its disk.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A log file to which all lives of a process append.
pub(super) struct LogFile {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl LogFile {
    /// A log at this path. It is opened when it is first used.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, file: Mutex::default() }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A new handle to the file, for a child process.
    pub(super) fn open(&self) -> io::Result<File> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*file {
            return file.try_clone();
        }
        let opened = File::options().append(true).create(true).open(&self.path)?;
        file.insert(opened).try_clone()
    }
}
