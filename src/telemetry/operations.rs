//! Live operations of a supervisor, kept until the process that sends telemetry takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanProcessor};
use tracing_subscriber::{Layer, Registry};

use super::live::layer;

/// How many operations wait; the oldest are dropped above that.
const WAITING_MAX: usize = 1_024;

/// An operation as a span, which has no place in a trace yet.
pub type Operation = Span;

/// The operations of this process that nobody has taken.
#[derive(Debug, Clone, Default)]
pub struct Operations(Arc<Mutex<VecDeque<Operation>>>);

impl Operations {
    /// The layer for the process's subscriber.
    #[must_use]
    pub fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        layer(self.clone())
    }

    /// Takes the oldest.
    #[must_use]
    pub fn take(&self) -> Option<Operation> {
        self.waiting().pop_front()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Operation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanProcessor for Operations {
    fn on_start(&self, _span: &mut opentelemetry_sdk::trace::Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        let mut waiting = self.waiting();
        if waiting.len() == WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(Span::from(span));
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}
