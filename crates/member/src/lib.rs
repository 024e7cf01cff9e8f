//! One member of a NELI group: it joins a Kafka consumer group, publishes beacons, and leads the
//! partitions on which it hears messages.
//!
//! ```
//! # use std::num::NonZeroU32;
//! # use std::time::Duration;
//! # use tandem_broker::broker::{Broker, BrokerSettings};
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
//! # let bootstrap = broker.address().to_string();
//! # let mut serving = tokio::task::JoinSet::new();
//! # serving.spawn(broker.serve(tokio_util::sync::CancellationToken::new()));
//! use tandem_member::Member;
//!
//! // The cluster, and the consumer group.
//! let member = Member::builder(bootstrap, "pricing")
//!     .create_ledger(NonZeroU32::MIN)
//!     .roles(["eurusd", "usdjpy"])
//!     .join()?;
//! let eurusd = member.role("eurusd").ok_or("no such role")?;
//! // Waits until this member leads the role, and drops the work 100 ms before it no longer does.
//! let stop = Duration::from_millis(100);
//! let done = member.while_leading(eurusd, stop, async |lead| {
//!     // Ask again before each step that others can see.
//!     if lead.holds() { "published a price" } else { "skipped one" }
//! });
//! assert_eq!(done.await?, "published a price");
//! assert!(member.leads(eurusd));
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
//! time to stop its work sets [`Config::hold`], and [`Member::claim`] then returns promises:
//! nothing ends a claim before its [`Claim::until`].
//!
//! A program that works for keys asks [`Member::leads_key`]: [`Builder::slots`] maps each key to a
//! role.
//!
//! A program that cannot do the work of a leader says so with [`Member::health`]: its roles move at
//! once, and come back when it is well. [`Member::events`] is what happens to the member, and a
//! [`Lead`] answers for one role, on any thread.
//!
//! A member of a group in the non-exclusive mode knows who leads what it does not lead itself, and
//! where that member offers its service: [`Member::leader_of`].
//!
//! Members that are linked with each other learn of a death within a millisecond and stand in for
//! the dead, at any session: [`Builder::mesh`].
//!
//! A process that starts members, and learns of their deaths, can leave their groups for them with
//! [`leave_for`]: another member then takes over within two heartbeats, at any session.
//!
//! The members of a group may be of several versions of this crate, so that they can be replaced
//! one after the other: each says in its beacons what it speaks and what it works with. One that
//! does not work with those that are there is refused, with both [`Versions`].
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
pub mod usual;

mod builder;
mod claims;
mod clients;
mod config;
mod contact;
mod driver;
mod event;
mod events;
mod handle;
mod lead;
mod leaders;
mod lives;
mod mesh;
mod own_group;
mod throttle;

pub use builder::Builder;
pub use claims::Claims;
pub use config::Config;
pub use event::Event;
pub use events::{Events, Next};
pub use handle::{JoinError, Member};
pub use kafka::Named;
pub use lead::{Claim, Deposed, Lead, Placed};
pub use leaders::Leader;
pub use mesh::{MeshCertificates, MeshSettings, MeshTrust};
pub use own_group::{GroupTerms, leave_for, set_group_terms};
pub use tandem_facts::keys::{SlotHash, Slots};
pub use tandem_facts::observation::Mode;
pub use tandem_neli::{Misfit, Publishers, Pulse, Versions};
