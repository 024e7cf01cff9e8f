//! The fault proxy: one edge a client and broker, in a process of its own.
//!
//! A client that is given an edge as its bootstrap never sees a broker's own address: every address
//! in an answer is replaced by that of the edge to it. What passes is left as it is, until a rule
//! cuts, holds, slows or answers it.

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
mod obey;
mod order;
mod outstanding;
mod pace;
mod rewrite;
mod rules;
mod serve;
mod standing;

pub use error::EdgeError;
pub use order::{Answer, Direction, Effect, Order, Rule, Scope};
pub use serve::run;
