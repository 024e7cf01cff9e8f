//! What a group member is given at its start; fixed for its life.

use std::num::NonZeroU32;
use std::time::Duration;

use super::Assignor;
use tandem_facts::ids::{ConsumerGroup, TopicName};

/// What one life of one member needs to know of its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupConfig {
    /// `group.id`.
    pub group: ConsumerGroup,
    /// The one topic that it subscribes to and, as leader, shares out.
    pub topic: TopicName,
    /// The number of partitions of the topic.
    pub width: NonZeroU32,
    /// `group.instance.id`: makes it a static member, which keeps its partitions over a restart.
    pub instance: Option<String>,
    /// The assignors that it offers.
    pub assignors: Assignors,
    /// `session.timeout.ms`: the coordinator drops a member that it has not heard from for so long.
    pub session: Duration,
    /// `heartbeat.interval.ms`.
    pub heartbeat: Duration,
    /// How long the coordinator waits for this member to join again; `max.poll.interval.ms` of
    /// other clients.
    pub rebalance: Duration,
    /// Whether the member takes a new id, and leaves for the old one, where it does not know what
    /// became of a Join. It costs the group a rebalance more, and [`GroupMember::proof`] needs it.
    ///
    /// [`GroupMember::proof`]: super::GroupMember::proof
    pub renews_id: bool,
    /// How often the member commits an offset while it holds partitions; none if never. An
    /// acknowledged commit proves that the coordinator is not deposed: brokers replicate it, and a
    /// Heartbeat leaves no record. The offsets are the [fences](GroupMember::fence).
    ///
    /// [`GroupMember::fence`]: super::GroupMember::fence
    pub commit: Option<Duration>,
    /// How often the member reads the fences of all partitions, if it commits; none if only when it
    /// is given some. So each host knows of the last epoch when the brokers lose it.
    pub learns: Option<Duration>,
    /// The wall clock at the zero of the monotonic one, in milliseconds since 1970-01-01 UTC. Only
    /// the first fence of an epoch depends on it.
    pub wall_ms: i64,
    /// A member that hears nothing on a partition which it holds for so long, and whose
    /// coordinator names a leader for it, lets another member have the partition. The caller
    /// reports what the member hears ([`GroupMember::handle_heard`]). None if it never does that.
    ///
    /// [`GroupMember::handle_heard`]: super::GroupMember::handle_heard
    pub gives_way: Option<Duration>,
    /// How long a claim may outlive the end of an assignment: the member sends no JoinGroup and no
    /// LeaveGroup within this time after it gave partitions back or lost them.
    pub hold: Duration,
    /// The wait before the first retry; each further one is twice as long.
    pub backoff: Duration,
    /// The longest wait before a retry.
    pub backoff_max: Duration,
    /// Spreads the retries of members that fail together. Another number for each life.
    pub seed: u64,
}

/// One or more assignors, the preferred one first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Assignors {
    first: Assignor,
    others: Vec<Assignor>,
}

impl Assignors {
    /// The assignors of a comma-separated list, as in `partition.assignment.strategy`; none where
    /// one is not known, or where eager and cooperative ones stand side by side.
    #[must_use]
    pub fn parse(list: &str) -> Option<Self> {
        let mut named = list.split(',').map(|name| Assignor::from_name(name.trim()));
        let first = named.next()??;
        let others: Vec<Assignor> = named.collect::<Option<_>>()?;
        let alike = others.iter().all(|it| it.is_cooperative() == first.is_cooperative());
        alike.then_some(Self { first, others })
    }

    /// Whether members keep their partitions while they join again.
    #[must_use]
    pub const fn are_cooperative(&self) -> bool {
        self.first.is_cooperative()
    }

    /// The assignors, the preferred one first.
    pub fn iter(&self) -> impl Iterator<Item = Assignor> + '_ {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

impl From<Assignor> for Assignors {
    fn from(first: Assignor) -> Self {
        Self { first, others: Vec::new() }
    }
}
