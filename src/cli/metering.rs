//! Live metrics on the command line: where they are scraped, how often they are sent, and on whose
//! dashboard faults are shown.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Failure;
use crate::controller::Record;
use crate::host::user;
use crate::journal::Header;
use crate::run::Show;
use crate::secret::fetch;
use crate::telemetry::{
    self, Annotations, Grafana, INTERVAL, Metrics, Outlets, PATIENCE, Pushed, Scene, Scrape,
    Settings,
};
use crate::time::Mono;
use crate::topology::Secret;
use crate::verdict::{Exit, MetricsSent};

/// The longest interval, in milliseconds.
const INTERVAL_MS_MAX: u64 = 3_600_000;
/// The variable that says how often metrics are sent.
const INTERVAL_VARIABLE: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// Where Grafana's token stands, or the name of the file in which it does.
const TOKEN: &str = "GRAFANA_TOKEN";
const TOKEN_FILE: &str = "GRAFANA_TOKEN_FILE";

/// Where metrics can be scraped.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct MetricsArgs {
    /// Serve live metrics to Prometheus, at http://ADDR/metrics while the run goes on. As in
    /// 127.0.0.1:9464; with port 0, one that is free is taken, and told.
    ///
    /// On the loopback, this user and root may read them. On another address, everybody who can
    /// reach it.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    metrics: Option<SocketAddr>,
    /// Let this user of this machine read them as well, by name or number; may be given several
    /// times.
    #[arg(long = "metrics-user", value_name = "USER", requires = "metrics")]
    users: Vec<String>,
}

/// Where faults are shown.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct GrafanaArgs {
    /// Show fault windows on the dashboard of this Grafana, as annotations. As in
    /// http://127.0.0.1:3000; the token is read from the variable GRAFANA_TOKEN, or from the file
    /// that GRAFANA_TOKEN_FILE names.
    #[arg(long, value_name = "URL")]
    grafana: Option<String>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let meant = "write an IP address and a port, as in 127.0.0.1:9464 or [::]:9464";
    text.parse().map_err(|_| meant.to_owned())
}

/// How often metrics are sent.
///
/// # Errors
/// The variable says what cannot be meant.
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
    /// The same for a run that another process plays.
    pub(super) fn passed(&self) -> Option<String> {
        self.metrics.map(|address| format!("--metrics={address}"))
    }

    /// Takes the address.
    ///
    /// # Errors
    /// Somebody has it already, or it is not ours.
    pub(super) fn bind(&self) -> Result<Option<Scrape>, Failure> {
        let Some(address) = self.metrics else { return Ok(None) };
        let users = self.users.iter().map(|name| user(name)).collect::<Result<Vec<u32>, _>>();
        let users = users.map_err(|error| {
            Failure::text(Exit::Invalid, format!("--metrics-user cannot be followed: {error}"))
        })?;
        let open = !address.ip().is_loopback();
        if open && !users.is_empty() {
            let why = "on which alone users can be told apart";
            let message =
                format!("--metrics-user needs a --metrics address on the loopback, {why}");
            return Err(Failure::text(Exit::Invalid, message));
        }
        let told = |error: std::io::Error| {
            let what = "name another with --metrics, or port 0 for one that is free";
            Failure::text(
                Exit::Unable,
                format!("metrics cannot be served at {address}: {error}; {what}"),
            )
        };
        let scrape = telemetry::bind(address).map_err(told)?.with_users(users);
        let bound = scrape.address();
        let who = if open { " (open to everybody who can reach it)" } else { "" };
        // Nobody reads it: it is served all the same.
        writeln!(super::console::err(), "metrics: http://{bound}/metrics{who}").ok();
        Ok(Some(scrape))
    }
}

impl GrafanaArgs {
    /// Where annotations go; nothing where nobody named a Grafana.
    ///
    /// # Errors
    /// Address or token cannot be what they should be.
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

/// What becomes of a run while it goes on: live metrics, annotations.
pub(super) struct Metering {
    metrics: Option<Metrics>,
    annotations: Option<Annotations>,
    concluded: Mono,
}

impl Metering {
    /// Starts what anybody wants of it.
    pub(super) fn start(
        header: &Header,
        settings: Option<&Settings>,
        interval: Duration,
        scrape: Option<Scrape>,
        grafana: Option<Grafana>,
    ) -> Result<Self, Failure> {
        let mut scene = Scene::of(header);
        if let Some(settings) = settings {
            scene = scene.with_resource(settings.service.as_deref(), &settings.attributes);
        }
        let annotations = grafana.map(|grafana| Annotations::start(grafana, &scene)).transpose();
        let annotations = annotations.map_err(|error| Failure::new(Exit::Unable, &error))?;
        let push = settings.and_then(|settings| settings.metrics.clone());
        let wanted = scrape.is_some() || push.is_some();
        let outlets = Outlets { scrape, push: push.map(|target| (target, interval)) };
        let metrics = wanted.then(|| Metrics::start(&header.plan, &scene, outlets)).transpose();
        let metrics = metrics.map_err(|error| Failure::new(Exit::Unable, &error))?;
        Ok(Self { metrics, annotations, concluded: Mono::ZERO })
    }

    /// Lets them follow a run.
    pub(super) fn follow(&self, show: &mut Show) {
        let feed = self.metrics.as_ref().map(Metrics::feed);
        let follower = self.annotations.as_ref().map(Annotations::follower);
        // Kept until the run shows its record, and no longer: what follows it knows when it ends.
        let follower = Mutex::new(follower);
        let shown = std::mem::replace(show, Box::new(|_| {}));
        *show = Box::new(move |record: &Record| {
            if let Some(feed) = &feed {
                feed.follow(record.fold());
            }
            let follower = follower.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(follower) = follower {
                follower.follow(record.fold());
            }
            shown(record);
        });
    }

    /// All has been said; what is left is sent while the run is judged.
    pub(super) fn conclude(&mut self) {
        self.concluded = Mono::now();
        if let Some(metrics) = &self.metrics {
            metrics.conclude(PATIENCE);
        }
    }

    /// Waits for what is still to be sent, within the bound, and tells what was lost, but for
    /// metrics: what became of those, where they went to a collector, it hands back.
    pub(super) fn finish(self) -> Option<MetricsSent> {
        let left = (self.concluded + PATIENCE).since(Mono::now());
        let (missed, pushed) = self.metrics.map(Metrics::finish).unwrap_or_default();
        let noted = self.annotations.map(|annotations| annotations.finish(left));
        let mut err = super::console::err();
        // Nobody reads it: it is so all the same.
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
