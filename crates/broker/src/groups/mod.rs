//! The coordinator of consumer groups, without input, output, clock or chance.
//!
//!   connection -- handle_join, handle_sync --> +-------------+ -- poll_reply ----> connection
//!   connection -- handle_heartbeat, … -------> | Coordinator | -- (at once) -----> connection
//!   clock ------- handle_timeout ------------> +-------------+ -- poll_timeout --> clock
//!
//! A join or a sync may have to wait for other members. So it carries a [`Token`] of the caller and
//! is answered through [`Coordinator::poll_reply`]; all other requests are answered at once. The
//! answers, error codes included, are those of Apache Kafka 4.x (`GroupMetadataManager`,
//! `ClassicGroup`); `tests/data/coordinator/*.txt` are run against both. There are three
//! differences:
//!
//! - Where Kafka never answers a waiting request (a second join of the same member, a second
//!   sync, a leave while the member's sync waits), this coordinator answers with an error.
//! - Where Kafka depends on the order of a hash map (the successor of a leader, protocols with
//!   equally many votes), this coordinator takes the first by name.
//! - This coordinator bounds groups, members and offsets, and refuses requests beyond the limits.
//!
//! All that is of the classic protocol, in which a member computes the assignments. Groups of the
//! newer one (KIP-848) are in [`consumer`], beside the others; a group is of the one or the other,
//! and only an empty one changes that.

mod commit;
pub mod consumer;
mod coordinator;
mod describe;
mod expiry;
mod fault;
mod group;
mod heartbeat;
mod join;
mod leave;
mod list;
mod member;
mod offsets;
mod rebalance;
mod static_member;
mod sync;

pub use commit::{Commit, CommittedOffset, Position, TopicPartition};
pub use coordinator::{Coordinator, CoordinatorSettings, Reply, ReplyBody, Token};
pub use describe::{Description, MemberDescription};
pub use fault::Fault;
pub use group::State;
pub use heartbeat::Heartbeat;
pub use join::{Join, JoinReply, Joined, JoinedMember};
pub use leave::{Departed, Departure, Leave};
pub use list::{GroupState, Listing};
pub use member::Protocol;
pub use sync::{Sync, SyncReply, Synced};
