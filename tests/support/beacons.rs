//! How many beacons a second the members of a group publish, as its broker counts them.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tandem::ids::PartitionId;
use tandem::observation::{Fact, MemberEvent, What};
use tandem::time::Mono;
use tandem::topology::{Beacons, PlannedGroup};

use super::experiment::eventually;

/// No answer of a broker takes longer, and no group that is settled changes for longer.
const SOON: Duration = Duration::from_secs(60);

/// The word for it in a topology.
pub fn word(beacons: Beacons) -> &'static str {
    tandem::neli::Publishers::from(beacons).as_str()
}

/// Whether all members of a group say little: none was given, gave up or claimed anything for two
/// thresholds. One that learns late of a change states itself for a threshold from then on.
fn is_in_peace(facts: &[Fact], group: &PlannedGroup) -> bool {
    let changes = |fact: &&Fact| {
        matches!(
            fact.what,
            What::Member(
                MemberEvent::Assigned { .. }
                    | MemberEvent::Revoked { .. }
                    | MemberEvent::Lost { .. }
                    | MemberEvent::Claimed { .. }
                    | MemberEvent::Lapsed { .. }
            )
        )
    };
    let last = facts.iter().filter(changes).map(|fact| fact.t).max();
    last.is_some_and(|last| Mono::now().since(last) > 2 * group.pace.threshold.get())
}

/// Waits until the group is in peace.
pub fn await_peace(group: &PlannedGroup, facts: impl Fn() -> Vec<Fact>) {
    eventually("peace", SOON, || is_in_peace(&facts(), group).then_some(()));
}

/// The end of each partition of the group's ledger, and when the broker said so.
fn ends(reader: &BaseConsumer, group: &PlannedGroup) -> BTreeMap<PartitionId, (i64, Mono)> {
    let end = |partition: u32| {
        let number = i32::try_from(partition).unwrap();
        let (_, end) = reader.fetch_watermarks(group.topic.as_str(), number, SOON).unwrap();
        (PartitionId(partition), (end, Mono::now()))
    };
    (0..group.partitions.get()).map(end).collect()
}

/// The beacons a second that are appended to the group's ledger, on each partition, counted for so
/// long.
pub fn published(
    broker: &str,
    group: &PlannedGroup,
    lasts: Duration,
) -> BTreeMap<PartitionId, f64> {
    let reader: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", broker).create().unwrap();
    let before = ends(&reader, group);
    std::thread::sleep(lasts);
    let after = ends(&reader, group);
    let rate = |(partition, (end, at)): (PartitionId, (i64, Mono))| {
        let (began, since) = before[&partition];
        let more = u32::try_from(end - began).unwrap();
        (partition, f64::from(more) / at.since(since).as_secs_f64())
    };
    after.into_iter().map(rate).collect()
}
