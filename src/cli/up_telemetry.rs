//! Telemetry of `tandem up`: traces, logs and live metrics, sent while it runs.

use std::io::Write;
use std::time::Duration;

use super::Failure;
use super::metering::{Metering, MetricsArgs, interval};
use super::sending::{Sending, settings};
use crate::journal::Header;
use crate::run::UpkeepRequest;
use crate::telemetry::{ExportSettings, Live, PATIENCE};
use crate::time::{Span, SpanError};

/// The shortest and the longest window of a trace.
const WINDOW: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(3_600)];

/// The options for traces, metrics and logs.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct UpTelemetryArgs {
    /// Send traces, logs and metrics to this collector over OTLP while it runs, as in
    /// http://127.0.0.1:4318, or, with OTEL_EXPORTER_OTLP_PROTOCOL=grpc, http://127.0.0.1:4317
    /// [default: the value of OTEL_EXPORTER_OTLP_ENDPOINT]. Each trace covers one window of time,
    /// and is sent a few seconds after it; `tandem export` makes one trace of all journals.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// The window of time that each trace covers, from 5s to 1h.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = window)]
    window: Span,
    #[command(flatten)]
    metrics: MetricsArgs,
}

/// The settings from the environment and the command line.
pub(super) struct Wanted {
    settings: Option<ExportSettings>,
    interval: Duration,
}

fn window(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: SpanError| error.to_string())?;
    let [least, most] = WINDOW;
    let fits = (least..=most).contains(&span.get());
    fits.then_some(span).ok_or_else(|| "write a duration from 5s to 1h, as in 60s".to_owned())
}

impl UpTelemetryArgs {
    /// Reads the settings, and starts nothing.
    ///
    /// # Errors
    /// A setting is invalid.
    pub(super) fn read(&self) -> Result<Wanted, Failure> {
        Ok(Wanted { settings: settings(self.otlp.as_deref())?, interval: interval()? })
    }
}

impl Wanted {
    /// Whether traces are sent.
    pub(super) fn has_traces(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.traces.is_some())
    }
}

/// The telemetry of one run of `tandem up`.
pub(super) struct UpTelemetry {
    metering: Metering,
    sending: Option<Sending>,
    live: Live,
    window: Duration,
}

impl UpTelemetry {
    /// Binds the address for metrics, and starts to count and send. `live` has the spans of the
    /// program itself.
    ///
    /// # Errors
    /// The address is in use, or a thread cannot be started.
    pub(super) fn start(
        wanted: &Wanted,
        args: &UpTelemetryArgs,
        header: &Header,
        live: Live,
    ) -> Result<Self, Failure> {
        let Wanted { settings, interval } = wanted;
        let settings = settings.as_ref();
        let listener = args.metrics.bind()?;
        let metering = Metering::start(header, settings, *interval, listener, None)?;
        let sends = settings.filter(|one| one.logs.is_some() || one.traces.is_some());
        let sending = sends.map(|settings| Sending::start(settings, header, live.clone()));
        let (sending, window) = (sending.transpose()?, args.window.get());
        Ok(Self { metering, sending, live, window })
    }

    /// Makes it follow the facts, and when the members are asked to leave.
    pub(super) fn follow(&self, request: &mut UpkeepRequest) {
        if let Some(sending) = &self.sending {
            // Of the past, another `tandem up` has sent logs and traces.
            request.on_caught = sending.on_recorder_with_windows(&request.header, self.window);
        }
        let live = self.live.clone();
        request.on_operation = Box::new(move |operation| live.take(operation));
        self.metering.follow(&mut request.on_recorder);
    }

    /// Called when the run is over: sends the rest, for at most two seconds, and prints what was
    /// lost.
    pub(super) fn finish(mut self) {
        self.metering.conclude();
        if let Some(sending) = &self.sending {
            sending.hurry(PATIENCE);
        }
        let metrics = self.metering.finish();
        let mut err = super::console::err();
        // A closed standard error is not an error.
        if let Some(lost) = metrics.and_then(|metrics| metrics.lost()) {
            writeln!(err, "telemetry: {lost}").ok();
        }
        let Some((sent, heard)) = self.sending.map(Sending::finish_heard) else { return };
        if heard.missed() > 0 {
            let missed = heard.missed();
            writeln!(err, "logs: {missed} facts were missed; the journal has them all").ok();
        }
        if heard.overlooked() > 0 {
            let missed = heard.overlooked();
            let unknown = "their time is unknown in traces, and the journal has them all";
            writeln!(err, "traces: {missed} facts were missed; {unknown}").ok();
        }
        if sent.lossy() {
            let sent = sent.describe().join("; ");
            writeln!(err, "telemetry: {sent}; `tandem export` sends what the journals have").ok();
        }
    }
}
