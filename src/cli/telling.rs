//! What `tandem up` tells other systems while it goes on: traces, logs and live metrics, with the
//! code that tells them of an experiment.

use std::io::Write;
use std::time::Duration;

use super::Failure;
use super::metering::{Metering, MetricsArgs, interval};
use super::sending::{Sending, settings};
use crate::journal::Header;
use crate::run::Upkeep;
use crate::telemetry::{Live, PATIENCE, Settings};
use crate::time::{Span, SpanError};

/// The shortest window of a trace, and the longest.
const WINDOW: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(3_600)];

/// Where traces, metrics and logs go.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct TellingArgs {
    /// Send traces, logs and metrics to this collector while it goes on, over OTLP; instead of what
    /// OTEL_EXPORTER_OTLP_ENDPOINT names. As in http://127.0.0.1:4318, or with
    /// OTEL_EXPORTER_OTLP_PROTOCOL=grpc http://127.0.0.1:4317. A trace is of one window of time,
    /// and leaves a second or a few after it; `tandem export` makes one trace of all journals.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Of how much time each trace is that is sent while it goes on, from 5s to 1h.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = window)]
    window: Span,
    #[command(flatten)]
    metrics: MetricsArgs,
}

/// What the environment and the command line ask for.
pub(super) struct Wanted {
    settings: Option<Settings>,
    interval: Duration,
}

fn window(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: SpanError| error.to_string())?;
    let [least, most] = WINDOW;
    let fits = (least..=most).contains(&span.get());
    fits.then_some(span).ok_or_else(|| "write a duration from 5s to 1h, as in 60s".to_owned())
}

impl TellingArgs {
    /// Reads what is asked for; nothing is touched.
    ///
    /// # Errors
    /// Something that is said cannot be meant.
    pub(super) fn read(&self) -> Result<Wanted, Failure> {
        Ok(Wanted { settings: settings(self.otlp.as_deref())?, interval: interval()? })
    }
}

impl Wanted {
    /// Whether anybody wants traces.
    pub(super) fn has_traces(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.traces.is_some())
    }
}

/// What is told of one topology that is kept up.
pub(super) struct Telling {
    metering: Metering,
    sending: Option<Sending>,
    window: Duration,
}

impl Telling {
    /// Takes the address, and starts what counts and sends; `live` hears of live operations.
    ///
    /// # Errors
    /// Somebody has the address already, or the system refuses.
    pub(super) fn start(
        wanted: &Wanted,
        args: &TellingArgs,
        header: &Header,
        live: Live,
    ) -> Result<Self, Failure> {
        let Wanted { settings, interval } = wanted;
        let settings = settings.as_ref();
        let listener = args.metrics.bind()?;
        let metering = Metering::start(header, settings, *interval, listener, None)?;
        let sends = settings.filter(|one| one.logs.is_some() || one.traces.is_some());
        let sending = sends.map(|settings| Sending::start(settings, header, live)).transpose()?;
        Ok(Self { metering, sending, window: args.window.get() })
    }

    /// Lets them follow the facts, and when members are sent home.
    pub(super) fn follow(&self, order: &mut Upkeep) {
        if let Some(sending) = &self.sending {
            order.show = sending.show_windows(&order.header, self.window);
        }
        self.metering.follow(&mut order.show);
    }

    /// Everything is over: sends what is left, for two seconds at most; tells what was lost.
    pub(super) fn finish(mut self) {
        self.metering.conclude();
        if let Some(sending) = &self.sending {
            sending.hurry(PATIENCE);
        }
        let metrics = self.metering.finish();
        let mut err = super::console::err();
        // Nobody reads it: it is so all the same.
        if let Some(lost) = metrics.and_then(|metrics| metrics.lost()) {
            writeln!(err, "telemetry: {lost}").ok();
        }
        let Some((told, heard)) = self.sending.map(Sending::finish_heard) else { return };
        if heard.missed() > 0 {
            let missed = heard.missed();
            writeln!(err, "logs: {missed} facts were missed; the journal has them all").ok();
        }
        if heard.overlooked() > 0 {
            let missed = heard.overlooked();
            let unknown = "their time is unknown in traces, and the journal has them all";
            writeln!(err, "traces: {missed} facts were missed; {unknown}").ok();
        }
        if told.lossy() {
            let told = told.describe().join("; ");
            writeln!(err, "telemetry: {told}; `tandem export` sends what the journals tell").ok();
        }
    }
}
