//! `tandem report`: judges a finished run again, from its journal alone.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Output;
use super::judged::{Judged, ReportError, colour, print};
use super::metering::Metering;
use super::sending::Sending;
use crate::telemetry::PATIENCE;
use crate::telemetry::document::Written;
use crate::verdict::{Telemetry, exit_code, render_telemetry};

/// Judge a finished run again, from its journal alone.
///
/// Writes result.json, junit.xml, report.html (one file that a browser opens without a network)
/// and traces.otlp.json again, too. What result.json says of telemetry stays: that is no part of
/// the judgement.
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
pub(super) fn run(args: &ReportArgs) -> Result<u8, ReportError> {
    let (mut judged, timeline) = Judged::of(&args.dir)?;
    judged.report.telemetry = judged.remembered();
    judged.write_page(&timeline, args.html.as_deref())?;
    judged.write_junit(args.junit.as_deref())?;
    judged.tell(args.output, colour())?;
    judged.write_traces(&judged.traces(timeline))?;
    Ok(exit_code(&judged.report))
}

/// Judges the run in `dir`, which has just ended: writes its result and its page, prints the
/// report, and returns the exit code. What is still to be sent is sent then, and waited for within
/// a bound.
pub(super) fn conclude(
    dir: &Path,
    output: Output,
    junit: Option<&Path>,
    sending: Option<Sending>,
    metering: Metering,
) -> Result<u8, ReportError> {
    let judged = judge(dir, output, junit, sending.as_ref());
    // What it lost it tells, whatever became of the verdict.
    let metrics = metering.finish();
    let (mut judged, written) = judged?;
    if let Some(sending) = sending {
        let telemetry = sending.finish(written.all(), judged.logs());
        let telemetry = Telemetry { metrics, ..telemetry };
        let text = render_telemetry(&telemetry, colour());
        if telemetry.lossy() {
            let told = telemetry.told().join("; ");
            let again = "; `tandem export` sends spans and log records again";
            let again = if telemetry.lacks() { again } else { "" };
            writeln!(io::stderr(), "telemetry: {told}{again}").ok();
        }
        judged.report.telemetry = Some(telemetry);
        judged.write()?;
        if output == Output::Text {
            print(&text)?;
        }
    }
    Ok(exit_code(&judged.report))
}

/// Judges the run, writes all its files, prints the report, and hands its traces to `sending`.
fn judge(
    dir: &Path,
    output: Output,
    junit: Option<&Path>,
    sending: Option<&Sending>,
) -> Result<(Judged, Written), ReportError> {
    let (judged, timeline) = Judged::of(dir)?;
    judged.write_page(&timeline, None)?;
    judged.write_junit(junit)?;
    judged.tell(output, colour())?;
    let traces = Arc::new(judged.traces(timeline));
    if let Some(sending) = sending {
        sending.send(&traces, PATIENCE);
    }
    let written = judged.write_traces(&traces)?;
    Ok((judged, written))
}
