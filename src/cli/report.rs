//! `tandem report`: judges a finished run again, from its journal alone.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::Output;
use super::recording::recording;
use crate::journal::{JournalError, Recording};
use crate::verdict::{Report, exit_code, render};

/// The report of a run, in its folder.
pub(super) const RESULT_FILE: &str = "result.json";

/// Judge a finished run again, from its journal alone.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ReportArgs {
    /// The folder of the run, which holds journal.jsonl, or journal-000001.jsonl and so on; or one
    /// of those.
    pub dir: PathBuf,
    /// How to print the report.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// What can go wrong with a report.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReportError {
    /// The journal cannot be read.
    #[error("cannot judge the run")]
    Journal(#[source] JournalError),
    /// The report cannot be written. Worth another try.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file, or the standard output.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A report that JSON cannot express: a mistake of ours.
    #[error("cannot write the report as JSON")]
    Unwritable(#[source] serde_json::Error),
}

/// Runs the command; returns the exit code of the run that it judges.
pub(super) fn run(args: &ReportArgs) -> Result<u8, ReportError> {
    conclude(&args.dir, args.output, colour())
}

/// Judges the run in `dir`: reads its journal, writes its result, prints the report, and returns
/// the exit code. A run that has just ended comes here as well, so both say the same.
pub(super) fn conclude(dir: &Path, output: Output, colour: bool) -> Result<u8, ReportError> {
    let Recording { header, facts, torn_tail: _ } = recording(dir).map_err(ReportError::Journal)?;
    let report = Report::compute(&header.plan, &header.brief, header.seed, header.zero, &facts);
    let mut json = serde_json::to_string_pretty(&report).map_err(ReportError::Unwritable)?;
    json.push('\n');
    // One file of several is no run: its result would stand for the whole.
    if dir.is_dir() {
        replace(&dir.join(RESULT_FILE), &json)?;
    }
    let text = match output {
        Output::Text => render(&report, &dir.display().to_string(), colour),
        Output::Json => json,
    };
    print(&text)?;
    Ok(exit_code(&report))
}

/// Whether the standard output wants colours.
#[must_use]
pub(super) fn colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stdout().is_terminal()
}

/// Writes beside the file, then renames: a reader sees the old one or the new one, never half.
fn replace(path: &Path, text: &str) -> Result<(), ReportError> {
    let beside = path.with_extension("json.new");
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|source| ReportError::Write { path: path.to_owned(), source })
}

/// Somebody who reads no further (`| head`) is no error.
fn print(text: &str) -> Result<(), ReportError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(ReportError::Write { path: PathBuf::from("the standard output"), source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
