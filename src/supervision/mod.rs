//! What a supervisor says, and the `tandem up` that listens.
//!
//! ```text
//!  members --facts--> supervisor --> journal
//!                          |  Unix socket: all facts of the journal, then each new one
//!                          v
//!                     tandem up: folds, verifies, answers, sends telemetry
//! ```
//!
//! The supervisor of a topology starts its brokers and members, restarts them, and writes their
//! facts. `tandem up` computes everything else from what the supervisor says, so it may die and be
//! started again.
//!
//! One process watches at a time: another must ask to take its place. A client that was
//! disconnected, because it read nothing for long, connects again and leaves out what it has.
//!
//! A third process may order an experiment, and halt one; see [`Order`]. Another one may change the
//! topology; see [`ChangeOrder`].
//!
//! The socket is in `$XDG_STATE_HOME/tandem/supervisors`, as the status sockets are in theirs. A
//! client sends a [`Request`], one line of JSON. Each line of the supervisor is a [`Message`]; the
//! first is [`Message::About`].

mod change;
mod client;
mod message;
mod order;
mod seen;

pub use change::ChangeOrder;
pub use client::{Asks, Found, Watching, supervisors};
pub use message::{About, MESSAGE_MAX, Message, Phase, Request, Start, VERSION, Wish};
pub use order::{Asked, LEASE, Order, TrialEnd, Underway};
pub use seen::Seen;
