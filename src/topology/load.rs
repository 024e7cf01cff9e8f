//! What a group in peace asks of its brokers: how many beacons a second its members publish, and
//! how many are delivered to them.
//!
//! A beacon is delivered to the member that holds its partition, and one on the partition on which
//! members state themselves to every member that hands over. Groups on one topic hear each other.

use std::num::NonZeroU32;

use super::{Beacons, Mode, Pace, Plan, PlannedGroup, shared_fate};
use crate::neli::Publishers;

/// The load of one group, a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Beacons that its members publish.
    pub messages: f64,
    /// Beacons that its members are delivered.
    pub deliveries: f64,
}

/// What a group publishes.
struct Published {
    /// On the partition that all members read.
    stated: f64,
    /// On all others together.
    others: f64,
}

impl Load {
    /// That of a group of the plan, if its members publish like this.
    #[must_use]
    pub fn of(plan: &Plan, group: &PlannedGroup, beacons: Beacons) -> Self {
        let brokers = |group: &PlannedGroup| shared_fate::brokers(&plan.clusters, &group.cluster);
        let hears =
            |other: &&PlannedGroup| other.topic == group.topic && brokers(other) == brokers(group);
        let readers = if group.pace.handover { count(group) } else { 1 };
        let Published { stated, others } = published(group, beacons);
        let messages = stated + others;
        let heard = plan.groups.values().filter(hears).map(|other| {
            let own = other.consumer_group == group.consumer_group;
            let beacons = if own { beacons } else { other.pace.beacons };
            let Published { stated, others } = published(other, beacons);
            stated * f64::from(readers) + others
        });
        Self { messages, deliveries: if messages > 0.0 { heard.sum() } else { 0.0 } }
    }
}

/// The beacons a second of the complete group.
pub(super) fn beacons_per_s(members: u32, partitions: NonZeroU32, pace: &Pace) -> f64 {
    let Published { stated, others } = on(members, partitions, pace, pace.beacons);
    stated + others
}

fn published(group: &PlannedGroup, beacons: Beacons) -> Published {
    on(count(group), group.partitions, &group.pace, beacons)
}

fn count(group: &PlannedGroup) -> u32 {
    u32::try_from(group.members.len()).unwrap_or(u32::MAX)
}

fn on(members: u32, partitions: NonZeroU32, pace: &Pace, beacons: Beacons) -> Published {
    let others = f64::from(partitions.get() - 1);
    if members == 0 {
        return Published { stated: 0.0, others: 0.0 };
    }
    let (beacon, all) = (pace.beacon.get(), f64::from(members));
    // How many members' worth of beacons there are on a partition each `beacon`.
    let owned = match pace.mode {
        Mode::Fast => 1.0,
        Mode::NonExclusive | Mode::Exclusive | Mode::ExclusivePaper => {
            let rounds = Publishers::from(beacons).rounds(pace.threshold.get(), beacon);
            1.0 + (all - 1.0) / f64::from(rounds)
        }
    };
    // The ledger vouches for those that others suspect.
    let stated = if pace.handover && pace.suspect.is_some() { all } else { owned };
    let each = beacon.as_secs_f64().max(0.001);
    Published { stated: stated / each, others: owned * others / each }
}
