//! Metrics over OTLP, for the SDK's periodic reader: with the same settings, certificates and
//! bounds as traces and logs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;

use super::courier::Courier;
use super::deadline::Deadline;
use super::settings::{Settings, Target};

/// Exports metrics to one collector. It blocks the thread that it is called on, which the periodic
/// reader has of its own; it must not be one of tokio's.
pub struct MetricExporter {
    target: Target,
    deadline: Deadline,
    courier: Mutex<State>,
    lost: Arc<AtomicU64>,
}

enum State {
    New,
    Open(Box<Courier>),
    Closed,
}

/// Builds the exporter of metrics; nothing where metrics go nowhere.
#[must_use]
pub fn metric_exporter(settings: &Settings) -> Option<MetricExporter> {
    let target = settings.metrics.clone()?;
    let (deadline, lost) = (Deadline::never(), Arc::default());
    Some(MetricExporter { target, deadline, courier: Mutex::new(State::New), lost })
}

impl MetricExporter {
    /// How many exports were not taken, or not wholly; it may be read after the exporter is gone.
    #[must_use]
    pub fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost)
    }

    /// Sets, from another thread, how long an export under way and all further ones may take.
    pub fn hurry(&self) -> impl Fn(Duration) + Send + Sync + 'static {
        let deadline = self.deadline.clone();
        move |within| deadline.set(within)
    }

    fn send(&self, metrics: &ResourceMetrics) -> Result<(), String> {
        let mut state = self.courier.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::New = *state {
            // Made on the thread that uses it.
            let courier = Courier::new(&self.target, self.deadline.clone());
            *state = State::Open(Box::new(courier.map_err(|error| crate::error::chain(&error))?));
        }
        let State::Open(courier) = &*state else {
            return Err("the exporter is closed".to_owned());
        };
        match courier.send(&ExportMetricsServiceRequest::from(metrics))? {
            (0, _) => Ok(()),
            (rejected, why) => Err(format!("the collector refused {rejected} points: {why}")),
        }
    }
}

impl PushMetricExporter for MetricExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.send(metrics).map_err(|why| {
            self.lost.fetch_add(1, Ordering::Relaxed);
            OTelSdkError::InternalFailure(why)
        })
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        *self.courier.lock().unwrap_or_else(PoisonError::into_inner) = State::Closed;
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}
