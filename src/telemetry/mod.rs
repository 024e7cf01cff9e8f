//! Exports facts to OpenTelemetry: traces, logs and metrics of which member led which role, as a
//! file, over OTLP, and to Prometheus.
//!
//! ```text
//!   journal --> timeline --> Traces --+--> traces.otlp.json
//!                                     +--> chunks --> Courier --HTTP or gRPC--> collector
//!   facts, live -+-> Logbook --> records --------------^
//!                +-> Cutter --> WindowTraces, records -^
//!   Fold --> instruments ------------------------------^--> GET /metrics
//! ```
//!
//! This module only reads: it decides nothing, and a run never waits for it.

mod annotations;
mod borders;
mod courier;
mod deadline;
pub mod document;
mod export_settings;
mod fault_windows;
mod finding;
mod grpc;
mod http;
pub mod ids;
mod instruments;
mod lists;
mod live;
mod logbook;
mod metrics;
mod metrics_push;
pub mod names;
pub mod names_metrics;
mod operations;
mod post;
mod run_context;
mod scrape;
mod session;
mod signal;
mod term;
mod tls;
mod traces;
mod window;
mod window_feed;
mod window_traces;

pub use annotations::{Annotations, AnnotationsError, Follower, Grafana, Noted};
pub use courier::CourierError;
pub use export_settings::{ExportSettings, ExportSettingsError, Protocol, Target};
pub use fault_windows::Annotation;
pub use instruments::SERIES_MAX;
pub use live::Live;
pub use logbook::Logbook;
pub use metrics::{Feed, INTERVAL, Metrics, MetricsError, Outlets};
pub use metrics_push::Pushed;
pub use operations::{Operation, Operations};
pub use run_context::RunContext;
pub use scrape::{Scrape, bind};
pub use session::{Heard, Listener, PATIENCE, Sent, Session};
pub use tls::{Trust, TrustError, none as no_tls};
pub use traces::Traces;
pub use window_feed::WindowFeed;
pub use window_traces::{WindowTrace, WindowTraces};
