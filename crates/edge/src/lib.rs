//! The fault proxy: one edge a client and broker, in a process of its own.
//!
//! A client that is given an edge as its bootstrap never sees a broker's own address: every address
//! in an answer is replaced by that of the edge to it. What passes is left as it is, until a rule
//! cuts, holds, slows or answers it.
//!
//!   orders --> obey --> Hub: one lock; rules, standings, book of edges --> answers
//!                        |
//!   client <--> listener --> connection --> carrier ( Line ) --> upstream <--> broker
//!
//! A `Line` is pure: it cuts bytes into requests and answers, knows which answer
//! belongs to which request, and says what may pass. The carrier reads and writes, never waiting,
//! and writes under the lock under which rules change: that is why a rule is in force once the lock
//! is free again.
//!
//! A connection holds at most 1 MiB each way, 16 MiB each way of what rules about single requests
//! hold, and one answer of at most 64 MiB that may name brokers; all together hold 512 MiB. What
//! would exceed that, and whatever is no Kafka, costs its connection.
//!
//! An answer's shape is measured before anything is replaced in it, so that no length in it is
//! believed; one in a version too new to be known is not let through, and
//! [`wire`](tandem_broker::wire) keeps clients and brokers from agreeing upon such a version.

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

mod book;
mod carrier;
mod compose;
mod compose_topics;
mod connection;
mod error;
mod frame;
mod head;
mod hub;
mod lane;
mod limits;
mod line;
mod listener;
#[cfg(any(test, not(feature = "tls")))]
mod no_tls;
mod obey;
mod order;
mod outstanding;
mod pace;
mod rewrite;
mod rules;
mod serve;
mod standing;
#[cfg(feature = "tls")]
mod tls;
mod upstream;

#[cfg(not(feature = "tls"))]
use no_tls as tls;

pub use error::EdgeError;
pub use order::{Answer, Direction, Effect, Order, Rule, Scope, Tls};
pub use serve::run;
