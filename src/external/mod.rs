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

mod clocks;
mod collation;
mod here;
mod letter;
mod outbox;
mod reader;
mod sender;
mod spool;
mod spool_file;
mod topic;
mod witness;

pub use clocks::{Clocks, Elsewhere};
pub use collation::{Collated, Collation};
pub use here::clock_domain;
pub use letter::{Letter, LetterError, Origin};
pub use reader::{Arrival, Reader};
pub use spool::Spool;
pub use topic::{ensure_topic, topic_settings};
pub use witness::{WitnessError, WitnessSetup, attend, bear_witness};
