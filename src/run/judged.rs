//! A finished run, judged from its journal alone.

use std::path::Path;

use super::recorded::{JournalEnd, RecordedRun, read_run, read_run_with, reading};
use crate::journal::{Header, JournalError, Reading, list_parts};
use crate::verdict::{Report, Tail};

/// A run and the report on it.
#[derive(Debug)]
pub struct JudgedRun {
    /// The run, as its journal records it.
    pub run: RecordedRun,
    /// The report.
    pub report: Report,
}

impl JudgedRun {
    /// Judges the run in `dir`, or one journal file of several. `goes_on` says whether a process
    /// still keeps up what has this name.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn of(dir: &Path, goes_on: impl FnOnce(&str) -> bool) -> Result<Self, JournalError> {
        let facts = reading(dir)?;
        if facts.header.is_upkeep() {
            return Self::of_upkeep(dir, facts, goes_on);
        }
        let run = read_run(facts)?;
        let Header { plan, brief, seed, zero, .. } = &run.header;
        let report = Report::of(plan, brief, *seed, *zero, &run.timeline);
        Ok(Self { run, report })
    }

    fn of_upkeep(
        dir: &Path,
        facts: Reading,
        goes_on: impl FnOnce(&str) -> bool,
    ) -> Result<Self, JournalError> {
        let mut tail = Tail::Last;
        let run = read_run_with(facts, |header, builder, end| {
            tail = tail_of(dir.is_file(), end, || goes_on(&header.run));
            builder.finish_upkeep(tail == Tail::GoesOn)
        })?;
        let Header { plan, brief, seed, zero, .. } = &run.header;
        let drawn = (*seed, *zero);
        let report = Report::of_upkeep((plan, brief), drawn, &run.timeline, tail, journals(dir));
        Ok(Self { run, report })
    }
}

fn tail_of(is_file: bool, end: JournalEnd, goes_on: impl FnOnce() -> bool) -> Tail {
    if end.run_ended {
        return Tail::Last;
    }
    match (is_file && end.file_closed, goes_on()) {
        (true, _) => Tail::InNext,
        (false, true) => Tail::GoesOn,
        (false, false) => Tail::Last,
    }
}

/// The journal files, relative to the folder of the report.
fn journals(dir: &Path) -> Vec<String> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    if dir.is_file() {
        return name(dir).map(|name| format!("../{name}")).into_iter().collect();
    }
    let parts = list_parts(dir).unwrap_or_default();
    parts.iter().filter_map(|(_, path)| name(path)).collect()
}
