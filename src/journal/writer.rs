//! Writes each line with one `write` to the kernel, so that a SIGKILL of the controller loses
//! nothing that was appended, only what waits in the queue. (A crash of the machine may lose more,
//! but its runs are void anyway.)

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Header, JournalError};
use crate::observation::Fact;

/// The default limit of a journal: 4 GiB.
pub const SIZE_MAX: u64 = 4 << 30;

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    line: Vec<u8>,
    size: u64,
    limit: u64,
}

impl Journal {
    /// Creates the file, which must not exist, and writes the header.
    pub fn create(path: &Path, header: &Header) -> Result<Self, JournalError> {
        let file =
            OpenOptions::new().append(true).create_new(true).open(path).map_err(|source| {
                JournalError::File { action: "create", path: path.to_owned(), source }
            })?;
        let (path, line) = (path.to_owned(), Vec::new());
        let mut journal = Self { file, path, line, size: 0, limit: SIZE_MAX };
        journal.write(header)?;
        Ok(journal)
    }

    /// Replaces the limit.
    #[must_use]
    pub fn with_limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// Appends a fact. When this returns, the kernel has it.
    pub fn append(&mut self, fact: &Fact) -> Result<(), JournalError> {
        self.write(fact)
    }

    /// Appends a last fact, limit or not.
    pub(super) fn append_beyond(&mut self, fact: &Fact) -> Result<(), JournalError> {
        self.limit = u64::MAX;
        self.write(fact)
    }

    /// The size of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, value: &impl serde::Serialize) -> Result<(), JournalError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)
            .map_err(|source| JournalError::Unwritable { source })?;
        self.line.push(b'\n');
        let length = u64::try_from(self.line.len()).unwrap_or(u64::MAX);
        if self.size.saturating_add(length) > self.limit {
            return Err(JournalError::Full { path: self.path.clone(), limit: self.limit });
        }
        if let Err(source) = self.file.write_all(&self.line) {
            // A partial line in the middle would corrupt everything after it. If even this fails,
            // the reader reports the partial line.
            let _restored = self.file.set_len(self.size);
            let path = self.path.clone();
            return Err(JournalError::File { action: "write to", path, source });
        }
        self.size = self.size.saturating_add(length);
        Ok(())
    }
}
