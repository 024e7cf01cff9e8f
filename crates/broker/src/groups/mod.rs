//! The coordinator of classic consumer groups, without input, output, clock or chance.
//!
//!   connection -- handle_join, handle_sync --> +-------------+ -- poll_reply ----> connection
//!   connection -- handle_heartbeat, … -------> | Coordinator | -- (at once) -----> connection
//!   clock ------- handle_timeout ------------> +-------------+ -- poll_timeout --> clock
//!
//! A join or a sync may have to wait for other members, so it carries a [`Token`] of the caller's
//! and is answered through [`Coordinator::poll_reply`]; everything else is answered at once. The
//! answers are those of Apache Kafka 4.x (`GroupMetadataManager`, `ClassicGroup`), error codes
//! included; `tests/data/coordinator/*.txt` are played on both. There are three differences:
//!
//! - Where Kafka forgets a parked request for ever (a second join of the same member, a second
//!   sync, a leave while its sync waits), the request is answered with an error here.
//! - Where Kafka leaves a choice to the order of a hash map (the successor of a leader that is
//!   gone, protocols with equally many votes), the first by name is taken here.
//! - Groups, members and offsets are bounded here; what is beyond is refused.

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
