//! What `tandem up` tells other systems while it goes on: live metrics and logs, with the code that
//! tells them of an experiment.

use std::io::Write;
use std::time::Duration;

use super::Failure;
use super::metering::{Metering, MetricsArgs, interval};
use super::sending::{Sending, settings};
use crate::journal::Header;
use crate::run::Upkeep;
use crate::telemetry::{Live, PATIENCE, Settings};

/// Where metrics and logs go.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct TellingArgs {
    /// Send metrics and logs to this collector while it goes on, over OTLP; instead of what
    /// OTEL_EXPORTER_OTLP_ENDPOINT names. As in http://127.0.0.1:4318, or with
    /// OTEL_EXPORTER_OTLP_PROTOCOL=grpc http://127.0.0.1:4317. Traces are made of its journals, by
    /// `tandem export`.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    #[command(flatten)]
    metrics: MetricsArgs,
}

/// What the environment and the command line ask for.
pub(super) struct Wanted {
    settings: Option<Settings>,
    interval: Duration,
}

impl TellingArgs {
    /// Reads what is asked for; nothing is touched.
    ///
    /// # Errors
    /// Something that is said cannot be meant.
    pub(super) fn read(&self) -> Result<Wanted, Failure> {
        let settings = settings(self.otlp.as_deref())?;
        // Who led what is known of a trial that is over, and this one is not.
        let settings = settings.map(|settings| Settings { traces: None, ..settings });
        Ok(Wanted { settings, interval: interval()? })
    }
}

/// What is told of one topology that is kept up.
pub(super) struct Telling {
    metering: Metering,
    sending: Option<Sending>,
}

impl Telling {
    /// Takes the address, and starts what counts and sends.
    ///
    /// # Errors
    /// Somebody has the address already, or the system refuses.
    pub(super) fn start(
        wanted: &Wanted,
        args: &TellingArgs,
        header: &Header,
    ) -> Result<Self, Failure> {
        let Wanted { settings, interval } = wanted;
        let settings = settings.as_ref();
        let listener = args.metrics.bind()?;
        let metering = Metering::start(header, settings, *interval, listener, None)?;
        let sends = settings.filter(|settings| settings.logs.is_some());
        let sending = sends.map(|settings| Sending::start(settings, header, Live::default()));
        Ok(Self { metering, sending: sending.transpose()? })
    }

    /// Lets them follow the facts, and when members are sent home.
    pub(super) fn follow(&self, order: &mut Upkeep) {
        order.show = Sending::show(self.sending.as_ref());
        self.metering.follow(&mut order.show, &mut order.tell);
    }

    /// Everything is over: sends what is left, for two seconds at most; tells what was lost.
    pub(super) fn finish(mut self) {
        self.metering.conclude();
        if let Some(sending) = &self.sending {
            sending.hurry(PATIENCE);
        }
        let metrics = self.metering.finish();
        let mut err = std::io::stderr();
        // Nobody reads it: it is so all the same.
        if let Some(lost) = metrics.and_then(|metrics| metrics.lost()) {
            writeln!(err, "telemetry: {lost}").ok();
        }
        let Some((logs, missed)) = self.sending.map(Sending::finish_logs) else { return };
        if missed > 0 {
            writeln!(err, "logs: {missed} facts were missed; the journal has them all").ok();
        }
        if logs.lossy() {
            let told = logs.told().join("; ");
            writeln!(err, "telemetry: {told}; `tandem export` sends all of it again").ok();
        }
    }
}
