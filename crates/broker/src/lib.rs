//! An embedded Kafka broker for tests and experiments, and its parts.
//!
//! | module | holds |
//! |---|---|
//! | [`groups`] | the coordinator of consumer groups, pure |
//! | [`wire`] | Kafka's frames, requests and record batches as bytes, pure |
//! | [`broker`] | sockets and in-memory logs around both |
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tandem_broker::broker::{Broker, BrokerSettings};
//!
//! let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
//! println!("bootstrap.servers={}", broker.address());
//! # Ok(())
//! # }
//! ```
//!
//! `README.md` has the clients that are tested, and examples of tests that start a broker.

// Tests may panic, shipped code may not. All other lints come from the workspace.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]

pub mod broker;
pub mod groups;
pub mod wire;
