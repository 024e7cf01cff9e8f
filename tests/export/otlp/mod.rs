//! Telemetry as a collector sees it: a real one made of OTLP's own types, over HTTP and gRPC, with
//! TLS and without, that keeps all it got.

#![allow(clippy::as_conversions, reason = "a test may fail loudly")]

mod agrees;
mod beside;
mod certificates;
mod features;
mod long;
mod long_spans;
mod many;
mod receiver;
mod rotel;
mod runs;
mod settings;
mod trouble;
mod up;
