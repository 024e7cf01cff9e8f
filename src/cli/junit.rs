//! `junit.xml`: beside `result.json` in the folder of a run, and one for several runs.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::judged::{JOURNAL_FILE, RESULT_FILE, ReportError};
use crate::journal::{self, Header, JournalError};
use crate::observation::Fact;
use crate::verdict::{JunitError, JunitRun, Report, junit};

/// The report of a run as CI servers read it, in its folder.
pub(super) const JUNIT_FILE: &str = "junit.xml";

/// Why several runs cannot be told as one.
#[derive(Debug, thiserror::Error)]
pub enum FoldersError {
    /// A result cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What should be a result is none.
    #[error("{} is not the result of a run", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: serde_json::Error,
    },
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A text that XML cannot hold.
    #[error(transparent)]
    Xml(#[from] JunitError),
}

/// One run as XML.
pub(super) fn of_run(
    header: &Header,
    facts: &[Fact],
    report: &Report,
) -> Result<String, ReportError> {
    let run = run(header, facts, report);
    junit(&header.run, &[run]).map_err(ReportError::Xml)
}

/// Several finished runs as one document, a suite each: from `result.json` and the journal in each
/// of the folders.
///
/// # Errors
/// A folder has no result or no journal.
pub fn of_folders(name: &str, folders: &[&Path]) -> Result<String, FoldersError> {
    let read = |folder: &&Path| {
        let path = folder.join(RESULT_FILE);
        let unreadable = |source| FoldersError::Read { path: path.clone(), source };
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        let report: Report = serde_json::from_str(&text)
            .map_err(|source| FoldersError::Result { path: path.clone(), source })?;
        Ok((report, journal::read(&folder.join(JOURNAL_FILE))?))
    };
    let runs: Vec<_> = folders.iter().map(read).collect::<Result<_, FoldersError>>()?;
    let told = runs.iter().map(|(report, of)| run(&of.header, &of.facts, report));
    Ok(junit(name, &told.collect::<Vec<_>>())?)
}

fn run<'a>(header: &'a Header, facts: &[Fact], report: &'a Report) -> JunitRun<'a> {
    let last = facts.iter().map(|fact| fact.t).max();
    let lasted = last.map_or(Duration::ZERO, |last| last.since(header.zero));
    JunitRun { report, run: &header.run, began: header.zero_wall, lasted }
}
