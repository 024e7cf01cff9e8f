//! Sends metrics to a collector, at an interval and once at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{InstrumentKind, ManualReader, Pipeline, Temporality};

use super::courier::Courier;
use super::deadline::Deadline;
use super::export_settings::Target;
use super::post::warn_of_loss;

/// A reader shared by the provider and the sending thread.
#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<ManualReader>);

impl Shared {
    pub(super) fn new(temporality: Temporality) -> Self {
        Self(Arc::new(ManualReader::builder().with_temporality(temporality).build()))
    }
}

impl MetricReader for Shared {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, into: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(into)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, within: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(within)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}

/// How many exports succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pushed {
    /// How many exports the collector accepted.
    pub taken: u64,
    /// How many it did not accept, or not in full.
    pub lost: u64,
    /// The first error.
    pub why: Option<String>,
}

#[derive(Debug)]
struct Tally {
    deadline: Deadline,
    taken: AtomicU64,
    lost: AtomicU64,
    why: Mutex<Option<String>>,
}

impl Tally {
    fn new(deadline: Deadline) -> Self {
        let (taken, lost) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { deadline, taken, lost, why: Mutex::default() }
    }

    /// Warns of the first loss as it happens, unless the end of the run reports it soon.
    fn blame(&self, why: String) {
        let before = self.lost.fetch_add(1, Ordering::Relaxed);
        if before == 0 && !self.deadline.is_set() {
            warn_of_loss("metrics", &why);
        }
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }
}

/// The sending thread.
pub(super) struct Push {
    end: SyncSender<()>,
    done: Receiver<()>,
    deadline: Deadline,
    tally: Arc<Tally>,
}

impl Push {
    /// Starts the thread.
    pub(super) fn start(
        target: &Target,
        interval: Duration,
        metrics: Shared,
    ) -> std::io::Result<Self> {
        let (end, ended) = sync_channel(1);
        let (finished, done) = sync_channel(1);
        let deadline = Deadline::never();
        let tally = Arc::new(Tally::new(deadline.clone()));
        let (target, until, kept) = (target.clone(), deadline.clone(), Arc::clone(&tally));
        let thread = std::thread::Builder::new().name("metrics-push".to_owned());
        thread.spawn(move || {
            match Courier::new(&target, until) {
                Ok(courier) => send_each(&courier, interval, &metrics, &kept, &ended),
                Err(error) => kept.blame(crate::error::chain(&error)),
            }
            // The receiver is gone if `finish` has given up waiting.
            finished.send(()).ok();
        })?;
        Ok(Self { end, done, deadline, tally })
    }

    /// Makes the thread send once more and end, within `within`.
    pub(super) fn hurry(&self, within: Duration) {
        self.deadline.set(within);
        // It may have ended by itself.
        self.end.try_send(()).ok();
    }

    /// Waits until the thread has ended, no longer than [`hurry`](Self::hurry) allowed. The thread
    /// may outlive this call.
    pub(super) fn finish(self) -> Pushed {
        let Self { end: _end, done, deadline, tally } = self;
        if let Err(RecvTimeoutError::Timeout) = done.recv_timeout(deadline.left()) {
            tally.blame("the collector did not accept everything in time".to_owned());
        }
        let why = tally.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Pushed { taken: count(&tally.taken), lost: count(&tally.lost), why }
    }
}

fn send_each(
    courier: &Courier,
    interval: Duration,
    metrics: &Shared,
    tally: &Tally,
    ended: &Receiver<()>,
) {
    loop {
        let last = match ended.recv_timeout(interval) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            // The run could not begin, so there is nothing to send.
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let mut all = ResourceMetrics::default();
        if let Err(error) = metrics.collect(&mut all) {
            tally.blame(error.to_string());
        } else {
            match courier.send(&ExportMetricsServiceRequest::from(&all)) {
                Ok((0, _)) => drop(tally.taken.fetch_add(1, Ordering::Relaxed)),
                Ok((points, why)) => {
                    tally.blame(format!("the collector rejected {points} points: {why}"));
                }
                Err(why) => tally.blame(why),
            }
        }
        if last {
            return;
        }
    }
}
