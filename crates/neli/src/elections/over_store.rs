//! What elections over a store have in common: requests go to the store, its answers and the
//! reports of its watches come back, each with the number of its request.

use std::fmt;

use crate::Event;
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Horizon;
use tandem_facts::time::Mono;

/// One member of a group that elects over a store.
pub trait OverStore {
    /// What it asks of the store.
    type Request: fmt::Debug;
    /// What the store answers.
    type Answer: fmt::Debug;
    /// What a watch reports.
    type Watched: fmt::Debug;

    /// Advances the time.
    fn handle_timeout(&mut self, now: Mono);

    /// The answer to the request with this number.
    fn handle_answer(&mut self, now: Mono, number: u64, answer: Self::Answer);

    /// What the watch with this number reports.
    fn handle_watched(&mut self, now: Mono, number: u64, watched: Self::Watched);

    /// The member leaves: it ends its claims, and has the store forget it.
    fn handle_leave(&mut self, now: Mono);

    /// Whether the member has left, and the store has answered.
    fn is_gone(&self) -> bool;

    /// Whether the store knows the member, and the member its place among the others.
    fn has_joined(&self) -> bool;

    /// When to call [`handle_timeout`](Self::handle_timeout) next, if ever.
    fn poll_timeout(&self) -> Option<Mono>;

    /// The next request, with its number. `now` is an instant before it is sent.
    fn poll_request(&mut self, now: Mono) -> Option<(u64, Self::Request)>;

    /// The next change of leadership.
    fn poll_event(&mut self) -> Option<Event>;

    /// The claims with their ends, by partition.
    fn claims(&self) -> impl Iterator<Item = Horizon>;

    /// The fence of the claim on a partition: greater than that of every earlier claim of any other
    /// member.
    fn fence(&self, partition: PartitionId) -> Option<i64>;
}
