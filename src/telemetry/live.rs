//! Live operations as spans: what the controller is doing, through `tracing`.
//!
//! A span of the target [`names::LIVE`] that names its fault belongs to that fault's window, any
//! other span to the run. Without telemetry there is no subscriber, and such a span costs a
//! comparison.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::TracerProvider;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanProcessor};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{Layer, Registry};

use super::post::Slot;
use super::{Operation, ids, names};
use crate::ids::FaultId;

/// Receives the spans of live operations, and forwards them once it is connected.
#[derive(Debug, Clone, Default)]
pub struct Live(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    home: OnceLock<Home>,
    heard: AtomicU64,
}

/// The run that spans belong to, and the slot that they go to.
#[derive(Debug)]
struct Home {
    slot: Slot<Span>,
    run: String,
}

impl Live {
    /// The layer for the process's subscriber.
    #[must_use]
    pub fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        layer(self.clone())
    }

    /// Takes an operation that belongs to the run, of another process.
    pub fn take(&self, operation: Operation) {
        self.place(operation, None);
    }

    /// From now on sends spans of `run` to `slot`.
    pub(super) fn connect(&self, slot: Slot<Span>, run: &str) {
        let home = Home { slot, run: run.to_owned() };
        // A process runs one experiment.
        self.0.home.set(home).ok();
    }

    /// Sends a span below the window of its fault, or below the run.
    fn place(&self, mut span: Span, fault: Option<FaultId>) {
        let Some(Home { slot, run }) = self.0.home.get() else { return };
        let trial = fault.as_ref().map_or(ids::OWN, |fault| fault.trial);
        let parent = fault.map_or_else(|| names::RUN.to_owned(), |fault| ids::fault(&fault));
        span.trace_id = ids::trace_id(run, trial).to_vec();
        span.parent_span_id = ids::span_id(run, trial, &parent).to_vec();
        self.0.heard.fetch_add(1, Ordering::Relaxed);
        slot.put(span);
    }

    /// How many spans were received.
    pub(super) fn heard(&self) -> u64 {
        self.0.heard.load(Ordering::Relaxed)
    }
}

/// A layer that passes the spans of live operations to `processor`.
pub(super) fn layer(
    processor: impl SpanProcessor + 'static,
) -> Box<dyn Layer<Registry> + Send + Sync> {
    let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer(names::SCOPE))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false);
    Box::new(layer.with_filter(filter_fn(|of| of.is_span() && of.target() == names::LIVE)))
}

impl SpanProcessor for Live {
    fn on_start(&self, _span: &mut opentelemetry_sdk::trace::Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        let mut fault = span.attributes.iter().filter(|one| one.key.as_str() == names::FAULT_ID);
        let fault = fault.next().and_then(|id| FaultId::try_from(id.value.to_string()).ok());
        self.place(Span::from(span), fault);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}
