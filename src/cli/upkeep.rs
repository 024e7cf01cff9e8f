//! Judges a topology that is kept up from its journals, after its end or so far.

use std::path::Path;

use super::recording::{JournalEnd, RecordedRun, read_run_with};
use super::running::ask;
use super::topology_args::runtime;
use crate::journal::{Header, JournalError, Reading, list_parts};
use crate::status_socket::endpoints;
use crate::verdict::{Report, Tail};

/// Judges the journals in `dir`, a folder or one file of several.
pub(super) fn judge(dir: &Path, reading: Reading) -> Result<(RecordedRun, Report), JournalError> {
    let mut tail = Tail::Last;
    let run = read_run_with(reading, |header, builder, end| {
        tail = tail_of(dir, header, end);
        builder.finish_upkeep(tail == Tail::GoesOn)
    })?;
    let RecordedRun { header, timeline, .. } = &run;
    let (plan, brief) = (&header.plan, &header.brief);
    let drawn = (header.seed, header.zero);
    let report = Report::of_upkeep((plan, brief), drawn, timeline, tail, journals(dir));
    Ok((run, report))
}

fn tail_of(dir: &Path, header: &Header, end: JournalEnd) -> Tail {
    if end.run_ended {
        return Tail::Last;
    }
    match (dir.is_file() && end.file_closed, goes_on(&header.run)) {
        (true, _) => Tail::InNext,
        (false, true) => Tail::GoesOn,
        (false, false) => Tail::Last,
    }
}

/// Whether a process of this user still keeps this up. Other users' processes cannot be asked.
fn goes_on(run: &str) -> bool {
    let (Ok(runtime), Ok(endpoints)) = (runtime(), endpoints()) else { return false };
    let named =
        |endpoint| runtime.block_on(ask(endpoint)).is_ok_and(|picture| picture.run.name == run);
    endpoints.iter().any(named)
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
