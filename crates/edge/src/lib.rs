//! The fault proxy: one edge per client and broker, all in one process of their own.
//!
//! A client that uses an edge as its bootstrap never sees a broker's own address: the edge replaces
//! every address in an answer by the address of the edge to that broker. Bytes pass unchanged until
//! a rule drops, holds, slows or answers them.
//!
//!   commands --> execute --> Hub: one lock; rules, connections, edges --> answers
//!                              |
//!   client <--> listener --> connection --> carrier ( Line ) --> upstream <--> broker
//!
//! A `Line` is pure: it splits bytes into requests and answers, matches answers to requests, and
//! decides what may pass. The carrier reads and writes without waiting, and writes under the lock
//! under which rules change. So a rule is in force once the lock is free again.
//!
//! A connection holds at most 1 MiB in each direction, 16 MiB in each direction of single requests
//! that rules hold, and one answer of at most 64 MiB that may contain brokers' addresses. All
//! connections together hold 512 MiB. A connection that would exceed a limit, or does not speak
//! Kafka's protocol, is closed.
//!
//! Before an edge replaces anything in an answer, it checks the answer's lengths, and trusts none
//! of them. It does not pass answers in versions that it does not know, and
//! [`wire`](tandem_broker::wire) keeps clients and brokers from agreeing on such a version.

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

mod carrier;
mod command;
mod compose;
mod compose_topics;
mod connection;
mod connections;
mod edges;
mod error;
mod execute;
mod frame;
mod head;
mod hub;
mod lane;
mod limits;
mod line;
mod listener;
#[cfg(any(test, not(feature = "tls")))]
mod no_tls;
mod outstanding;
mod pace;
mod rewrite;
mod rules;
mod serve;
#[cfg(feature = "tls")]
mod tls;
mod upstream;

#[cfg(not(feature = "tls"))]
use no_tls as tls;

pub use command::{Answer, Direction, EdgeCommand, Effect, Rule, Scope, Tls};
pub use error::EdgeError;
pub use serve::run;
