//! `tandem report`: judges a finished run again, from its journal.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Output;
use super::export::runs;
use super::judged::{Judged, ReportError, colour, print};
use super::metering::Metering;
use super::sending::Sending;
use crate::run::JudgedRun;
use crate::telemetry::PATIENCE;
use crate::timeline::Timeline;
use crate::verdict::{Exit, Report, Telemetry, render_telemetry};

/// Judge a finished run again, from its journal.
///
/// Also writes result.json, junit.xml, report.html (one file that a browser opens without a
/// network) and traces.otlp.json again. The telemetry section of result.json is kept, because it is
/// not part of the judgement. If a file cannot be written, the command reports that and writes the
/// others.
///
/// A topology that `tandem up` keeps up is judged by its objective: kept (exit code 0), not kept
/// (3), or unknown (4). While it is up, the report covers the time so far.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem report tandem-out/kill-leader-20261121T132004.123Z
  tandem report tandem-out/RUN -o json | jq .confidence
  tandem report tandem-out/RUN --junit reports/availability.xml")]
pub(super) struct ReportArgs {
    /// The folder of the run, which has journal.jsonl, or journal-000001.jsonl and so on; or one of
    /// these files, whose report goes into a folder of its own beside it.
    pub dir: PathBuf,
    /// How to print the report.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// Also write report.html to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write junit.xml to this file.
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
    files.note(judged.print_report(args.output, colour()));
    files.write(&judged, &timeline, [args.html.as_deref(), args.junit.as_deref()]);
    files.note(judged.write_traces(&judged.traces(timeline)));
    Ok(files.exit(&judged.report))
}

/// Prints the report on the run in `dir`, which has just ended, writes its files, and returns the
/// exit code. Also sends the remaining telemetry, and waits for that within a bound.
pub(super) fn conclude(
    judged: JudgedRun,
    dir: &Path,
    output: Output,
    junit: Option<&Path>,
    sending: Option<Sending>,
    metering: Metering,
) -> Exit {
    let mut files = Files::default();
    let (mut judged, timeline) = Judged::new(judged, dir);
    let spans = files.publish(&judged, timeline, output, junit, sending.as_ref());
    let metrics = metering.finish();
    if let Some(sending) = sending {
        let telemetry = sending.finish(spans, judged.logs);
        let telemetry = Telemetry { metrics, ..telemetry };
        let text = render_telemetry(&telemetry, colour(), super::console::columns());
        if telemetry.lossy() {
            let sent = telemetry.describe().join("; ");
            let again = "; `tandem export` sends spans and log records again";
            let again = if telemetry.lacks() { again } else { "" };
            writeln!(super::console::err(), "telemetry: {sent}{again}").ok();
        }
        judged.report.telemetry = Some(telemetry);
        files.note(judged.write());
        if output == Output::Text {
            files.note(print(&text));
        }
    }
    files.exit(&judged.report)
}

/// The outputs of a report. An output that cannot be written is reported, and does not stop the
/// others.
#[derive(Default)]
struct Files {
    lacking: bool,
}

impl Files {
    /// Prints the report, writes its files, and passes its traces to `sending`. Returns the number
    /// of spans.
    fn publish(
        &mut self,
        judged: &Judged,
        timeline: Timeline,
        output: Output,
        junit: Option<&Path>,
        sending: Option<&Sending>,
    ) -> u64 {
        self.note(judged.print_report(output, colour()));
        self.write(judged, &timeline, [None, junit]);
        let traces = Arc::new(judged.traces(timeline));
        if let Some(sending) = sending {
            sending.send(&traces, PATIENCE);
        }
        self.note(judged.write_traces(&traces));
        traces.count()
    }

    /// Writes result.json, junit.xml and report.html; the latter two also to `elsewhere`.
    fn write(&mut self, judged: &Judged, timeline: &Timeline, elsewhere: [Option<&Path>; 2]) {
        let [html, junit] = elsewhere;
        self.note(judged.write());
        self.note(judged.write_junit(junit));
        self.note(judged.write_page(timeline, html));
    }

    fn note(&mut self, done: Result<(), ReportError>) {
        if let Err(error) = done {
            self.lacking = true;
            // A closed standard error is not an error; the exit code counts.
            writeln!(super::console::err(), "{}", crate::error::chain(&error)).ok();
        }
    }

    /// The exit code of the run, or "unable" if it passed but some output could not be written.
    fn exit(&self, report: &Report) -> Exit {
        let exit = Exit::of(report);
        if exit == Exit::Pass && self.lacking { Exit::Unable } else { exit }
    }
}
