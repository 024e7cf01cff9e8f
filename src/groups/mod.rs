//! The coordinator of classic consumer groups, without input, output, clock or chance.
//!
//!   connection -- handle_join, handle_sync --> +-------------+ -- poll_reply ----> connection
//!   connection -- handle_heartbeat, … -------> | Coordinator | -- (at once) -----> connection
//!   clock ------- handle_timeout ------------> +-------------+ -- poll_timeout --> clock
//!
//! A join or a sync may have to wait for other members, so it carries a [`Token`] of the caller's
//! and is answered through [`Coordinator::poll_reply`]; everything else is answered at once. The
//! answers are those of Apache Kafka 4.x (`GroupMetadataManager`, `ClassicGroup`), error codes
//! included, with one exception: where Kafka forgets a parked request for ever (a second join of
//! the same member, a leave while its sync waits), the request is answered with an error here.

mod commit;
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
pub use coordinator::{Coordinator, Reply, ReplyBody, Settings, Token};
pub use describe::{Description, MemberDescription};
pub use fault::Fault;
pub use group::State;
pub use heartbeat::Heartbeat;
pub use join::{Join, JoinReply, Joined, JoinedMember};
pub use leave::{Departed, Departure, Leave};
pub use list::Listing;
pub use member::Protocol;
pub use sync::{Sync, SyncReply, Synced};
