//! Telemetry on the command line: where it goes, and what is said of what was sent.

use std::sync::Arc;
use std::time::Duration;

use super::Failure;
use super::judged::{Judged, ReportError};
use crate::controller::Record;
use crate::journal::Header;
use crate::run::Show;
use crate::telemetry::{Heard, Listener, Live, Scene, Sent, Session, Settings, Target, Traces};
use crate::verdict::{Exit, Telemetry};

/// Where telemetry goes.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct OtlpArgs {
    /// Send traces, logs and metrics to this collector, over OTLP; instead of what
    /// OTEL_EXPORTER_OTLP_ENDPOINT names. As in http://127.0.0.1:4318, or with
    /// OTEL_EXPORTER_OTLP_PROTOCOL=grpc http://127.0.0.1:4317.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
}

impl OtlpArgs {
    /// The same for a run that another process plays.
    pub(super) fn passed(&self) -> Option<String> {
        self.otlp.as_ref().map(|url| format!("--otlp={url}"))
    }

    /// Where telemetry goes; nothing where nobody named a collector.
    pub(super) fn settings(&self) -> Result<Option<Settings>, Failure> {
        settings(self.otlp.as_deref())
    }
}

/// Where telemetry goes: to `url`, else where the environment says; nothing where nobody named a
/// collector.
///
/// # Errors
/// Something that is said cannot be meant.
pub(super) fn settings(url: Option<&str>) -> Result<Option<Settings>, Failure> {
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    Settings::read(url, variable).map_err(|error| Failure::new(Exit::Invalid, &error))
}

/// What is sent of one run.
pub(super) struct Sending {
    session: Session,
    to: Vec<String>,
}

impl Sending {
    /// Starts what sends, before anything else of the run is started.
    pub(super) fn start(settings: &Settings, header: &Header, live: Live) -> Result<Self, Failure> {
        let session = Session::start(settings, Scene::of(header), live);
        let session = session.map_err(|error| Failure::new(Exit::Unable, &error))?;
        let mut to: Vec<_> = settings.targets().map(Target::shown).collect();
        to.dedup();
        Ok(Self { session, to })
    }

    /// What shows the record to whoever sends logs of it.
    pub(super) fn show(sending: Option<&Self>) -> Show {
        let listener = sending.and_then(|sending| sending.session.listener());
        Box::new(move |record: &Record| {
            if let Some(Err(error)) =
                listener.clone().map(|one: Listener| one.hear(record.follow()))
            {
                tracing::warn!(%error, "No logs of this run are sent.");
            }
        })
    }

    /// Sends all logs of a run that is over; reads its journal again meanwhile.
    ///
    /// # Errors
    /// The journal cannot be read any more.
    pub(super) fn replay(&self, judged: &Judged) -> Result<(), ReportError> {
        // A line that was read a moment ago is read again.
        self.session.replay(judged.reading()?.map_while(Result::ok));
        Ok(())
    }

    /// Sends traces; nobody waits for them yet.
    pub(super) fn send(&self, traces: &Arc<Traces>, within: Duration) {
        self.session.hurry(within);
        self.session.send(Arc::clone(traces));
    }

    /// Nothing comes any more; nobody waits for longer than this for what is left.
    pub(super) fn hurry(&self, within: Duration) {
        self.session.hurry(within);
    }

    /// What shows the record to whoever sends a trace of each window of it, and logs that lead
    /// there; where traces go nowhere, to whoever sends logs.
    pub(super) fn show_windows(&self, header: &Header, length: Duration) -> Show {
        let windows = self.session.windows(header, length);
        let Some(feed) = windows else { return Self::show(Some(self)) };
        Box::new(move |record: &Record| {
            if let Err(error) = feed.clone().hear(record.follow(), Arc::clone(record.fold())) {
                tracing::warn!(%error, "No traces and no logs of this run are sent.");
            }
        })
    }

    /// Waits until all was sent that was handed in while the run went on, or until the time for it
    /// is over. What became of it, and what was heard.
    pub(super) fn finish_heard(self) -> (Telemetry, Arc<Heard>) {
        let (heard, signals) = (self.session.heard(), self.session.signals());
        let sent = self.session.finish();
        // Until then some was still handed in.
        (describe(self.to, signals, sent, (heard.spans(), heard.records())), heard)
    }

    /// Waits until all was sent, or until the time for it is over; `spans` and `logs` is what there
    /// was to be sent.
    pub(super) fn finish(self, spans: u64, logs: u64) -> Telemetry {
        let signals = self.session.signals();
        describe(self.to, signals, self.session.finish(), (spans, logs))
    }
}

/// What is said of what was sent; first of traces, then of logs.
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
