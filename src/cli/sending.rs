//! Options for telemetry over OTLP, and the report on what was sent.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::Failure;
use super::judged::{Judged, ReportError};
use crate::controller::Recorder;
use crate::journal::Header;
use crate::run::OnRecorder;
use crate::telemetry::{
    ExportSettings, Heard, Listener, Live, RunContext, Sent, Session, Target, Traces,
};
use crate::verdict::{Exit, Telemetry};

/// The collector for telemetry.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct OtlpArgs {
    /// Send telemetry to this collector over OTLP, as in http://127.0.0.1:4318, or,
    /// with OTEL_EXPORTER_OTLP_PROTOCOL=grpc, http://127.0.0.1:4317 [default: the value of
    /// OTEL_EXPORTER_OTLP_ENDPOINT].
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl OtlpArgs {
    /// The same option for a child process.
    pub(super) fn passed(&self) -> Option<String> {
        self.otlp.as_ref().map(|url| format!("--otlp={url}"))
    }

    /// The settings for sending; `None` without a collector.
    pub(super) fn settings(&self) -> Result<Option<ExportSettings>, Failure> {
        settings(self.otlp.as_deref())
    }
}

/// The settings for sending to `url`, or to the collector in the environment; `None` without a
/// collector.
///
/// # Errors
/// A setting is invalid.
pub(super) fn settings(url: Option<&str>) -> Result<Option<ExportSettings>, Failure> {
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let settings = ExportSettings::read(url, variable);
    let settings = settings.map_err(|error| Failure::new(Exit::Invalid, &error))?;
    for note in settings.iter().flat_map(|settings| &settings.notes) {
        // No log is set up yet. A closed standard error is not an error.
        writeln!(super::console::err(), "of OpenTelemetry's variables: {note}").ok();
    }
    Ok(settings)
}

/// Sends the telemetry of one run.
pub(super) struct Sending {
    session: Session,
    to: Vec<String>,
}

impl Sending {
    /// Starts the sender, before anything else of the run is started.
    pub(super) fn start(
        settings: &ExportSettings,
        header: &Header,
        live: Live,
    ) -> Result<Self, Failure> {
        let session = Session::start(settings, RunContext::of(header), live);
        let session = session.map_err(|error| Failure::new(Exit::Unable, &error))?;
        let mut to: Vec<_> = settings.targets().map(Target::shown).collect();
        to.dedup();
        Ok(Self { session, to })
    }

    /// A callback that makes the sender of logs follow the recorder.
    pub(super) fn on_recorder(sending: Option<&Self>) -> OnRecorder {
        let listener = sending.and_then(|sending| sending.session.listener());
        Box::new(move |record: &Recorder| {
            if let Some(Err(error)) =
                listener.clone().map(|one: Listener| one.hear(record.follow()))
            {
                tracing::warn!(%error, "The logs of this run cannot be sent.");
            }
        })
    }

    /// Sends all logs of a run that is over, by reading its journal again.
    ///
    /// # Errors
    /// The journal can no longer be read.
    pub(super) fn replay(&self, judged: &Judged) -> Result<(), ReportError> {
        // Every line was read without an error a moment ago.
        self.session.replay(judged.reading()?.map_while(Result::ok));
        Ok(())
    }

    /// Starts to send traces, which must end `within` the time.
    pub(super) fn send(&self, traces: &Arc<Traces>, within: Duration) {
        self.session.hurry(within);
        self.session.send(Arc::clone(traces));
    }

    /// Called when nothing more comes: limits the time to send the rest.
    pub(super) fn hurry(&self, within: Duration) {
        self.session.hurry(within);
    }

    /// A callback that makes the sender follow the recorder, and send a trace for each window of
    /// time, with linked logs. If no traces are sent, only logs.
    pub(super) fn on_recorder_with_windows(&self, header: &Header, length: Duration) -> OnRecorder {
        let windows = self.session.windows(header, length);
        let Some(feed) = windows else { return Self::on_recorder(Some(self)) };
        Box::new(move |record: &Recorder| {
            if let Err(error) = feed.clone().hear(record.follow(), Arc::clone(record.fold())) {
                tracing::warn!(%error, "The traces and logs of this run cannot be sent.");
            }
        })
    }

    /// Waits until everything from a live run is sent, or the time for it is over. Returns what was
    /// sent, and what was received from the run.
    pub(super) fn finish_heard(self) -> (Telemetry, Arc<Heard>) {
        let (heard, signals) = (self.session.heard(), self.session.signals());
        let sent = self.session.finish();
        // After `finish`, the counts of `heard` are final.
        (describe(self.to, signals, sent, (heard.spans(), heard.records())), heard)
    }

    /// Waits until everything is sent, or the time for it is over. `spans` and `logs` are the
    /// numbers to send.
    pub(super) fn finish(self, spans: u64, logs: u64) -> Telemetry {
        let signals = self.session.signals();
        describe(self.to, signals, self.session.finish(), (spans, logs))
    }
}

/// The report on what was sent. The pairs are for traces and for logs.
fn describe(
    to: Vec<String>,
    (has_traces, has_logs): (bool, bool),
    (of_traces, of_logs): (Sent, Sent),
    (spans, logs): (u64, u64),
) -> Telemetry {
    let spans = if has_traces { spans.saturating_add(of_traces.more) } else { 0 };
    let logs = if has_logs { logs } else { 0 };
    Telemetry {
        to,
        spans,
        spans_lost: spans.saturating_sub(of_traces.taken),
        logs,
        logs_lost: logs.saturating_sub(of_logs.taken),
        why: of_traces.why.or(of_logs.why),
        metrics: None,
    }
}
