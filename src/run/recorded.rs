//! Reads the journal of a run: one file, or several parts.

use std::path::Path;

use crate::journal::{Header, JournalError, Reading, list_parts, open, open_parts};
use crate::observation::{RunEvent, What};
use crate::telemetry::{Logbook, RunContext};
use crate::time::Mono;
use crate::timeline::{Timeline, TimelineBuilder};

/// The journal, in the folder of a run.
pub const JOURNAL_FILE: &str = "journal.jsonl";

/// A run, read from its journal.
#[derive(Debug)]
pub struct RecordedRun {
    /// The header of the journal.
    pub header: Header,
    /// The timeline of claims, faults and gaps.
    pub timeline: Timeline,
    /// The timestamp of its latest fact.
    pub last: Option<Mono>,
    /// The number of its log records.
    pub logs: u64,
}

/// Opens the journal of the run in `dir`, which may also be a journal file.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn reading(dir: &Path) -> Result<Reading, JournalError> {
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
    /// The run has ended in it.
    pub(super) run_ended: bool,
    /// The file is closed, and the next file continues. After a change of the topology, facts of
    /// the next moments follow.
    pub(super) file_closed: bool,
}

/// Reads the journal of an experiment, fact by fact, without keeping the facts.
///
/// # Errors
/// The journal cannot be read.
pub fn read_run(reading: Reading) -> Result<RecordedRun, JournalError> {
    read_run_with(reading, |_, builder, _| builder.finish())
}

/// Reads a journal, fact by fact, and makes its timeline with `finish`.
pub(super) fn read_run_with(
    mut reading: Reading,
    finish: impl FnOnce(&Header, TimelineBuilder, JournalEnd) -> Timeline,
) -> Result<RecordedRun, JournalError> {
    let header = reading.header.clone();
    let (mut builder, mut logs) = (TimelineBuilder::new(&header.plan), 0);
    let (mut book, mut end) = (Logbook::new(RunContext::of(&header)), JournalEnd::default());
    for fact in &mut reading {
        let fact = fact?;
        builder.observe(&fact);
        end.run_ended |= matches!(fact.what, What::Run(RunEvent::Ended { .. }));
        end.file_closed |=
            matches!(fact.what, What::Run(RunEvent::TrialEnded { recovered: None, .. }));
        logs += u64::from(book.observe(&fact).is_some());
    }
    let last = builder.last();
    let timeline = finish(&header, builder, end);
    Ok(RecordedRun { header, timeline, last, logs })
}
