//! A run that was judged, and the files that are written of it.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Output;
use super::recording::{Told, reading, tell};
use super::upkeep;
use crate::html_report::{Subject, page};
use crate::journal::{Header, JournalError, Reading};
use crate::telemetry::document::{self, Written};
use crate::telemetry::{RunContext, Traces};
use crate::time::Mono;
use crate::timeline::Timeline;
use crate::verdict::{JunitError, JunitRun, JunitSuite, Report, Telemetry, junit, render_within};

/// The journal of a run, in its folder.
pub(super) const JOURNAL_FILE: &str = "journal.jsonl";
/// The report of a run, in its folder.
pub(super) const RESULT_FILE: &str = "result.json";
/// The same as CI servers read it, in its folder.
pub(super) const JUNIT_FILE: &str = "junit.xml";
/// The same for people, in its folder.
pub(super) const PAGE_FILE: &str = "report.html";
/// The traces of a run, in its folder.
pub(super) const TRACES_FILE: &str = "traces.otlp.json";

/// What can go wrong with a report.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReportError {
    /// The journal cannot be read.
    #[error("cannot judge the run")]
    Journal(#[source] JournalError),
    /// It is the folder of a suite, whose runs are judged one by one.
    #[error("{} is a suite: name one of its runs, as in {}", suite.display(), first.display())]
    Suite {
        /// Which.
        suite: PathBuf,
        /// Its first run.
        first: PathBuf,
    },
    /// A file cannot be written. Worth another try.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The report cannot be printed. Worth another try.
    #[error("cannot write to the standard output")]
    Print(#[source] io::Error),
    /// A report that XML cannot express: a mistake of ours.
    #[error(transparent)]
    Xml(JunitError),
    /// A report that JSON cannot express: a mistake of ours.
    #[error("cannot write the report as JSON")]
    Unwritable(#[source] serde_json::Error),
}

/// A run that was judged.
pub(super) struct Judged {
    /// What it was.
    pub header: Header,
    /// What is said about it.
    pub report: Report,
    /// The stamp of its latest fact.
    last: Option<Mono>,
    /// How many log records it has.
    pub logs: u64,
    /// Where its journal is.
    journal: PathBuf,
    dir: PathBuf,
}

impl Judged {
    /// Judges the run in `dir`. A run that has just ended comes here as well, so both say the same.
    pub(super) fn of(dir: &Path) -> Result<(Self, Timeline), ReportError> {
        let facts = reading(dir).map_err(ReportError::Journal)?;
        let judged = if facts.header.is_upkeep() {
            upkeep::judge(dir, facts)
        } else {
            tell(facts).map(|told| {
                let Told { header, timeline, .. } = &told;
                let Header { plan, brief, seed, zero, .. } = header;
                let report = Report::of(plan, brief, *seed, *zero, timeline);
                (told, report)
            })
        };
        let (told, report) = judged.map_err(ReportError::Journal)?;
        let Told { header, timeline, last, logs } = told;
        let (journal, dir) = (dir.to_owned(), folder(dir));
        Ok((Self { header, report, last, logs, journal, dir }, timeline))
    }

    /// Begins to read its journal again.
    pub(super) fn reading(&self) -> Result<Reading, ReportError> {
        reading(&self.journal).map_err(ReportError::Journal)
    }

    /// Prints the report, which takes no disk.
    pub(super) fn tell(&self, output: Output, colour: bool) -> Result<(), ReportError> {
        let text = match output {
            Output::Text => {
                let place = self.dir.display().to_string();
                render_within(&self.report, &place, colour, super::console::columns())
            }
            Output::Json => self.json()?,
        };
        print(&text)
    }

    /// Writes the result.
    pub(super) fn write(&self) -> Result<(), ReportError> {
        let json = self.json()?;
        replace(&self.dir.join(RESULT_FILE), |file| file.write_all(json.as_bytes()))
    }

    fn json(&self) -> Result<String, ReportError> {
        let json = serde_json::to_string_pretty(&self.report).map_err(ReportError::Unwritable)?;
        Ok(json + "\n")
    }

    /// What an earlier result says of telemetry.
    pub(super) fn remembered(&self) -> Option<Telemetry> {
        let text = fs::read(self.dir.join(RESULT_FILE)).ok()?;
        let earlier: Report = serde_json::from_slice(&text).ok()?;
        earlier.telemetry
    }

    /// Its traces.
    pub(super) fn traces(&self, timeline: Timeline) -> Traces {
        let end = self.last.unwrap_or(Mono::ZERO);
        Traces::of(&self.header, RunContext::of(&self.header), timeline, end)
    }

    /// Writes the page, to its folder and wherever else it is wanted.
    pub(super) fn write_page(
        &self,
        timeline: &Timeline,
        elsewhere: Option<&Path>,
    ) -> Result<(), ReportError> {
        let page = page(&Subject {
            report: &self.report,
            timeline,
            plan: &self.header.plan,
            run: &self.header.run,
            zero: self.header.zero,
            began: self.header.zero_wall,
            tandem: &self.header.tandem,
        });
        everywhere(&self.dir.join(PAGE_FILE), elsewhere, &page)
    }

    /// Writes what CI servers read, to its folder and wherever else it is wanted.
    pub(super) fn write_junit(&self, elsewhere: Option<&Path>) -> Result<(), ReportError> {
        let (run, zero, began) = (&self.header.run, self.header.zero, self.header.zero_wall);
        let lasted = self.last.map_or(Duration::ZERO, |last| last.since(zero));
        let run = JunitRun { report: &self.report, run, began, lasted, trouble: None };
        let text = junit(run.run, &[JunitSuite::Judged(run)]).map_err(ReportError::Xml)?;
        everywhere(&self.dir.join(JUNIT_FILE), elsewhere, &text)
    }

    /// Writes the traces as a file.
    pub(super) fn write_traces(&self, traces: &Traces) -> Result<(), ReportError> {
        let written: Written = replace(&self.dir.join(TRACES_FILE), |file| {
            let mut file = BufWriter::new(file);
            let written = document::write(traces, document::SIZE_MAX, &mut file)?;
            file.flush()?;
            Ok(written)
        })?;
        if written.left_out > 0 {
            let (left_out, all) = (written.left_out, written.all());
            let told = format!("{TRACES_FILE} has no room for {left_out} of {all} spans");
            writeln!(super::console::err(), "{told}; `tandem export` sends them all").ok();
        }
        Ok(())
    }
}

/// Where what is said of a run goes: into its folder, or where it is one file of several, into one
/// of its own.
fn folder(dir: &Path) -> PathBuf {
    if !dir.is_file() {
        return dir.to_owned();
    }
    let own = dir.with_extension("");
    // Where it cannot be made, each of the files says so.
    fs::create_dir_all(&own).ok();
    own
}

/// Writes the same to both; where one cannot be written, the other is all the same.
fn everywhere(own: &Path, elsewhere: Option<&Path>, text: &str) -> Result<(), ReportError> {
    let write = |path| replace(path, |file| file.write_all(text.as_bytes()));
    write(own).and(elsewhere.map_or(Ok(()), write))
}

/// Whether the standard output wants colours.
#[must_use]
pub(super) fn colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stdout().is_terminal()
}

/// Writes beside the file, then renames: a reader sees the old one or the new one, never half.
fn replace<R>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<R>,
) -> Result<R, ReportError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let write = || {
        let mut file = File::create(&beside)?;
        let filled = fill(&mut file)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        Ok(filled)
    };
    write().map_err(|source| {
        // Half a file is of no use, and takes the room of another.
        fs::remove_file(&beside).ok();
        ReportError::Write { path: path.to_owned(), source }
    })
}

/// Somebody who reads no further (`| head`) is no error.
pub(super) fn print(text: &str) -> Result<(), ReportError> {
    let mut out = super::console::out();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(ReportError::Print(source))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
