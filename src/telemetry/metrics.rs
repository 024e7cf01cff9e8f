//! Live metrics of one run: takes facts, and serves them to Prometheus and a collector.
//!
//! ```text
//!   Fold --> instruments --+--> GET /metrics
//!                          +--> Courier --> collector, at an interval
//! ```
//!
//! Both run on threads of their own, so that neither a scrape nor a collector delays the run.
//! Facts that the fold is too slow for are counted as `neli.telemetry.lost`.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{SdkMeterProvider, Temporality};
use prometheus::Registry;
use tokio::sync::oneshot;

use super::export_settings::Target;
use super::instruments::{Board, Lengths, make};
use super::metrics_push::{Push, Pushed, Shared};
use super::{RunContext, Scrape, names, scrape};
use crate::fold::{Fold, Heard};
use crate::time::Mono;
use crate::topology::Plan;

/// The default export interval, without `OTEL_METRIC_EXPORT_INTERVAL`.
pub const INTERVAL: Duration = Duration::from_secs(60);

/// Why metrics cannot start.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The system refuses a thread.
    #[error("cannot start a thread for metrics")]
    Thread(#[source] io::Error),
    /// The exporter cannot be created.
    #[error("metrics cannot be exported")]
    Exporter(#[source] opentelemetry_sdk::error::OTelSdkError),
}

/// Where metrics are served, and where they are sent.
pub struct Outlets {
    /// The scrape endpoint.
    pub scrape: Option<Scrape>,
    /// The collector, the export interval, and from when the points count.
    pub push: Option<(Target, Duration, Temporality)>,
}

/// Makes metrics follow a run; may be cloned.
#[derive(Clone)]
pub struct Feed {
    board: Arc<Board>,
    lengths: Lengths,
}

impl Feed {
    /// Reads the metrics from `fold` from now on.
    pub fn follow(&self, fold: &Arc<Fold>) {
        self.board.read(fold);
        let (board, lengths) = (Arc::downgrade(&self.board), self.lengths.clone());
        fold.listen(Box::new(move |_, heard| {
            let Some(board) = board.upgrade() else { return };
            match heard {
                Heard::Fact(_) => {}
                Heard::Event(event) => lengths.record(&board, event),
                Heard::Missed(facts) => board.lose(facts),
            }
        }));
    }
}

/// Live metrics of one run.
pub struct Metrics {
    feed: Feed,
    /// Keeps the instruments alive.
    provider: SdkMeterProvider,
    thread: Option<JoinHandle<()>>,
    stop: Option<oneshot::Sender<()>>,
    push: Option<Push>,
}

impl Metrics {
    /// Starts counting and serving.
    ///
    /// # Errors
    /// The thread or the exporter cannot be created.
    pub fn start(
        plan: &Plan,
        context: &RunContext,
        outlets: Outlets,
    ) -> Result<Self, MetricsError> {
        let board = Board::new(plan);
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false)
            .build()
            .map_err(MetricsError::Exporter)?;
        let temporality = outlets.push.as_ref().map(|(_, _, temporality)| *temporality);
        let pull = Shared::new(temporality.unwrap_or_default());
        let provider = SdkMeterProvider::builder()
            .with_resource(resource(context))
            .with_reader(exporter)
            .with_reader(pull.clone())
            .build();
        let scope = InstrumentationScope::builder(names::SCOPE)
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let (lengths, merged) = make(&provider.meter_with_scope(scope), plan, &board);
        if merged > 0 {
            let series = super::instruments::SERIES_MAX;
            tracing::warn!(
                merged,
                series,
                "There are more roles than metrics have room for: the \
                rest are merged into the role \"other\"."
            );
        }
        let push = outlets.push.map(|(target, interval, _)| {
            Push::start(&target, interval, pull).map_err(MetricsError::Thread)
        });
        let push = push.transpose()?;
        let (stop, stopped) = oneshot::channel();
        let serves = outlets.scrape.map(|place| {
            let thread = std::thread::Builder::new().name("metrics".to_owned());
            thread.spawn(move || serve(place, registry, stopped)).map_err(MetricsError::Thread)
        });
        let (thread, stop) = (serves.transpose()?, Some(stop));
        Ok(Self { feed: Feed { board, lengths }, provider, thread, stop, push })
    }

    /// Returns a feed that makes it follow a run.
    #[must_use]
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// No fact follows: counts the rest and sends it, for at most `within`. Returns at once.
    pub fn conclude(&self, within: Duration) {
        self.feed.board.fold().finish(Mono::now());
        if let Some(push) = &self.push {
            push.hurry(within);
        }
    }

    /// Waits until everything is sent, no longer than [`conclude`](Self::conclude) allowed. Returns
    /// how many facts were missed, and how many exports succeeded.
    #[must_use]
    pub fn finish(mut self) -> (u64, Option<Pushed>) {
        let pushed = self.push.take().map(Push::finish);
        (self.feed.board.lost(), pushed)
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread waits only for what was just dropped.
            thread.join().ok();
        }
        self.provider.shutdown().ok();
    }
}

fn resource(context: &RunContext) -> Resource {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let attributes = context.resource().attributes.into_iter().filter_map(|attribute| {
        let Some(Value::StringValue(value)) = attribute.value?.value else { return None };
        Some(KeyValue::new(attribute.key, value))
    });
    Resource::builder_empty().with_attributes(attributes).build()
}

/// Answers scrapes until it is stopped.
fn serve(place: Scrape, registry: Registry, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::warn!(%error, "There are no metrics of this run.");
            return;
        }
    };
    runtime.block_on(async move {
        tokio::select! {
            _ = stopped => {}
            ended = scrape::serve(place, registry) => {
                if let Err(error) = ended {
                    tracing::warn!(%error, "Metrics can no longer be scraped.");
                }
            }
        }
    });
}
