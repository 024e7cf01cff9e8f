//! Live metrics of one run: takes facts, and serves them to Prometheus and a collector.
//!
//! ```text
//!   Record::follow --> Watch --> instruments --+--> GET /metrics
//!                                              +--> Courier --> collector, at an interval
//! ```
//!
//! All of this runs on its own thread, so that neither a scrape nor a collector delays the run.
//! Facts that it is too slow for are counted as `neli.telemetry.lost`.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::Registry;
use tokio::sync::broadcast::{self, error::TryRecvError};
use tokio::sync::{mpsc, oneshot};

use super::export_settings::Target;
use super::instruments::{Board, Lengths, make};
use super::metrics_push::{Push, Pushed, Shared};
use super::{RunContext, Scrape, names, scrape};
use crate::observation::Fact;
use crate::time::Mono;
use crate::topology::Plan;

/// The default export interval, without `OTEL_METRIC_EXPORT_INTERVAL`.
pub const INTERVAL: Duration = Duration::from_secs(60);

/// How often facts are counted, in batches: waking up for each fact would cost more than counting
/// it.
const LOOK: Duration = Duration::from_millis(50);

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
    /// The collector, and the export interval.
    pub push: Option<(Target, Duration)>,
}

/// What a run sends to the counting thread.
enum Command {
    Hear(broadcast::Receiver<Arc<Fact>>),
    End(Mono),
    /// Nothing follows; the sender, if any, is notified once everything is counted.
    Finish(Option<SyncSender<()>>),
}

/// Passes a run's facts, and its end, to the counting thread; may be cloned.
#[derive(Clone)]
pub struct Feed(mpsc::UnboundedSender<Command>);

impl Feed {
    /// Counts these facts.
    pub fn hear(&self, facts: broadcast::Receiver<Arc<Fact>>) {
        self.0.send(Command::Hear(facts)).ok();
    }

    /// The members are being stopped: facts after `at` are not counted.
    pub fn end(&self, at: Mono) {
        self.0.send(Command::End(at)).ok();
    }
}

/// Live metrics of one run.
pub struct Metrics {
    feed: Feed,
    board: Arc<Board>,
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
        let pull = Shared::default();
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
        let push = outlets.push.map(|(target, interval)| {
            Push::start(&target, interval, pull).map_err(MetricsError::Thread)
        });
        let push = push.transpose()?;
        let (commands, taken) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let counter = Counter { board: Arc::clone(&board), lengths };
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        let thread = thread
            .spawn(move || run(counter, taken, outlets.scrape, registry, stopped))
            .map_err(MetricsError::Thread)?;
        let (thread, stop) = (Some(thread), Some(stop));
        Ok(Self { feed: Feed(commands), board, provider, thread, stop, push })
    }

    /// Returns a feed that passes facts to it.
    #[must_use]
    pub fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// No fact follows: counts the rest and sends it, for at most `within`. Returns at once.
    pub fn conclude(&self, within: Duration) {
        let end = self.push.as_ref().map(|push| push.hurry(within));
        self.feed.0.send(Command::Finish(end)).ok();
    }

    /// Waits until everything is sent, no longer than [`conclude`](Self::conclude) allowed. Returns
    /// how many facts were missed, and how many exports succeeded.
    #[must_use]
    pub fn finish(mut self) -> (u64, Option<Pushed>) {
        let pushed = self.push.take().map(Push::finish);
        (self.board.lost(), pushed)
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

/// Feeds the watch with facts.
struct Counter {
    board: Arc<Board>,
    lengths: Lengths,
}

fn run(
    counter: Counter,
    commands: mpsc::UnboundedReceiver<Command>,
    scrape: Option<Scrape>,
    registry: Registry,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::warn!(%error, "There are no metrics of this run.");
            return;
        }
    };
    runtime.block_on(async move {
        let serve = async {
            let Some(place) = scrape else { return std::future::pending().await };
            if let Err(error) = scrape::serve(place, registry).await {
                tracing::warn!(%error, "Metrics can no longer be scraped.");
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = stopped => {}
            () = serve => {}
            () = counter.count(commands) => {}
        }
    });
}

/// The inputs of the counter.
enum Input {
    Command(Option<Command>),
    Look,
}

impl Counter {
    /// Counts, and answers collections until it is dropped.
    async fn count(self, mut commands: mpsc::UnboundedReceiver<Command>) {
        let mut facts: Option<broadcast::Receiver<Arc<Fact>>> = None;
        loop {
            let input = tokio::select! {
                biased;
                command = commands.recv() => Input::Command(command),
                () = tokio::time::sleep(LOOK) => Input::Look,
            };
            match input {
                Input::Command(Some(Command::Hear(more))) => facts = Some(more),
                Input::Command(Some(Command::End(at))) => self.board.watch().end(at),
                Input::Command(Some(Command::Finish(end))) => {
                    self.take(facts.take().as_mut());
                    self.board.watch().finish(Mono::now());
                    // The sending thread may have ended by itself.
                    end.map(|end| end.try_send(()).ok());
                }
                Input::Command(None) => break,
                Input::Look => {
                    self.take(facts.as_mut());
                    let (mut watch, now) = (self.board.watch(), Mono::now());
                    // Once everything is final, time changes nothing.
                    if watch.poll_timeout().is_some_and(|due| due <= now) {
                        watch.handle_timeout(now);
                    }
                }
            }
            self.drain();
        }
        std::future::pending::<()>().await;
    }

    /// Takes all waiting facts.
    fn take(&self, facts: Option<&mut broadcast::Receiver<Arc<Fact>>>) {
        let Some(facts) = facts else { return };
        loop {
            match facts.try_recv() {
                Ok(fact) => self.board.watch().observe(&fact),
                Err(TryRecvError::Lagged(missed)) => self.board.lose(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn drain(&self) {
        loop {
            let event = self.board.watch().poll_event();
            let Some(event) = event else { return };
            self.lengths.record(&self.board, &event);
        }
    }
}
