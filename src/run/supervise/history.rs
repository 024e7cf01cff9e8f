//! The facts that were recorded before a client connected, read from the journal.

use std::path::Path;

use crate::journal::{JournalError, Tail};
use crate::supervision::{Message, Seen};

/// How many facts are read at once.
const BATCH: usize = 2_000;

/// The facts so far, read from the journal.
pub(super) struct History {
    tail: Tail,
    seen: Seen,
}

impl History {
    pub(super) fn open(folder: &Path) -> Result<Self, JournalError> {
        Ok(Self { tail: Tail::open(folder)?, seen: Seen::default() })
    }

    /// The next facts as lines, and whether there may be more at once.
    pub(super) fn read(&mut self) -> Result<(Vec<u8>, bool), JournalError> {
        let mut lines = Vec::new();
        for _ in 0..BATCH {
            let Some(fact) = self.tail.read()? else { return Ok((lines, false)) };
            self.seen.add(&fact);
            lines.extend(Message::Fact(fact).line());
        }
        Ok((lines, true))
    }

    /// What was read.
    pub(super) fn into_seen(self) -> Seen {
        self.seen
    }
}
