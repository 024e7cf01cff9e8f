//! Facts to OpenTelemetry: traces and logs of who led what, as a file and over OTLP.
//!
//! This room reads; it decides nothing, and nothing waits for it.

pub mod names;
