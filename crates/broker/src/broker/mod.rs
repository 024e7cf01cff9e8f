//! The embedded broker: sockets and in-memory logs around `wire/` and `groups/`.
//!
//!   listener --> connection (a task each) --> Hub: one lock, one State --> answer
//!                                             |  topics and logs
//!                     alarm (a task) -------> |  Coordinator
//!
//! It is for first steps, tests and chaos experiments, and promises no durability: all data is in
//! memory and lost at its end, but fences of groups, if it has a file for them. It supports one
//! broker, one replica and consumer groups of both protocols, but no transactions, authentication
//! or encryption. A topic with `cleanup.policy=compact` keeps all records, as Kafka may do as well
//! until it compacts. On the loopback the broker serves its owner and root; on other addresses it
//! serves every client that can reach it. [`BrokerSettings`] bounds all memory: above it, the
//! oldest records go, those of compacted topics too.

mod admin;
mod advertised;
mod alter;
mod answer;
mod budget;
mod commits;
mod configs;
mod connection;
mod consumers;
mod delete_records;
mod error;
mod fetch;
mod group_admin;
mod group_settings;
mod hub;
mod kept;
mod listing;
mod log;
mod log_dirs;
mod membership;
mod metadata;
mod produce;
mod producers;
mod serve;
mod settings;
mod state;
mod topic;
mod topics;
mod widen;

pub use advertised::Advertised;
pub use serve::{Broker, BrokerError};
pub use settings::BrokerSettings;
