//! An endless journal, in files of bounded size, of which the latest are kept.
//!
//! The files are `journal-000001.jsonl` and so on, each with the header and everything needed to
//! read it alone. Facts that cannot be written are counted and reported, and do not block the run:
//! another file is tried each second.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::carry::Carry;
use super::{Header, Journal, JournalError, Part, parts};
use crate::observation::{Fact, RunEvent, What};
use crate::time::Mono;

/// How long after a failed write another file is tried.
const RETRY: Duration = Duration::from_secs(1);

/// How long facts also go to the file with the header before: its last instants are known from
/// them, and it is judged by itself.
const LINGERS: Duration = Duration::from_secs(1);

/// The size limits of an endless journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Bytes in each file.
    pub size: u64,
    /// How many files are kept; at least two, so that one is complete.
    pub files: u32,
}

/// Sixteen files of 64 MiB.
impl Default for Bounds {
    fn default() -> Self {
        Self { size: 64 << 20, files: 16 }
    }
}

/// Why nothing is written, since when, and how many facts are lost so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritten {
    /// When the first lost fact came.
    pub since: Mono,
    /// The reason, for people.
    pub why: String,
    /// How many facts are lost.
    pub facts: u64,
}

/// An endless journal.
#[derive(Debug)]
pub struct Rolling {
    folder: PathBuf,
    header: Header,
    bounds: Bounds,
    carry: Carry,
    number: u32,
    file: Option<Journal>,
    unwritten: Option<Unwritten>,
    tried: Mono,
    lost: u64,
    /// The header is another one than that of the files so far.
    changed: bool,
    /// The last file with the header before, since when it is that, for a while.
    before: Option<(Journal, Mono)>,
}

impl Rolling {
    /// Creates the first file in `folder`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(folder: &Path, header: Header, bounds: Bounds) -> Result<Self, JournalError> {
        let mut rolling = Self {
            folder: folder.to_owned(),
            header,
            bounds,
            carry: Carry::default(),
            number: 0,
            file: None,
            unwritten: None,
            tried: Mono::ZERO,
            lost: 0,
            changed: false,
            before: None,
        };
        rolling.file = Some(rolling.begin(Mono::ZERO, &[])?);
        Ok(rolling)
    }

    /// Appends a fact, at `now`, or counts it as lost if it cannot be written.
    pub fn append(&mut self, now: Mono, fact: &Fact) {
        self.linger(now, fact);
        if self.unwritten.is_none() || now.since(self.tried) >= RETRY {
            self.tried = now;
            match self.write(now, fact) {
                Ok(()) => {
                    if let Some(over) = self.unwritten.take() {
                        let facts = over.facts;
                        tracing::warn!(facts, "The journal is written again; facts are missing.");
                    }
                }
                Err(error) => self.lose(now, &error),
            }
        }
        if let Some(unwritten) = &mut self.unwritten {
            unwritten.facts += 1;
            self.lost += 1;
        }
        self.carry.observe(fact);
    }

    /// From `now` on this is the header: the next file begins, with a header of its own, and can be
    /// read without those before.
    pub fn change(&mut self, now: Mono, header: Header) {
        self.header = header;
        self.changed = true;
        if let (Some(file), Some(end)) = (&mut self.file, self.carry.close(now)) {
            // Without it the file ends with its last fact.
            file.append_beyond(&end).ok();
        }
        if self.unwritten.is_some() {
            return;
        }
        match self.begin(now, &self.carry.facts(now)) {
            Ok(next) => self.before = self.file.replace(next).map(|file| (file, now)),
            Err(error) => self.lose(now, &error),
        }
    }

    /// Appends a fact that came soon after a change to the file before as well.
    fn linger(&mut self, now: Mono, fact: &Fact) {
        let ends = matches!(fact.what, What::Run(RunEvent::TrialEnded { .. }));
        self.before = self.before.take().filter(|(_, at)| !ends && now.since(*at) < LINGERS);
        if let Some((file, _)) = &mut self.before {
            // If it cannot be written, its last instants are unknown.
            file.append_beyond(fact).ok();
        }
    }

    /// The current file, or the last one.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        parts::path(&self.folder, self.number)
    }

    /// Why facts are not being written, if so.
    #[must_use]
    pub fn unwritten(&self) -> Option<&Unwritten> {
        self.unwritten.as_ref()
    }

    /// How many facts were never written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn lose(&mut self, now: Mono, error: &JournalError) {
        let why = crate::error::chain(error);
        if self.unwritten.is_none() {
            tracing::error!(
                error = why,
                "The journal cannot be written; the run continues without it."
            );
        }
        self.file = None;
        let since = self.unwritten.as_ref().map_or(now, |before| before.since);
        let facts = self.unwritten.as_ref().map_or(0, |before| before.facts);
        self.unwritten = Some(Unwritten { since, why, facts });
    }

    /// Writes to the current file, or to the next if it is full.
    fn write(&mut self, now: Mono, fact: &Fact) -> Result<(), JournalError> {
        if let Some(file) = &mut self.file {
            match file.append(fact) {
                Err(JournalError::Full { .. }) => {
                    if let Some(end) = self.carry.close(now) {
                        // The limit leaves room for it; without it the file ends with its last
                        // fact.
                        file.append_beyond(&end).ok();
                    }
                }
                done => return done,
            }
        }
        let carried = self.carry.facts(now);
        let mut next = self.begin(now, &carried)?;
        next.append(fact)?;
        self.file = Some(next);
        Ok(())
    }

    /// Begins the next file, and removes the oldest beyond the limit.
    fn begin(&mut self, now: Mono, carried: &[Fact]) -> Result<Journal, JournalError> {
        let number = self.number + 1;
        let path = parts::path(&self.folder, number);
        let part = Part {
            number,
            carried: u64::try_from(carried.len()).unwrap_or(u64::MAX),
            from: now,
            after_loss: self.unwritten.is_some(),
            changed: self.changed,
        };
        let header = Header { part: Some(part), ..self.header.clone() };
        let written = Journal::create(&path, &header).and_then(|mut file| {
            carried.iter().try_for_each(|fact| file.append(fact))?;
            // The repeated facts may exceed the limit of a small file.
            let room = file.size().saturating_mul(2).max(self.bounds.size);
            Ok(file.with_limit(room))
        });
        match written {
            Ok(file) => {
                self.changed = false;
                self.number = number;
                self.forget_oldest();
                Ok(file)
            }
            Err(error) => {
                // A partial file would be read as a complete one.
                fs::remove_file(&path).ok();
                Err(error)
            }
        }
    }

    fn forget_oldest(&self) {
        let first_kept = (self.number + 1).saturating_sub(self.bounds.files.max(2));
        for (number, path) in parts::list(&self.folder).unwrap_or_default() {
            if number < first_kept
                && let Err(error) = fs::remove_file(&path)
            {
                tracing::warn!(%error, path = %path.display(), "An old journal file stays.");
            }
        }
    }
}
