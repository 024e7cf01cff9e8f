//! Members in the process of a test, on an embedded broker: five roles on four partitions.

use std::num::NonZeroU32;

use tandem::ids::PartitionId;
use tandem::time::Mono;
use tandem_member::{Builder, Event, Events, Member, Next};

use super::foreign::{Broker, eventually};

pub const WIDTH: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);

/// A member of it.
pub fn builder(broker: &Broker, name: &str) -> Builder {
    let builder = Member::builder(&broker.address, "prices").name(name);
    builder.create_ledger(WIDTH).roles(["a", "b", "c", "d", "e"])
}

/// How many partitions it leads.
pub fn led(member: &Member) -> usize {
    (0..WIDTH.get()).filter(|k| member.leads(PartitionId(*k))).count()
}

/// Waits for an event that `wanted` likes.
pub fn seen<T>(
    what: &str,
    events: &mut Events,
    mut wanted: impl FnMut(Mono, Event) -> Option<T>,
) -> T {
    eventually(what, || {
        let next = std::iter::from_fn(|| events.take());
        next.map(|next| match next {
            Next::Event(at, event) => (at, event),
            Next::Missed(count) => panic!("{count} events are missed"),
        })
        .find_map(|(at, event)| wanted(at, event))
    })
}
