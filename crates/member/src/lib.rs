//! One member of a NELI group: it joins a Kafka consumer group, publishes beacons, and leads the
//! partitions on which it hears messages.
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
//! so a thread that was stopped finds its claim expired. In the non-exclusive mode two members of a
//! group may lead one partition for up to the threshold `T` after the partition moved. In the fast
//! mode a member that hears no message of its own for `Q` leads no more, and neither does one whose
//! partition the group takes away. In the exclusive mode no two members of a group ever lead one
//! partition, because each proves again and again that its group counts it in; a program that needs
//! time to stop its work sets [`Config::hold`].
//!
//! A process that starts members, and learns of their deaths, can leave their groups for them with
//! [`leave_for`]: another member then takes over within two heartbeats, at any session.
//!
//! | module | holds |
//! |---|---|
//! | [`kafka`] | a member's clients, and requests to a cluster; no other module uses rdkafka |

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

pub mod kafka;

mod claims;
mod clients;
mod config;
mod contact;
mod driver;
mod event;
mod handle;
mod own_group;

pub use claims::Claims;
pub use config::Config;
pub use driver::HAND_OVER;
pub use event::Event;
pub use handle::{JoinError, Member};
pub use own_group::leave_for;
pub use tandem_facts::observation::Mode;
pub use tandem_neli::Pulse;
