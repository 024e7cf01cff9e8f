//! `tandem report`: judges a finished run again, from its journal alone.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Output;
use super::export::runs;
use super::judged::{Judged, ReportError, colour, print};
use super::metering::Metering;
use super::sending::Sending;
use crate::telemetry::PATIENCE;
use crate::timeline::Timeline;
use crate::verdict::{Exit, Report, Telemetry, render_telemetry};

/// Judge a finished run again, from its journal alone.
///
/// Writes result.json, junit.xml, report.html (one file that a browser opens without a network)
/// and traces.otlp.json again, too. What result.json says of telemetry stays: that is no part of
/// the judgement. A file that cannot be written is told, and keeps no other from it.
///
/// A topology that `tandem up` keeps up is judged by the gaps that its objective allows: kept (exit
/// code 0), not kept (3), or unknown (4). While it goes on, the report says how it stands so far.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem report tandem-out/kill-leader-20261121T132004.123Z
  tandem report tandem-out/RUN -o json | jq .confidence
  tandem report tandem-out/RUN --junit reports/availability.xml")]
pub(super) struct ReportArgs {
    /// The folder of the run, which holds journal.jsonl, or journal-000001.jsonl and so on; or one
    /// of those, which is judged into a folder of its own beside it.
    pub dir: PathBuf,
    /// How to print the report.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Write the page there as well.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write junit.xml there as well.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Runs the command; returns the exit code of the run that it judges.
pub(super) fn run(args: &ReportArgs) -> Result<Exit, ReportError> {
    let runs = runs(&args.dir);
    if let Some(first) = runs.first().filter(|first| **first != args.dir) {
        let (suite, first) = (args.dir.clone(), first.clone());
        return Err(ReportError::Suite { suite, first });
    }
    let (mut judged, timeline) = Judged::of(&args.dir)?;
    judged.report.telemetry = judged.remembered();
    let mut files = Files::default();
    files.note(judged.tell(args.output, colour()));
    files.write(&judged, &timeline, [args.html.as_deref(), args.junit.as_deref()]);
    files.note(judged.write_traces(&judged.traces(timeline)));
    Ok(files.exit(&judged.report))
}

/// Judges the run in `dir`, which has just ended: prints the report, writes its result and its
/// page, and returns the exit code. What is still to be sent is sent then, and waited for within
/// a bound.
pub(super) fn conclude(
    dir: &Path,
    output: Output,
    junit: Option<&Path>,
    sending: Option<Sending>,
    metering: Metering,
) -> Result<Exit, ReportError> {
    let mut files = Files::default();
    let judged = judge(dir, output, junit, sending.as_ref(), &mut files);
    // What it lost it tells, whatever became of the verdict.
    let metrics = metering.finish();
    let (mut judged, spans) = judged?;
    if let Some(sending) = sending {
        let telemetry = sending.finish(spans, judged.logs);
        let telemetry = Telemetry { metrics, ..telemetry };
        let text = render_telemetry(&telemetry, colour(), super::console::columns());
        if telemetry.lossy() {
            let told = telemetry.describe().join("; ");
            let again = "; `tandem export` sends spans and log records again";
            let again = if telemetry.lacks() { again } else { "" };
            writeln!(super::console::err(), "telemetry: {told}{again}").ok();
        }
        judged.report.telemetry = Some(telemetry);
        files.note(judged.write());
        if output == Output::Text {
            files.note(print(&text));
        }
    }
    Ok(files.exit(&judged.report))
}

/// Judges the run, prints the report, writes all its files, and hands its traces to `sending`; how
/// many spans these have.
fn judge(
    dir: &Path,
    output: Output,
    junit: Option<&Path>,
    sending: Option<&Sending>,
    files: &mut Files,
) -> Result<(Judged, u64), ReportError> {
    let (judged, timeline) = Judged::of(dir)?;
    files.note(judged.tell(output, colour()));
    files.write(&judged, &timeline, [None, junit]);
    let traces = Arc::new(judged.traces(timeline));
    if let Some(sending) = sending {
        sending.send(&traces, PATIENCE);
    }
    files.note(judged.write_traces(&traces));
    Ok((judged, traces.count()))
}

/// What is said of a run, in files and on the standard output; what cannot be written is told, and
/// keeps nothing else from it.
#[derive(Default)]
struct Files {
    lacking: bool,
}

impl Files {
    /// The result, the page and what CI servers read; the latter two elsewhere as well.
    fn write(&mut self, judged: &Judged, timeline: &Timeline, elsewhere: [Option<&Path>; 2]) {
        let [html, junit] = elsewhere;
        self.note(judged.write());
        self.note(judged.write_junit(junit));
        self.note(judged.write_page(timeline, html));
    }

    fn note(&mut self, done: Result<(), ReportError>) {
        if let Err(error) = done {
            self.lacking = true;
            // Nobody reads it: the exit code says so, too.
            writeln!(super::console::err(), "{}", crate::error::chain(&error)).ok();
        }
    }

    /// That of the run; unable where that were a pass, and something could not be written.
    fn exit(&self, report: &Report) -> Exit {
        let exit = Exit::of(report);
        if exit == Exit::Pass && self.lacking { Exit::Unable } else { exit }
    }
}
