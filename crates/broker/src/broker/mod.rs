//! The embedded broker: sockets and logs in memory around `wire/` and `groups/`.
//!
//!   listener --> connection (a task each) --> Hub: one lock, one State --> answer
//!                                             |  topics and logs
//!                     alarm (a task) -------> |  Coordinator
//!
//! It is for first use, tests and chaos, and makes no promise of durability: everything is in
//! memory and gone with it. One broker, one copy; classic consumer groups; no transactions, no
//! compaction, no passwords, no encryption. On the loopback it answers its owner and root, and
//! elsewhere everybody who can reach it. All memory is bounded by [`Settings`].

mod admin;
mod answer;
mod budget;
mod commits;
mod configs;
mod connection;
mod error;
mod fetch;
mod group_admin;
mod hub;
mod listing;
mod log;
mod membership;
mod metadata;
mod produce;
mod producers;
mod serve;
mod settings;
mod state;
mod topic;
mod widen;

pub use serve::{Broker, BrokerError};
pub use settings::Settings;
