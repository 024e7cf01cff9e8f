//! What is decided where nothing is said.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{Assignor, Mode, Pace, Settings};
use crate::time::Span;

const SESSION: Duration = Duration::from_secs(1);
const HEARTBEAT_LEAST: Duration = Duration::from_millis(30);
const BEACON_MOST: Duration = Duration::from_millis(100);
const RESTART_LEAST: Duration = Duration::from_secs(2);
/// A minute is the least that brokers take well.
const RETENTION_LEAST: Duration = Duration::from_secs(60);
/// Until a dead broker is replaced: its session (9 s), and where it led the controllers, their wait
/// for it (`controller.quorum.fetch.timeout.ms`, 2 s, up to twice that) and an election (1 s, the
/// same).
pub(super) const FAILOVER: Duration = Duration::from_secs(15);
/// From the start of brokers that were all down until they serve: one of Apache Kafka's takes five
/// seconds on two idle cores, three at once take eighteen.
pub(super) const START_UP: Duration = Duration::from_secs(30);
/// The same of a broker of our own, its topics made again and its clients connected again.
pub(super) const START_UP_EMBEDDED: Duration = Duration::from_millis(500);
/// A group survives the loss of one, and of one more while that one is away.
pub(super) const MEMBERS: u32 = 3;
const PARTITIONS_MOST: u32 = 16;

/// One partition a role, so that a death moves few roles; but every member publishes on every
/// partition, so not without end.
pub(super) fn partitions(roles: u32) -> u32 {
    roles.clamp(1, PARTITIONS_MOST)
}

/// A beacon is worthless once the threshold is over.
pub(super) fn retention(settings: &Settings, threshold: Duration) -> Duration {
    settings.retention.map_or_else(|| RETENTION_LEAST.max(threshold), Span::get)
}

/// The pace of a group, of which `sharing` publish on the same topic.
pub(super) fn pace(settings: &Settings, sharing: u32) -> Pace {
    let session = settings.session.map_or(SESSION, Span::get);
    let heartbeat =
        settings.heartbeat.map_or_else(|| (session / 10).max(HEARTBEAT_LEAST), Span::get);
    let threshold = settings.threshold.map_or_else(|| session.saturating_mul(3), Span::get);
    let beacon = settings.beacon.map_or_else(|| BEACON_MOST.min(threshold / 3), Span::get);
    Pace {
        mode: settings.mode.unwrap_or(Mode::NonExclusive),
        session: Span(session),
        heartbeat: Span(heartbeat),
        wake: Span(wake(heartbeat)),
        beacon: Span(share(beacon, threshold, sharing)),
        threshold: Span(threshold),
        assignor: settings.assignor.unwrap_or(Assignor::Roundrobin),
        membership: settings.membership.unwrap_or_default(),
    }
}

/// When a dead member is started again.
pub(super) fn restart(settings: &Settings, session: Duration) -> Duration {
    match settings.restart {
        Some(restart) => restart.after.get(),
        None => RESTART_LEAST.max(session.saturating_mul(2)),
    }
}

/// librdkafka sends heartbeats when its main loop wakes: half the interval keeps them on time.
fn wake(heartbeat: Duration) -> Duration {
    (heartbeat / 2).clamp(Duration::from_millis(10), Duration::from_millis(50))
}

/// Groups on one topic hear each other's beacons, so each publishes at its share. It must still do
/// for itself alone: never less often than three times a threshold.
fn share(beacon: Duration, threshold: Duration, sharing: u32) -> Duration {
    beacon.saturating_mul(sharing).min((threshold / 3).max(beacon))
}

/// `messages` a second that a group publishes: each member on each partition, each interval.
pub(super) fn beacons_per_s(members: u32, partitions: NonZeroU32, beacon: Duration) -> f64 {
    f64::from(members) * f64::from(partitions.get()) / beacon.as_secs_f64().max(0.001)
}
