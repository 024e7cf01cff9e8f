//! The symbols of the bounds' formulas, with their values for one group.

mod elections;

use std::time::Duration;

use super::{
    Address, Assignor, Electorate, GroupProtocol, MembershipClient, Mode, OnDeath, Pace,
    PlannedCluster,
};
use crate::time::Span;

/// How late a broker notices that a session has expired; measured on Apache Kafka: 0 to 14 ms.
const EXPIRY_LAG: Duration = Duration::from_millis(15);
/// From publishing a message to its consumption by another, in an idle group.
const LATENCY: Duration = Duration::from_millis(20);
/// From the need of a message on a partition to its receipt: a new owner publishes at once, and
/// again each 10 ms until it receives its own message.
pub(super) const FIRST_MESSAGE: Duration = LATENCY.saturating_add(Duration::from_millis(10));
/// How long the answer to a request may wait until its member looks for it.
const ANSWER: Duration = Duration::from_millis(5);
/// From the death of a process until its parent knows.
const NOTICE: Duration = Duration::from_millis(10);
/// From the death of a process until another member leads in its place: the kernel ends its
/// connections, two threads wake. That takes 2 to 7 ms beside a compiler; a host that keeps a
/// thread waiting for longer than this disturbs the measurement.
const STAND_IN: Duration = Duration::from_millis(50);
/// librdkafka looks for a lost coordinator once per second (`rd_kafka_cgrp_serve`; no setting
/// changes that). It finds new partition leaders sooner, because it looks for them more often.
const SEARCH: Duration = Duration::from_secs(1);
/// A round trip to an embedded broker, on this machine.
const RTT_EMBEDDED: Duration = Duration::from_millis(5);
/// A round trip to external brokers nearby.
pub(super) const RTT_BROKERS: Duration = Duration::from_millis(10);
/// How much later a message of a replicated topic is consumed, for consumers read only what the
/// followers have: measured with three brokers on two processors, 0 to 26 ms.
const FOLLOWERS: Duration = Duration::from_millis(30);
/// A round trip between two members on this machine.
const RTT_MEMBERS: Duration = Duration::from_millis(5);
/// A vote, or a fence: written to a file and to the disk. Measured of votes: 1 ms on an idle disk,
/// and beside several compilers 6 ms, in one of twenty 50 ms or more.
const SAVE: Duration = Duration::from_millis(60);

/// The terms of the bounds. The shortest rebalance and the shortest wait for a first message are
/// taken as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// When a claim holds and what ends it.
    pub mode: Mode,
    /// `S`: how long a member may be silent before the broker reassigns its partitions.
    pub session: Duration,
    /// `h`: how often a member sends a heartbeat to the broker.
    pub heartbeat: Duration,
    /// The delay that the client's loop adds to a heartbeat: `h' = h + wake`.
    pub wake: Duration,
    /// `x`: how late the broker notices that a session has expired.
    pub lag: Duration,
    /// `B`: a rebalance. Live members learn of it at their next heartbeat, then join and sync; in
    /// the exclusive mode `hold` later.
    pub rebalance: Duration,
    /// `F`: from an assignment to the claim: the first message, in the exclusive mode also the
    /// first proof, nothing in the fast mode.
    pub first: Duration,
    /// `a`: the age of the last message that a member has received when a fault hits; in the
    /// exclusive mode that of the last proof if it is older.
    pub age: Duration,
    /// `G`: how long a new owner waits before it claims; 0 but for the paper's exclusive mode.
    pub grace: Duration,
    /// `e`: the error between two clocks; 0 in modes that compare none.
    pub clock: Duration,
    /// `T`, in the fast mode `Q`: how long a claim outlives the last message, in the exclusive mode
    /// also the last proof.
    pub threshold: Duration,
    /// How long after its claim began a new owner's statement reaches the others; none where
    /// members do not hand over.
    pub statement: Option<Duration>,
    /// `D`: how long until other brokers take over from one that died.
    pub failover: Duration,
    /// `L`: how late clients find the brokers that took over.
    pub search: Duration,
    /// The time from the start of a cluster's last broker until the cluster serves.
    pub start_up: Duration,
    /// How long after a death the group knows of it, where the controller leaves for the dead.
    pub departure: Option<Duration>,
    /// How long the group keeps the place of a static member that left.
    pub stays: Option<Duration>,
    /// How long after a death another member of the group stands in; none where none does.
    pub stand_in: Option<Duration>,
    /// How long a member may be silent before another one stands in for it.
    pub suspicion: Option<Duration>,
    /// How many rebalances it takes until a member has given way on a partition that it does not
    /// hear; none where members do not.
    pub gives_way: Option<u32>,
    /// Whether the group may give a member once more what that gave way on.
    pub regains: bool,
    /// `W`: from a claim until the program of the user serves; 0 without one.
    pub work: Duration,
    /// Whether a member that joins is given roles of living members.
    pub joins_move: bool,
    /// Whether two members may lead, until the one hears the other, of an election among members.
    pub unproven: bool,
    /// Whether a leader leads on that reaches none of the others.
    pub leads_alone: bool,
    /// `K`: how long before the end of its claim that program is asked to end; 0 without one.
    pub stop: Duration,
}

impl Terms {
    /// The terms of a group with this pace on a cluster with this address.
    #[must_use]
    pub fn of(pace: &Pace, address: &Address) -> Self {
        let (heartbeat, wake) = (pace.heartbeat.get(), pace.wake.get());
        let (threshold, heard) = (pace.threshold.get(), pace.beacon.get() + LATENCY);
        let rtt = match address {
            Address::Embedded => RTT_EMBEDDED,
            Address::Bootstrap(_) | Address::Etcd(_) | Address::ZooKeeper(_) | Address::Nats(_) => {
                RTT_BROKERS
            }
            Address::Members(_) => RTT_MEMBERS,
        };
        let terms = Self {
            mode: pace.mode,
            session: pace.session.get(),
            heartbeat,
            wake,
            lag: EXPIRY_LAG,
            // h' + poll + 2 rtt; the longest wait in one poll is the wake period.
            rebalance: heartbeat + wake + wake + 2 * rtt + pace.hold.get(),
            first: match pace.mode {
                // Its grace period begins with that.
                Mode::NonExclusive | Mode::ExclusivePaper => FIRST_MESSAGE,
                // It leads from the assignment on.
                Mode::Fast => Duration::ZERO,
                // A heartbeat and a commit, one after the other, and a fence on the disk.
                Mode::Exclusive => FIRST_MESSAGE.max(2 * (rtt + ANSWER) + SAVE),
            },
            age: match pace.mode {
                Mode::NonExclusive | Mode::Fast | Mode::ExclusivePaper => heard,
                Mode::Exclusive => heard.max(heartbeat.max(threshold / 4) + wake + 2 * rtt),
            },
            grace: pace.grace.get(),
            clock: pace.clock_error.get(),
            threshold,
            // Of a lost one the next beacon says the same.
            statement: pace.handover.then(|| heard.max(FIRST_MESSAGE)),
            failover: Duration::ZERO,
            search: SEARCH,
            start_up: Duration::ZERO,
            // It finds the coordinator, connects and leaves.
            departure: (pace.on_death != OnDeath::Expire).then(|| NOTICE + 4 * rtt),
            stays: pace.static_members.then(|| pace.session.get() + EXPIRY_LAG),
            stand_in: (pace.on_death == OnDeath::StandIn).then_some(STAND_IN),
            suspicion: pace.suspect.map(Span::get),
            gives_way: gives_way(pace),
            regains: false,
            work: pace.starts_within.get(),
            stop: pace.stops_before.get(),
            joins_move: true,
            unproven: false,
            leads_alone: false,
        };
        match address {
            Address::Embedded | Address::Bootstrap(_) => match pace.protocol {
                GroupProtocol::Classic => terms,
                GroupProtocol::Consumer => terms.shared_out_by_brokers(pace, rtt),
            },
            Address::Etcd(_) => terms.over_etcd(rtt),
            Address::ZooKeeper(ensemble) => terms.over_zookeeper(ensemble, rtt),
            Address::Members(electorate) => terms.among_members(rtt, *electorate),
            Address::Nats(_) => terms.among_members(rtt, Electorate::OVER_NATS),
        }
    }

    /// The same, with the topology's settings of the cluster and of the ledger.
    #[must_use]
    pub fn on(pace: &Pace, replication: Option<u16>, cluster: &PlannedCluster) -> Self {
        let failover = cluster.failover.map_or(Duration::ZERO, Span::get);
        let start_up = cluster.start_up.get();
        let terms = Self { failover, start_up, ..Self::of(pace, &cluster.address) };
        match replication {
            Some(2..) => terms.replicated(),
            Some(_) | None => terms,
        }
    }

    /// The same with a replicated ledger.
    fn replicated(self) -> Self {
        let first = match self.mode {
            Mode::NonExclusive | Mode::Exclusive | Mode::ExclusivePaper => self.first + FOLLOWERS,
            Mode::Fast => self.first,
        };
        let statement = self.statement.map(|statement| statement + FOLLOWERS);
        Self { first, statement, age: self.age + FOLLOWERS, ..self }
    }

    /// `h'`: the longest silence of a live member towards the broker.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.heartbeat + self.wake
    }

    /// How long a role that has moved between two living members may be led by both.
    #[must_use]
    pub fn moved(&self) -> Duration {
        match self.mode {
            Mode::NonExclusive => self.statement.unwrap_or(self.threshold).min(self.threshold),
            // A revocation ends the claim before the member joins again.
            Mode::Fast | Mode::Exclusive | Mode::ExclusivePaper => Duration::ZERO,
        }
    }

    /// `S - h'`: the shortest time from a death until its session expires.
    #[must_use]
    pub fn soonest(&self) -> Duration {
        self.session.saturating_sub(self.silence())
    }

    /// `B + F + G + W`: from the loss of an owner to the first service of its successor.
    #[must_use]
    pub fn succession(&self) -> Duration {
        self.claimed_again() + self.work
    }

    /// `B + F + G`: from the loss of an owner to the claim of its successor.
    fn claimed_again(&self) -> Duration {
        self.rebalance + self.first + self.grace
    }

    /// How long a role that moves between two living members may have no leader: the first leads on
    /// until the threshold or its successor's statement, at least until that serves.
    #[must_use]
    pub fn joined(&self) -> Duration {
        let lapses = self.claimed_again() + self.age + self.stop;
        lapses.saturating_sub(self.threshold) + self.work
    }

    /// How long a role has no leader when its leader leaves. One that hands over leads on
    /// meanwhile, as long as its claims last.
    #[must_use]
    pub fn left(&self) -> Duration {
        let last = self.threshold.saturating_sub(self.age);
        let hands_over = self.statement.is_some() && !self.unproven;
        let leads_on = if hands_over { last } else { Duration::ZERO };
        // In the exclusive mode a program ends before its member leaves.
        let ends = if self.mode.forbids_overlap() { self.stop } else { Duration::ZERO };
        let claimed = self.stays.unwrap_or_default() + self.claimed_again();
        claimed.saturating_sub(leads_on) + self.work + ends
    }

    /// `S + x + B + F + G + W`: the longest time from a death to a successor's service.
    #[must_use]
    pub fn takeover(&self) -> Duration {
        self.session + self.lag + self.succession()
    }

    /// From the end of a claim on a partition that its owner does not hear to the claim of another
    /// member. The owner gives way `T` after the last message. A claim in the exclusive mode counts
    /// from a proof, which may be older than that by `a`; one by the paper from the broker's stamp,
    /// which is older by what the message took, and by the clocks. Where it gives way by leaving,
    /// one heartbeat of another member is as good as a rebalance; but it may have been given the
    /// partition as much later than the owner before gave it up.
    #[must_use]
    pub fn yielded(&self) -> Option<Duration> {
        let rebalances = self.rebalance * self.gives_way?;
        if self.regains && self.mode.forbids_overlap() {
            // The owner before has ended its claim, and this one listens in vain.
            let given = self.rebalance + self.threshold;
            return Some(given + rebalances + self.first + self.grace);
        }
        let older = match self.mode {
            Mode::Exclusive => self.age,
            Mode::ExclusivePaper => LATENCY + self.clock,
            Mode::NonExclusive | Mode::Fast => Duration::ZERO,
        };
        Some(older + rebalances + self.first + self.grace)
    }

    /// From a death to the next service, shortest and longest. A static one may be back at once.
    #[must_use]
    pub fn death(&self) -> (Duration, Duration) {
        match (self.stand_in, self.departure) {
            (Some(stand_in), _) => (Duration::ZERO, stand_in),
            (None, None) if self.stays.is_some() => (Duration::ZERO, self.takeover()),
            // Also with all the luck a new owner waits.
            (None, None) => (self.soonest() + self.grace, self.takeover()),
            (None, Some(departure)) => (Duration::ZERO, departure + self.succession()),
        }
    }

    /// From the silence of a member to the claim of its stand-in, shortest and longest:
    /// signs of life are an eighth of the limit apart, and judged as often.
    #[must_use]
    pub fn suspected(&self) -> Option<(Duration, Duration)> {
        let limit = self.suspicion?;
        Some((limit - limit / 8, limit + limit / 8 + STAND_IN))
    }

    /// How long a member is stood in for whose link ended though it lives: the question whether it
    /// is dead goes to the ledger as the stand-in begins, and then its answer does.
    #[must_use]
    pub fn refuted(&self) -> Option<Duration> {
        self.stand_in.and(self.statement).map(|statement| 2 * statement)
    }

    /// How long a stand-in leads if no newer owner does: longer than a takeover, even one that a
    /// second rebalance interrupts.
    #[must_use]
    pub fn stand_in_term(&self) -> Duration {
        self.takeover() + self.succession()
    }

    /// `S + B + F`: a member that comes back earlier makes the group wait for the rest of the dead
    /// member's session, unless the controller has left for it, or it is static.
    #[must_use]
    pub fn soonest_restart(&self) -> Duration {
        if !self.joins_move || self.stays.is_some() {
            return Duration::ZERO;
        }
        self.departure.unwrap_or(self.session) + self.rebalance + self.first
    }

    /// `S + x + B + F + G + W + a + e + K`: with a shorter threshold an isolation leaves a gap.
    #[must_use]
    pub fn seamless_threshold(&self) -> Duration {
        self.takeover() + self.age + self.clock + self.stop
    }
}

/// A cooperative member gives a partition up in one generation, and the next gives it away.
fn gives_way(pace: &Pace) -> Option<u32> {
    let gives_way = pace.membership == MembershipClient::Own && pace.mode != Mode::Fast;
    gives_way.then_some(if pace.assignor == Assignor::CooperativeSticky { 2 } else { 1 })
}
