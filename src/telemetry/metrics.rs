//! Live metrics of one run: facts in at one end; Prometheus, and a collector, at the other.
//!
//! ```text
//!   Fold --> instruments --+--> GET /metrics
//!                          +--> Courier --> collector, at an interval
//! ```
//!
//! Both are on threads of their own, so that neither a scrape nor a collector delays the run. What
//! the fold is too slow for is counted as `neli.telemetry.lost`.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::Registry;
use tokio::sync::oneshot;

use super::instruments::{Board, Lengths, make};
use super::metrics_push::{Push, Pushed, Shared};
use super::settings::Target;
use super::{Scene, Scrape, names, scrape};
use crate::fold::{Fold, Heard};
use crate::time::Mono;
use crate::topology::Plan;

/// How often a collector is sent to, unless `OTEL_METRIC_EXPORT_INTERVAL` says otherwise.
pub const INTERVAL: Duration = Duration::from_secs(60);

/// Why there can be no metrics.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The system has no thread to spare.
    #[error("metrics have no thread")]
    Thread(#[source] io::Error),
    /// The exporter refuses.
    #[error("metrics cannot be exported")]
    Exporter(#[source] opentelemetry_sdk::error::OTelSdkError),
}

/// Where metrics are read, and where they are sent.
pub struct Outlets {
    /// Who may scrape them.
    pub scrape: Option<Scrape>,
    /// Which collector they go to, and how often.
    pub push: Option<(Target, Duration)>,
}

/// Has metrics follow a run; may be cloned.
#[derive(Clone)]
pub struct Feed {
    board: Arc<Board>,
    lengths: Lengths,
}

impl Feed {
    /// Counts what this fold holds, from now on.
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
    /// As long as it lives, the instruments do.
    provider: SdkMeterProvider,
    thread: Option<JoinHandle<()>>,
    stop: Option<oneshot::Sender<()>>,
    push: Option<Push>,
}

impl Metrics {
    /// Starts to count, and to serve.
    ///
    /// # Errors
    /// The system, or the exporter, refuses.
    pub fn start(plan: &Plan, scene: &Scene, outlets: Outlets) -> Result<Self, MetricsError> {
        let board = Board::new(plan);
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false)
            .build()
            .map_err(MetricsError::Exporter)?;
        let pull = Shared::default();
        let provider = SdkMeterProvider::builder()
            .with_resource(resource(scene))
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
                "There are more roles than metrics have room for: those \
                beyond it are merged into the role \"other\"."
            );
        }
        let push = outlets.push.map(|(target, interval)| {
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

    /// What has it follow a run.
    #[must_use]
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// The run is over: counts what is left and starts to send it, for at most `within`.
    pub fn conclude(&self, within: Duration) {
        self.feed.board.fold().finish(Mono::now());
        if let Some(push) = &self.push {
            push.hurry(within);
        }
    }

    /// Waits until all was sent, and no longer than [`conclude`](Self::conclude) has said. How many
    /// facts were missed, and what became of what was sent.
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
            // It only ever waits for what this just ended.
            thread.join().ok();
        }
        self.provider.shutdown().ok();
    }
}

fn resource(scene: &Scene) -> Resource {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let attributes = scene.resource().attributes.into_iter().filter_map(|attribute| {
        let Some(Value::StringValue(value)) = attribute.value?.value else { return None };
        Some(KeyValue::new(attribute.key, value))
    });
    Resource::builder_empty().with_attributes(attributes).build()
}

/// Serves until it is stopped.
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
