//! Live metrics on the command line: where they are scraped, how often they are sent.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use super::{EXIT_FILES, Failure};
use crate::controller::Record;
use crate::journal::Header;
use crate::run::{Milestone, Order};
use crate::telemetry::{self, Feed, INTERVAL, Metrics, Outlets, PATIENCE, Scene, Settings};
use crate::time::Mono;

/// The longest interval, in milliseconds.
const INTERVAL_MS_MAX: u64 = 3_600_000;
/// The variable that says how often metrics are sent.
const INTERVAL_VARIABLE: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// Where metrics can be scraped.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct MetricsArgs {
    /// Serve live metrics to Prometheus, at http://ADDR/metrics while the run goes on. As in
    /// 127.0.0.1:9464; with port 0, one that is free is taken, and told.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    metrics: Option<SocketAddr>,
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
        let told = format!("{INTERVAL_VARIABLE} is {}: {meant}", value.to_string_lossy());
        Failure::text(EXIT_FILES, told)
    })
}

impl MetricsArgs {
    /// Takes the address.
    ///
    /// # Errors
    /// Somebody has it already, or it is not ours.
    pub(super) fn bind(&self) -> Result<Option<TcpListener>, Failure> {
        let Some(address) = self.metrics else { return Ok(None) };
        let told = |error: std::io::Error| {
            let what = "name another with --metrics, or port 0 for one that is free";
            Failure::text(1, format!("metrics cannot be served at {address}: {error}; {what}"))
        };
        let listener = telemetry::bind(address).map_err(told)?;
        let bound = listener.local_addr().map_err(told)?;
        // Nobody reads it: it is served all the same.
        writeln!(std::io::stderr(), "metrics: http://{bound}/metrics").ok();
        Ok(Some(listener))
    }
}

/// The live metrics of one run.
pub(super) struct Metering(Metrics);

impl Metering {
    /// Starts them, if anybody wants them.
    pub(super) fn start(
        header: &Header,
        settings: Option<&Settings>,
        interval: Duration,
        scrape: Option<TcpListener>,
    ) -> Result<Option<Self>, Failure> {
        let push = settings.and_then(|settings| settings.metrics.clone());
        if scrape.is_none() && push.is_none() {
            return Ok(None);
        }
        let mut scene = Scene::of(header);
        if let Some(settings) = settings {
            scene = scene.with_resource(settings.service.as_deref(), &settings.attributes);
        }
        let outlets = Outlets { scrape, push: push.map(|target| (target, interval)) };
        let metrics = Metrics::start(&header.plan, &scene, outlets);
        metrics.map(|metrics| Some(Self(metrics))).map_err(|error| Failure::new(1, &error))
    }

    /// Lets them follow a run: its facts, and when its members are sent home.
    pub(super) fn follow(&self, order: &mut Order) {
        let (feed, ending): (Feed, Feed) = (self.0.feed(), self.0.feed());
        let show = std::mem::replace(&mut order.show, Box::new(|_| {}));
        order.show = Box::new(move |record: &Record| {
            feed.hear(record.follow());
            show(record);
        });
        let tell = std::mem::replace(&mut order.tell, Box::new(|_| {}));
        order.tell = Box::new(move |milestone| {
            if milestone == Milestone::Stopping {
                ending.end(Mono::now());
            }
            tell(milestone);
        });
    }

    /// All has been said; what is left is sent while the run is judged.
    pub(super) fn conclude(&self) {
        self.0.conclude(PATIENCE);
    }

    /// Waits for what is still to be sent, within the bound; tells what was lost.
    pub(super) fn finish(self) {
        let (missed, pushed) = self.0.finish();
        let mut err = std::io::stderr();
        // Nobody reads it: it is so all the same.
        if missed > 0 {
            writeln!(err, "metrics: {missed} facts were missed; the report has them all").ok();
        }
        if let Some(pushed) = pushed
            && let Some(why) = pushed.why
        {
            let all = pushed.taken.saturating_add(pushed.lost);
            let lost = pushed.lost;
            writeln!(err, "telemetry: {lost} of {all} exports of metrics were lost: {why}").ok();
        }
    }
}
