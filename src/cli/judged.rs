//! A judged run, and the files that are written about it.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Output;
use super::upkeep::goes_on;
use super::written::write_to;
use crate::html_report::{Subject, page};
use crate::journal::{Header, JournalError, Reading};
use crate::run::{JudgedRun, RecordedRun, reading};
use crate::telemetry::document::{self, Written};
use crate::telemetry::{RunContext, Traces};
use crate::time::Mono;
use crate::timeline::Timeline;
use crate::verdict::{JunitError, JunitRun, JunitSuite, Report, Telemetry, junit, render_within};

/// The report as JSON, in the folder of a run.
pub(super) const RESULT_FILE: &str = "result.json";
/// The report for CI servers, in the folder of a run.
pub(super) const JUNIT_FILE: &str = "junit.xml";
/// The report for a browser, in the folder of a run.
pub(super) const PAGE_FILE: &str = "report.html";
/// The traces, in the folder of a run.
pub(super) const TRACES_FILE: &str = "traces.otlp.json";

/// A report cannot be made, written or printed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReportError {
    /// The journal cannot be read.
    #[error("cannot judge the run")]
    Journal(#[source] JournalError),
    /// The folder is that of a suite, whose runs are judged one by one.
    #[error("{} is a suite: name one of its runs, as in {}", suite.display(), first.display())]
    Suite {
        /// The folder of the suite.
        suite: PathBuf,
        /// The folder of its first run.
        first: PathBuf,
    },
    /// A file cannot be written. A retry may help.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The report cannot be printed. A retry may help.
    #[error("cannot write to the standard output")]
    Print(#[source] io::Error),
    /// XML cannot express the report: a bug.
    #[error(transparent)]
    Xml(JunitError),
    /// JSON cannot express the report: a bug.
    #[error("cannot write the report as JSON")]
    Unwritable(#[source] serde_json::Error),
}

/// A judged run.
pub(super) struct Judged {
    /// The header of its journal.
    pub header: Header,
    /// The report on it.
    pub report: Report,
    /// The timestamp of its latest fact.
    last: Option<Mono>,
    /// The number of its log records.
    pub logs: u64,
    /// The path of its journal.
    journal: PathBuf,
    dir: PathBuf,
}

impl Judged {
    /// Judges the run in `dir`.
    pub(super) fn of(dir: &Path) -> Result<(Self, Timeline), ReportError> {
        let judged = JudgedRun::of(dir, goes_on).map_err(ReportError::Journal)?;
        Ok(Self::new(judged, dir))
    }

    /// The run in `dir`, with its report.
    pub(super) fn new(judged: JudgedRun, dir: &Path) -> (Self, Timeline) {
        let JudgedRun { run, report } = judged;
        let RecordedRun { header, timeline, last, logs } = run;
        let (journal, dir) = (dir.to_owned(), folder(dir));
        (Self { header, report, last, logs, journal, dir }, timeline)
    }

    /// Opens its journal again.
    pub(super) fn reading(&self) -> Result<Reading, ReportError> {
        reading(&self.journal).map_err(ReportError::Journal)
    }

    /// Prints the report. This does not need the disk.
    pub(super) fn print_report(&self, output: Output, colour: bool) -> Result<(), ReportError> {
        let text = match output {
            Output::Text => {
                let place = self.dir.display().to_string();
                render_within(&self.report, &place, colour, super::console::columns())
            }
            Output::Json => self.json()?,
        };
        print(&text)
    }

    /// Writes result.json.
    pub(super) fn write(&self) -> Result<(), ReportError> {
        let json = self.json()?;
        replace(&self.dir.join(RESULT_FILE), |file| file.write_all(json.as_bytes()))
    }

    fn json(&self) -> Result<String, ReportError> {
        let json = serde_json::to_string_pretty(&self.report).map_err(ReportError::Unwritable)?;
        Ok(json + "\n")
    }

    /// The telemetry section of an earlier result.json.
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

    /// Writes report.html to its folder, and also to `elsewhere`.
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

    /// Writes junit.xml to its folder, and also to `elsewhere`.
    pub(super) fn write_junit(&self, elsewhere: Option<&Path>) -> Result<(), ReportError> {
        let (run, zero, began) = (&self.header.run, self.header.zero, self.header.zero_wall);
        let lasted = self.last.map_or(Duration::ZERO, |last| last.since(zero));
        let run = JunitRun { report: &self.report, run, began, lasted, trouble: None };
        let text = junit(run.run, &[JunitSuite::Judged(run)]).map_err(ReportError::Xml)?;
        everywhere(&self.dir.join(JUNIT_FILE), elsewhere, &text)
    }

    /// Writes traces.otlp.json.
    pub(super) fn write_traces(&self, traces: &Traces) -> Result<(), ReportError> {
        let written: Written = replace(&self.dir.join(TRACES_FILE), |file| {
            let mut file = BufWriter::new(file);
            let written = document::write(traces, document::SIZE_MAX, &mut file)?;
            file.flush()?;
            Ok(written)
        })?;
        if written.left_out > 0 {
            let (left_out, all) = (written.left_out, written.all());
            let what = format!("{TRACES_FILE} has no room for {left_out} of {all} spans");
            writeln!(super::console::err(), "{what}; `tandem export` sends them all").ok();
        }
        Ok(())
    }
}

/// The folder for the report: that of the run, or, for one journal file of several, a folder of its
/// own beside the file.
fn folder(dir: &Path) -> PathBuf {
    if !dir.is_file() {
        return dir.to_owned();
    }
    let own = dir.with_extension("");
    // If this fails, writing the files fails with an error.
    fs::create_dir_all(&own).ok();
    own
}

/// Writes `text` to both files, also if one of them cannot be written.
fn everywhere(own: &Path, elsewhere: Option<&Path>, text: &str) -> Result<(), ReportError> {
    let write = |path| replace(path, |file| file.write_all(text.as_bytes()));
    write(own).and(elsewhere.map_or(Ok(()), write))
}

/// Whether to print colours on the standard output.
#[must_use]
pub(super) fn colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !refused && io::stdout().is_terminal()
}

fn replace<R>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<R>,
) -> Result<R, ReportError> {
    write_to(path, fill).map_err(|source| ReportError::Write { path: path.to_owned(), source })
}

/// Prints to the standard output. A closed pipe (`| head`) is not an error.
pub(super) fn print(text: &str) -> Result<(), ReportError> {
    let mut out = super::console::out();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(ReportError::Print(source))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
