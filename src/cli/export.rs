//! `tandem export`: sends finished runs to a collector.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Failure;
use super::judged::Judged;
use super::sending::{OtlpArgs, Sending};
use crate::journal::list_parts;
use crate::run::JOURNAL_FILE;
use crate::telemetry::{ExportSettings, Live};
use crate::time::Span;
use crate::verdict::{Exit, Telemetry};

/// Send finished runs to a collector of telemetry, over OTLP.
///
/// Sends the traces and logs of each run from its journal, and records in its result.json what the
/// collector took. Ids are derived from the run, so a run that is sent twice has the same trace. A
/// run of `tandem up` is sent as one trace, as far back as its journals are kept; the windows that
/// `up` sends while it runs are other traces, with other ids, and are not sent again. The collector
/// and its settings are read from OpenTelemetry's variables (OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS,
/// _PROTOCOL, _TIMEOUT, _COMPRESSION, _CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY; each also for
/// one signal, as in OTEL_EXPORTER_OTLP_TRACES_ENDPOINT).
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem export tandem-out/kill-leader-20261121T132004.123Z --otlp http://127.0.0.1:4318
  OTEL_EXPORTER_OTLP_ENDPOINT=https://collector:4318 tandem export tandem-out/*")]
pub(super) struct ExportArgs {
    /// Folders of runs, each with its journal, or of suites.
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    otlp: OtlpArgs,
    /// How long it may take to send one run.
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    within: Span,
}

/// Runs the command, and returns its exit code.
pub(super) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let Some(settings) = args.otlp.settings()? else {
        let meant = "name a collector with --otlp URL or OTEL_EXPORTER_OTLP_ENDPOINT";
        return Err(Failure::text(Exit::Invalid, format!("nothing to send to: {meant}")));
    };
    let mut exit = Exit::Pass;
    for dir in &args.dirs.iter().flat_map(|dir| runs(dir)).collect::<Vec<_>>() {
        // After an error, continue with the next run.
        match export(dir, &settings, args.within) {
            Ok(true) => {}
            Ok(false) => exit = Exit::Unable,
            Err(failure) => {
                writeln!(super::console::err(), "{}: {failure}", dir.display()).ok();
                exit = Exit::Unable;
            }
        }
    }
    Ok(exit)
}

/// The folder itself if it has a journal, else the folders in it that have one: the runs of a
/// suite.
pub(super) fn runs(dir: &Path) -> Vec<PathBuf> {
    if is_run(dir) {
        return vec![dir.to_owned()];
    }
    let inside = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<_> = inside.filter(|path| path.is_dir() && is_run(path)).collect();
    runs.sort();
    // Without any, the error names the folder itself.
    if runs.is_empty() { vec![dir.to_owned()] } else { runs }
}

fn is_run(dir: &Path) -> bool {
    let has_parts = || list_parts(dir).is_ok_and(|parts| !parts.is_empty());
    dir.join(JOURNAL_FILE).exists() || has_parts()
}

/// Sends one run. Returns whether the collector took all of it.
fn export(dir: &Path, settings: &ExportSettings, within: Span) -> Result<bool, Failure> {
    let failed = |error| Failure::new(Exit::Unable, &error);
    let (mut judged, timeline) = Judged::of(dir).map_err(failed)?;
    let sending = Sending::start(settings, &judged.header, Live::default())?;
    let traces = Arc::new(judged.traces(timeline));
    sending.replay(&judged).map_err(failed)?;
    sending.send(&traces, within.get());
    let telemetry = sending.finish(traces.count(), judged.logs);
    let (sent, whole) = (telemetry.describe().join("; "), !telemetry.lossy());
    // Metrics are only sent while a run goes on, so their result is kept.
    let metrics = judged.remembered().and_then(|earlier| earlier.metrics);
    judged.report.telemetry = Some(Telemetry { metrics, ..telemetry });
    judged.write().map_err(failed)?;
    let line = format!("{}: {sent}", dir.display());
    if whole {
        // A closed pipe (`| head`) is not an error.
        writeln!(super::console::out(), "{line}").ok();
    } else {
        writeln!(super::console::err(), "{line}").ok();
    }
    Ok(whole)
}
