//! The journal of a run, wherever its folder has it.

use std::path::Path;

use super::judged::JOURNAL_FILE;
use crate::journal::{Header, JournalError, Reading, list_parts, open, open_parts};
use crate::observation::What;
use crate::telemetry::{Logbook, RunContext};
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

/// How a journal ends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct JournalEnd {
    /// The run came to its end in it.
    pub run_ended: bool,
    /// Its last line closes the file: the next one goes on.
    pub file_closed: bool,
}

/// Reads the journal of an experiment to its end, fact by fact: none is kept.
pub(super) fn tell(reading: Reading) -> Result<Told, JournalError> {
    tell_with(reading, |_, builder, _| builder.finish())
}

/// Reads a journal to its end, fact by fact, and has `finish` make the timeline of it.
pub(super) fn tell_with(
    mut reading: Reading,
    finish: impl FnOnce(&Header, TimelineBuilder, JournalEnd) -> Timeline,
) -> Result<Told, JournalError> {
    let header = reading.header.clone();
    let (mut builder, mut logs) = (TimelineBuilder::new(&header.plan), 0);
    let (mut book, mut end) = (Logbook::new(RunContext::of(&header)), JournalEnd::default());
    for fact in &mut reading {
        let fact = fact?;
        builder.observe(&fact);
        end.run_ended |= matches!(fact.what, What::Ended { .. });
        end.file_closed = matches!(fact.what, What::TrialEnded { recovered: None, .. });
        logs += u64::from(book.observe(&fact).is_some());
    }
    let last = builder.last();
    let timeline = finish(&header, builder, end);
    Ok(Told { header, timeline, last, logs })
}
