//! One member of a NELI group: it joins a Kafka consumer group, publishes beacons, and leads the
//! partitions that it hears of.
//!
//! ```no_run
//! # fn example(config: tandem_member::Config) -> Result<(), Box<dyn std::error::Error>> {
//! use tandem_facts::ids::PartitionId;
//! use tandem_member::Member;
//!
//! let member = Member::join(&config, |at, event| println!("{at:?} {event:?}"))?;
//! if member.leads(PartitionId(0)) {
//!     // Work for the roles of partition 0. Ask again before each step: a claim can end.
//! }
//! member.leave();
//! # Ok(())
//! # }
//! ```
//!
//! A claim is a horizon, never a flag: [`Member::leads`] compares it with the clock at each call,
//! so a thread that was stopped finds its claim over. In the non-exclusive mode two members of a
//! group may lead one partition for up to the threshold `T` after the partition moved.
//!
//! | module | holds |
//! |---|---|
//! | [`kafka`] | a member's clients, and what is asked of a cluster; nothing else names rdkafka |

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

pub mod kafka;

mod claims;
mod config;
mod contact;
mod driver;
mod event;
mod handle;
mod own_group;

pub use claims::Claims;
pub use config::Config;
pub use event::Event;
pub use handle::{JoinError, Member};
