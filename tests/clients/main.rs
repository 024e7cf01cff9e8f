//! Clients that others wrote, on the embedded broker as a process of its own: what they do on
//! Kafka they do here. Needs kcat, Python with venv, Java 17 and Maven, and fails without them;
//! `tests/all --install` brings them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may fail loudly"
)]

mod java;
mod kcat;
mod librdkafka;
mod python;
mod support;
