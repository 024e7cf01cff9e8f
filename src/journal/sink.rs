//! Where a run's facts go: into one file, or into file after file.

use std::path::PathBuf;

use super::{Journal, JournalError, Rolling, Unwritten};
use crate::observation::Fact;
use crate::time::Mono;

/// Where facts go.
#[derive(Debug)]
pub enum Sink {
    /// One file, which must hold everything: a run that cannot write ends.
    Whole(Journal),
    /// File after file: what cannot be written is told, and all goes on.
    Rolling(Box<Rolling>),
}

impl Sink {
    /// Appends a fact that came `now`.
    ///
    /// # Errors
    /// It could not be written, and so nothing more is to be done.
    pub fn append(&mut self, now: Mono, fact: &Fact) -> Result<(), JournalError> {
        match self {
            Self::Whole(journal) => journal.append(fact),
            Self::Rolling(rolling) => {
                rolling.append(now, fact);
                Ok(())
            }
        }
    }

    /// The file that is written, or was last.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Whole(journal) => journal.path().to_owned(),
            Self::Rolling(rolling) => rolling.path(),
        }
    }

    /// Why nothing is written, if so.
    #[must_use]
    pub fn unwritten(&self) -> Option<&Unwritten> {
        match self {
            Self::Whole(_) => None,
            Self::Rolling(rolling) => rolling.unwritten(),
        }
    }

    /// How many facts were never written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        match self {
            Self::Whole(_) => 0,
            Self::Rolling(rolling) => rolling.lost(),
        }
    }
}

impl From<Journal> for Sink {
    fn from(journal: Journal) -> Self {
        Self::Whole(journal)
    }
}

impl From<Rolling> for Sink {
    fn from(rolling: Rolling) -> Self {
        Self::Rolling(Box::new(rolling))
    }
}
