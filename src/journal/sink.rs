//! The destination of a run's facts: one file, or file after file.

use std::path::PathBuf;

use super::{Header, Journal, JournalError, Rolling, Unwritten};
use crate::observation::Fact;
use crate::time::Mono;

/// The destination of facts.
#[derive(Debug)]
pub enum Sink {
    /// One file, which must hold everything: the run ends if it cannot be written.
    Whole(Journal),
    /// File after file: lost facts are reported, and the run continues.
    Rolling(Box<Rolling>),
    /// Another process writes them.
    Elsewhere,
}

impl Sink {
    /// Appends a fact that came `now`.
    ///
    /// # Errors
    /// The fact could not be written, and the run cannot continue.
    pub fn append(&mut self, now: Mono, fact: &Fact) -> Result<(), JournalError> {
        match self {
            Self::Whole(journal) => journal.append(fact),
            Self::Rolling(rolling) => {
                rolling.append(now, fact);
                Ok(())
            }
            Self::Elsewhere => Ok(()),
        }
    }

    /// From `now` on this is the header. A journal of one file cannot change it.
    pub fn change(&mut self, now: Mono, header: Header) {
        match self {
            Self::Rolling(rolling) => rolling.change(now, header),
            Self::Whole(_) | Self::Elsewhere => {}
        }
    }

    /// The current file, or the last one.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Whole(journal) => journal.path().to_owned(),
            Self::Rolling(rolling) => rolling.path(),
            Self::Elsewhere => PathBuf::new(),
        }
    }

    /// Why facts are not being written, if so.
    #[must_use]
    pub fn unwritten(&self) -> Option<&Unwritten> {
        match self {
            Self::Whole(_) | Self::Elsewhere => None,
            Self::Rolling(rolling) => rolling.unwritten(),
        }
    }

    /// How many facts were never written.
    #[must_use]
    pub fn lost(&self) -> u64 {
        match self {
            Self::Whole(_) | Self::Elsewhere => 0,
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
