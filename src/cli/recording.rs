//! The journal of a run, wherever its folder has it.

use std::path::Path;

use super::judged::JOURNAL_FILE;
use crate::journal::{Header, JournalError, Reading, list_parts, open, open_parts};
use crate::telemetry::{Logbook, Scene};
use crate::time::Mono;
use crate::timeline::{Timeline, TimelineBuilder};

/// A run as its journal tells it.
pub(super) struct Told {
    /// What it was.
    pub header: Header,
    /// Who led what.
    pub timeline: Timeline,
    /// The stamp of its latest fact.
    pub last: Option<Mono>,
    /// How many log records it has.
    pub logs: u64,
}

/// Begins to read the journal of the run in `dir`, or the file itself where it is one.
pub(super) fn reading(dir: &Path) -> Result<Reading, JournalError> {
    if dir.is_file() {
        return open(dir);
    }
    let whole = dir.join(JOURNAL_FILE);
    if !whole.exists() && list_parts(dir).is_ok_and(|parts| !parts.is_empty()) {
        return open_parts(dir);
    }
    open(&whole)
}

/// Reads a journal to its end, fact by fact: none is kept.
pub(super) fn tell(mut reading: Reading) -> Result<Told, JournalError> {
    let header = reading.header.clone();
    let (mut builder, mut logs) = (TimelineBuilder::new(&header.plan), 0);
    let mut book = Logbook::new(Scene::of(&header));
    for fact in &mut reading {
        let fact = fact?;
        builder.observe(&fact);
        logs += u64::from(book.observe(&fact).is_some());
    }
    let (last, timeline) = (builder.last(), builder.finish());
    Ok(Told { header, timeline, last, logs })
}
