//! An embedded Kafka broker for tests and experiments, and the parts it is made of.
//!
//! | module | holds |
//! |---|---|
//! | [`groups`] | the coordinator of consumer groups, pure |
//! | [`wire`] | Kafka's frames, requests and record batches as bytes, pure |
//! | [`broker`] | sockets and logs in memory around both |
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tandem_broker::broker::{Broker, Settings};
//!
//! let broker = Broker::bind("127.0.0.1:0".parse()?, Settings::default()).await?;
//! println!("bootstrap.servers={}", broker.address());
//! # Ok(())
//! # }
//! ```

// A test may fail loudly, what is shipped may not; all other lints are those of the workspace.
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
