//! Options for live metrics: where they are scraped, how often they are sent, and the Grafana
//! dashboard that shows faults.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Failure;
use crate::controller::Recorder;
use crate::host::user;
use crate::journal::Header;
use crate::run::OnRecorder;
use crate::secret::fetch;
use crate::telemetry::{
    self, Annotations, ExportSettings, Grafana, INTERVAL, Metrics, Outlets, PATIENCE, Pushed,
    RunContext, Scrape,
};
use crate::time::Mono;
use crate::topology::Secret;
use crate::verdict::{Exit, MetricsSent};

/// The longest interval, in milliseconds.
const INTERVAL_MS_MAX: u64 = 3_600_000;
/// The variable with the interval at which metrics are sent.
const INTERVAL_VARIABLE: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// The variables with Grafana's token, or with the name of a file that has it.
const TOKEN: &str = "GRAFANA_TOKEN";
const TOKEN_FILE: &str = "GRAFANA_TOKEN_FILE";

/// Where metrics can be scraped.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct MetricsArgs {
    /// Serve live metrics to Prometheus at http://ADDR/metrics while the run goes on, as in
    /// 127.0.0.1:9464. Port 0 means any free port, which is printed.
    ///
    /// On a loopback address, only this user and root can read them. On any other address, every
    /// client that can reach it can read them.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// Let this user of this machine read them as well; a name or a number; can be repeated.
    #[arg(long = "metrics-user", value_name = "USER", requires = "metrics")]
    users: Vec<String>,
}

/// The Grafana that shows faults.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct GrafanaArgs {
    /// Show faults as annotations on the dashboard of this Grafana, as in http://127.0.0.1:3000.
    /// The token is read from the variable GRAFANA_TOKEN, or from the file that GRAFANA_TOKEN_FILE
    /// names.
    #[arg(long, value_name = "URL")]
    grafana: Option<String>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let meant = "write an IP address and a port, as in 127.0.0.1:9464 or [::]:9464";
    text.parse().map_err(|_| meant.to_owned())
}

/// The interval at which metrics are sent.
///
/// # Errors
/// The variable has an invalid value.
pub(super) fn interval() -> Result<Duration, Failure> {
    let Some(value) = std::env::var_os(INTERVAL_VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(INTERVAL);
    };
    let ms = value.to_str().and_then(|value| value.trim().parse().ok());
    let ms = ms.filter(|ms| (1..=INTERVAL_MS_MAX).contains(ms));
    ms.map(Duration::from_millis).ok_or_else(|| {
        let meant = "write a whole number of milliseconds, from 1 to 3600000";
        let message = format!("{INTERVAL_VARIABLE} is {}: {meant}", value.to_string_lossy());
        Failure::text(Exit::Invalid, message)
    })
}

impl MetricsArgs {
    /// The same option for a child process.
    pub(super) fn passed(&self) -> Option<String> {
        self.metrics.map(|address| format!("--metrics={address}"))
    }

    /// Binds the address.
    ///
    /// # Errors
    /// The address is in use or not available, or a user does not exist.
    pub(super) fn bind(&self) -> Result<Option<Scrape>, Failure> {
        let Some(address) = self.metrics else { return Ok(None) };
        let users = self.users.iter().map(|name| user(name)).collect::<Result<Vec<u32>, _>>();
        let users = users.map_err(|error| {
            Failure::text(Exit::Invalid, format!("--metrics-user is invalid: {error}"))
        })?;
        let open = !address.ip().is_loopback();
        if open && !users.is_empty() {
            let why = "because the kernel identifies users only there";
            let message =
                format!("--metrics-user needs a --metrics address on the loopback, {why}");
            return Err(Failure::text(Exit::Invalid, message));
        }
        let failed = |error: std::io::Error| {
            let what = "name another address with --metrics, or port 0 for any free port";
            Failure::text(
                Exit::Unable,
                format!("metrics cannot be served at {address}: {error}; {what}"),
            )
        };
        let scrape = telemetry::bind(address).map_err(failed)?.with_users(users);
        let bound = scrape.address();
        let who = if open { " (open to every client that can reach it)" } else { "" };
        // A closed standard error is not an error.
        writeln!(super::console::err(), "metrics: http://{bound}/metrics{who}").ok();
        Ok(Some(scrape))
    }
}

impl GrafanaArgs {
    /// The Grafana for annotations; `None` without `--grafana`.
    ///
    /// # Errors
    /// The address or the token is invalid.
    pub(super) fn grafana(&self) -> Result<Option<Grafana>, Failure> {
        let Some(address) = &self.grafana else { return Ok(None) };
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let place = if set(TOKEN).is_some() {
            Some(Secret::Env(TOKEN.to_owned()))
        } else {
            set(TOKEN_FILE).map(|path| Secret::File(path.to_string_lossy().into_owned()))
        };
        let token = place.map(|place| fetch(&place)).transpose();
        let token = token.map_err(|error| Failure::new(Exit::Invalid, &error))?;
        let grafana = Grafana::at(address, token.as_deref());
        grafana.map(Some).map_err(|error| Failure::new(Exit::Invalid, &error))
    }
}

/// Live metrics and annotations of a run.
pub(super) struct Metering {
    metrics: Option<Metrics>,
    annotations: Option<Annotations>,
    concluded: Mono,
}

impl Metering {
    /// Starts what the options ask for.
    pub(super) fn start(
        header: &Header,
        settings: Option<&ExportSettings>,
        interval: Duration,
        scrape: Option<Scrape>,
        grafana: Option<Grafana>,
    ) -> Result<Self, Failure> {
        let mut context = RunContext::of(header);
        if let Some(settings) = settings {
            context = context.with_resource(settings.service.as_deref(), &settings.attributes);
        }
        let annotations = grafana.map(|grafana| Annotations::start(grafana, &context)).transpose();
        let annotations = annotations.map_err(|error| Failure::new(Exit::Unable, &error))?;
        let push = settings
            .and_then(|settings| Some((settings.metrics.clone()?, interval, settings.temporality)));
        let wanted = scrape.is_some() || push.is_some();
        let outlets = Outlets { scrape, push };
        let metrics = wanted.then(|| Metrics::start(&header.plan, &context, outlets)).transpose();
        let metrics = metrics.map_err(|error| Failure::new(Exit::Unable, &error))?;
        Ok(Self { metrics, annotations, concluded: Mono::ZERO })
    }

    /// Makes them follow a run.
    pub(super) fn follow(&self, on_recorder: &mut OnRecorder) {
        let feed = self.metrics.as_ref().map(Metrics::feed);
        let follower = self.annotations.as_ref().map(Annotations::follower);
        // Taken at the first call, so that it is dropped, and ends, with the run.
        let follower = Mutex::new(follower);
        let next = std::mem::replace(on_recorder, Box::new(|_| {}));
        *on_recorder = Box::new(move |record: &Recorder| {
            if let Some(feed) = &feed {
                feed.follow(record.fold());
            }
            let follower = follower.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(follower) = follower {
                follower.follow(record.fold());
            }
            next(record);
        });
    }

    /// Called when all facts are recorded: the rest is sent while the run is judged.
    pub(super) fn conclude(&mut self) {
        self.concluded = Mono::now();
        if let Some(metrics) = &self.metrics {
            metrics.conclude(PATIENCE);
        }
    }

    /// Waits, within a bound, until the rest is sent, and prints what was lost. Returns what became
    /// of metrics that were sent to a collector.
    pub(super) fn finish(self) -> Option<MetricsSent> {
        let left = (self.concluded + PATIENCE).since(Mono::now());
        let (missed, pushed) = self.metrics.map(Metrics::finish).unwrap_or_default();
        let noted = self.annotations.map(|annotations| annotations.finish(left));
        let mut err = super::console::err();
        // A closed standard error is not an error.
        if missed > 0 {
            writeln!(err, "metrics: {missed} facts were missed; the journal has them all").ok();
        }
        if let Some(noted) = noted
            && noted.lost() > 0
        {
            let (lost, all, why) = (noted.lost(), noted.all, noted.why.unwrap_or_default());
            writeln!(err, "grafana: {lost} of {all} annotations were lost: {why}").ok();
        }
        pushed.map(|Pushed { taken, lost, why }| {
            let exports = taken.saturating_add(lost);
            MetricsSent { exports, exports_lost: lost, why }
        })
    }
}
