//! Clusters that trust nobody: `deploy/kafka/up --secure`, with exactly the rights that the
//! documentation names. Needs the feature `tls`, Java 17, Maven and openssl.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may fail loudly"
)]
#[path = "../kafka_support/mod.rs"]
mod kafka_support;
mod rights;
mod secrets;
mod support;
mod unwelcome;
