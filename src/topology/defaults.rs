//! The defaults.

use std::time::Duration;

use super::{
    Assignor, Beacons, Election, Ensemble, GroupProtocol, GroupSettings, MembershipClient, Mode,
    Pace, Profile, among, elections, paper, zookeeper,
};
use crate::time::Span;
use tandem_member::usual;

const RESTART_LEAST: Duration = Duration::from_secs(2);
/// The shortest default retention; brokers handle shorter ones badly.
const RETENTION_LEAST: Duration = Duration::from_secs(60);
/// The time until a dead broker is replaced: its session (9 s), and if it led the controllers,
/// their timeout (`controller.quorum.fetch.timeout.ms`, 2 s, up to twice that) and an election (1
/// s, the same).
pub(super) const FAILOVER: Duration = Duration::from_secs(15);
/// The time from the start of brokers that were all down until they serve: one Apache Kafka broker
/// takes five seconds on two idle cores, three at once take eighteen.
pub(super) const START_UP: Duration = Duration::from_secs(30);
/// The same for an embedded broker, including recreating its topics and reconnecting its clients.
pub(super) const START_UP_EMBEDDED: Duration = Duration::from_millis(500);
/// The same for etcd: it reads its log, and elects a leader.
pub(super) const START_UP_ETCD: Duration = Duration::from_secs(5);
/// The same for ZooKeeper: a Java machine starts, and an ensemble elects a leader.
pub(super) const START_UP_ZOOKEEPER: Duration = Duration::from_secs(15);
/// The same for NATS, which keeps nothing: its clients try again each tenth of a second.
pub(super) const START_UP_NATS: Duration = Duration::from_secs(1);
/// A group of three survives the loss of one member, and of a second while the first is away.
pub(super) const MEMBERS: u32 = 3;
const PARTITIONS_MOST: u32 = 16;

/// One partition per role, so that a death moves few roles; bounded, because every member publishes
/// on every partition. The fast mode has one.
pub(super) fn partitions(roles: u32, mode: Mode) -> u32 {
    if mode == Mode::Fast { 1 } else { roles.clamp(1, PARTITIONS_MOST) }
}

/// The default retention of the ledger; a beacon is useless after the threshold.
pub(super) fn retention(settings: &GroupSettings, threshold: Duration) -> Duration {
    settings.retention.map_or_else(|| RETENTION_LEAST.max(threshold), Span::get)
}

/// The pace of a group, when `sharing` groups publish on the same topic. `own_fits` says whether
/// membership of Tandem's own can connect to the group's cluster.
pub(super) fn pace(settings: &GroupSettings, sharing: u32, own_fits: bool) -> Pace {
    match elections::election(settings) {
        Election::Etcd => return elections::pace(settings),
        Election::Among(election) => return among::pace(election, settings),
        Election::ZooKeeper => return zookeeper::pace(settings, &Ensemble::default()),
        Election::Neli => {}
    }
    let session = settings.session.map_or(usual::SESSION, Span::get);
    let heartbeat = settings.heartbeat.map_or_else(|| usual::heartbeat(session), Span::get);
    let mode = settings.mode.unwrap_or(Mode::NonExclusive);
    let threshold = settings.threshold.map_or_else(|| usual::threshold(mode, session), Span::get);
    let beacon = settings.beacon.map_or_else(|| usual::beacon(threshold), Span::get);
    let as_published = settings.profile == Some(Profile::Paper);
    let membership = settings.membership.unwrap_or(match mode {
        Mode::NonExclusive if own_fits && !as_published => MembershipClient::Own,
        Mode::NonExclusive | Mode::Fast | Mode::ExclusivePaper => MembershipClient::Library,
        Mode::Exclusive => MembershipClient::Own,
    });
    let protocol = settings.protocol.unwrap_or_default();
    let knows = mode == Mode::NonExclusive && membership == MembershipClient::Own;
    let wake = Span(usual::wake(heartbeat));
    let (clock_error, grace) = paper::times(settings, mode, Span(threshold), wake);
    Pace {
        mode,
        session: Span(session),
        heartbeat: Span(heartbeat),
        wake,
        beacon: Span(share(beacon, threshold, sharing)),
        beacons: settings.beacons.unwrap_or(match mode {
            Mode::NonExclusive | Mode::Exclusive | Mode::ExclusivePaper => Beacons::All,
            Mode::Fast => Beacons::Owners,
        }),
        threshold: Span(threshold),
        hold: settings.hold.unwrap_or_default(),
        clock_error,
        grace,
        on_death: settings.on_death.unwrap_or_default(),
        suspect: settings.suspect,
        assignor: settings.assignor.unwrap_or(match protocol {
            GroupProtocol::Classic => Assignor::Roundrobin,
            GroupProtocol::Consumer => Assignor::Uniform,
        }),
        membership,
        protocol,
        assignment: settings.assignment_interval.unwrap_or_default(),
        handover: settings.handover.unwrap_or(knows && !as_published),
        static_members: settings.static_members.unwrap_or_default(),
        starts_within: Span::default(),
        stops_before: Span::default(),
    }
}

/// When a dead member is started again.
pub(super) fn restart(settings: &GroupSettings, session: Duration) -> Duration {
    match settings.restart {
        Some(restart) => restart.after.get(),
        None => RESTART_LEAST.max(session.saturating_mul(2)),
    }
}

/// Groups on one topic hear each other's beacons, so each publishes its share, but at least three
/// times per threshold, so that it also works alone.
fn share(beacon: Duration, threshold: Duration, sharing: u32) -> Duration {
    beacon.saturating_mul(sharing).min((threshold / 3).max(beacon))
}
