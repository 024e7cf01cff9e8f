//! The facts of members that Tandem did not start, and their way to the readers that judge them.
//!
//! ```text
//!  member --pipe--> witness --> spool file
//!                      |
//!                      +--> facts topic on each cluster ==> tails --> collation --> recorder
//! ```
//!
//! The *witness* is a process beside the member. It writes each line to a bounded spool, publishes
//! it on the facts topic of each cluster, and sees the death of the member. What it could not
//! deliver stays in the spool, and the witness of the member's next life delivers it. A reader
//! tails the topics of all clusters; each fact has a number, so it takes it once, from the cluster
//! that shows it first, and knows when one is missing.
//!
//! The orders of an experiment go the other way:
//!
//! ```text
//!   chaos --> dispatch == orders topic on each cluster ==> witness: obedience --> hand --> member
//! ```
//!
//! Each is sealed, and is for one life. What the witness makes of them, it says in its letters.
//! What only the member's own process can do, its edge, the witness asks of it by a socket.
//!
//! Members on other hosts have other clocks. Each record that a broker acknowledges compares two:
//! that of its author and the broker's. The witness says in each letter how its own compared last;
//! a reader compares its own where it has to, and places the facts on it, to within a stated error.

mod clocks;
mod collation;
mod comparison;
mod dispatch;
mod hand;
mod here;
mod key_file;
mod letter;
mod link;
mod obedience;
mod order;
mod outbox;
mod placement;
mod reader;
mod sender;
mod sight;
mod spool;
mod spool_file;
mod standing;
mod timer;
mod topic;
mod witness;

pub use clocks::{Clocks, Elsewhere};
pub use collation::{Collated, Collation};
pub use comparison::Comparison;
pub use dispatch::Dispatch;
pub use hand::{OrdersSetup, wake_in_the_end};
pub use here::clock_domain;
pub use key_file::{OrdersError, order_key};
pub use letter::{Letter, LetterError, Origin, Reading};
pub use link::{Ask, answer_witness};
pub use obedience::{Act, LEASE, Obedience};
pub use order::{Deed, Nonce, Order, OrderKey};
pub use placement::Placement;
pub use reader::{Arrival, Reader};
pub use spool::Spool;
pub use standing::{Cut, Halt, Standing};
pub use topic::{ensure_topic, topic_settings};
pub use witness::{WitnessError, WitnessSetup, attend, bear_witness};
