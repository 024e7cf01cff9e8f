//! The letters that the bounds are written in, with their values for one group.

use std::time::Duration;

use super::{Address, Mode, Pace, PlannedCluster};
use crate::time::Span;

/// How late a broker notices that a session is over; measured on Apache Kafka: 0 to 14 ms.
const EXPIRY_LAG: Duration = Duration::from_millis(15);
/// From publishing a message to its consumption by another, in an idle group.
const LATENCY: Duration = Duration::from_millis(20);
/// From the need of a message on a partition to its receipt: a new owner publishes at once, and
/// again each 10 ms until it hears itself.
pub(super) const FIRST_MESSAGE: Duration = LATENCY.saturating_add(Duration::from_millis(10));
/// librdkafka asks each second for a coordinator that it lost (`rd_kafka_cgrp_serve`; no setting
/// changes that). New leaders of partitions it learns meanwhile, for it looks for them more often.
const SEARCH: Duration = Duration::from_secs(1);
/// A round trip to a broker process of our own, on this machine.
const RTT_EMBEDDED: Duration = Duration::from_millis(5);
/// A round trip to somebody's brokers nearby.
const RTT_BROKERS: Duration = Duration::from_millis(10);

/// The terms of the bounds. The least rebalance and the least wait for a first message are nothing:
/// both can be as quick as the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// When a claim holds and what ends it.
    pub mode: Mode,
    /// `S`: after so much silence the broker gives a member's partitions to others.
    pub session: Duration,
    /// `h`: how often a member shows the broker that it lives.
    pub heartbeat: Duration,
    /// What the client's loop adds to the heartbeat: `h' = h + wake`.
    pub wake: Duration,
    /// `x`: how late the broker notices that a session is over.
    pub lag: Duration,
    /// `B`: a rebalance. The living learn of it at their next heartbeat, then join and sync.
    pub rebalance: Duration,
    /// `F`: from an assignment to the claim: the first message, or nothing in the fast mode.
    pub first: Duration,
    /// `a`: how old the last message may be that a member has heard when a fault strikes.
    pub age: Duration,
    /// `G`: for how long a new owner holds back; nothing where claims do not exclude each other.
    pub grace: Duration,
    /// `e`: the error between two clocks; nothing on one host.
    pub clock: Duration,
    /// `T`, in the fast mode `Q`: for how long a claim outlives the last message.
    pub threshold: Duration,
    /// `D`: from the death of a broker to the start of its successor's work.
    pub failover: Duration,
    /// `L`: how late clients find that successor.
    pub search: Duration,
    /// From the start of a broker, where it was the last of its cluster, to a cluster that serves.
    pub start_up: Duration,
}

impl Terms {
    /// The terms of a group of this pace on such a cluster.
    #[must_use]
    pub fn of(pace: &Pace, address: &Address) -> Self {
        let (heartbeat, wake) = (pace.heartbeat.get(), pace.wake.get());
        let rtt = match address {
            Address::Embedded => RTT_EMBEDDED,
            Address::Bootstrap(_) => RTT_BROKERS,
        };
        Self {
            mode: pace.mode,
            session: pace.session.get(),
            heartbeat,
            wake,
            lag: EXPIRY_LAG,
            // h' + poll + 2 rtt; the longest wait in one poll is the wake period.
            rebalance: heartbeat + wake + wake + 2 * rtt,
            first: match pace.mode {
                Mode::NonExclusive => FIRST_MESSAGE,
                // It leads from the assignment on.
                Mode::Fast => Duration::ZERO,
            },
            age: pace.beacon.get() + LATENCY,
            grace: Duration::ZERO,
            clock: Duration::ZERO,
            threshold: pace.threshold.get(),
            failover: Duration::ZERO,
            search: SEARCH,
            start_up: Duration::ZERO,
        }
    }

    /// The same, with what the topology says of the cluster.
    #[must_use]
    pub fn on(pace: &Pace, cluster: &PlannedCluster) -> Self {
        let failover = cluster.failover.map_or(Duration::ZERO, Span::get);
        let start_up = cluster.start_up.get();
        Self { failover, start_up, ..Self::of(pace, &cluster.address) }
    }

    /// `h'`: the longest that a living member is silent towards the broker.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.heartbeat + self.wake
    }

    /// `S - h'`: the least from a death to the end of its session.
    #[must_use]
    pub fn soonest(&self) -> Duration {
        self.session.saturating_sub(self.silence())
    }

    /// `B + F + G`: from the need of a new owner to its first service.
    #[must_use]
    pub fn handover(&self) -> Duration {
        self.rebalance + self.first + self.grace
    }

    /// `S + x + B + F + G`: the most from a death to a successor's service.
    #[must_use]
    pub fn takeover(&self) -> Duration {
        self.session + self.lag + self.handover()
    }

    /// `S + B + F`: who comes back earlier than this makes the group wait for the rest of the dead
    /// one's session.
    #[must_use]
    pub fn soonest_restart(&self) -> Duration {
        self.session + self.rebalance + self.first
    }

    /// `S + x + B + F + G + a + e`: a threshold below this leaves a gap under isolation.
    #[must_use]
    pub fn seamless_threshold(&self) -> Duration {
        self.takeover() + self.age + self.clock
    }
}
