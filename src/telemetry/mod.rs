//! Facts to OpenTelemetry: traces and logs of who led what, as a file and over OTLP.
//!
//! ```text
//!   journal --> timeline --> Traces --+--> traces.otlp.json
//!                                     +--> chunks --> Courier --HTTP or gRPC--> collector
//!   facts, live --> Logbook --> records --------------^
//! ```
//!
//! This room reads; it decides nothing, and nothing waits for it.

mod courier;
mod deadline;
pub mod document;
mod finding;
mod grpc;
mod http;
pub mod ids;
mod lists;
mod live;
mod logbook;
pub mod names;
pub mod otlp;
mod post;
mod scene;
mod session;
mod settings;
mod signal;
mod term;
mod tls;
mod traces;

pub use courier::CourierError;
pub use live::Live;
pub use logbook::Logbook;
pub use scene::Scene;
pub use session::{Listener, PATIENCE, Sent, Session};
pub use settings::{Protocol, Settings, SettingsError, Target};
pub use tls::{Trust, TrustError};
pub use traces::Traces;
