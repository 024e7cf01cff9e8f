//! One member of a classic consumer group of Kafka, without input, output, clock or chance.
//!
//! ```text
//!   brokers ---- handle_response ---> +-------------+ ---- poll_request ----> brokers
//!   network ---- handle_failure ----> | GroupMember | ---- poll_abandoned --> network
//!   clock ------ handle_timeout ----> |             | ---- poll_timeout ----> clock
//!   member ----- handle_leave ------> +-------------+ ---- poll_event ------> member
//! ```
//!
//! Feed it what happened, then drain every `poll_*` until it is silent. It finds the coordinator,
//! joins, shares out the partitions if it leads, syncs, and sends heartbeats.
//!
//! # What it does about a broken network
//!
//! - A member keeps its id when it loses a connection, and joins again under it. A coordinator
//!   that gets both joins takes the second for a repetition of the first. But the first may come
//!   after the second and count in the next rebalance, which then does not wait for this member:
//!   one that must be sure takes a new id instead ([`GroupConfig::renews_id`]).
//! - While a Join or a Sync waits for other members, heartbeats go on: their answers say whether
//!   the coordinator is there, and whether it can have the Join at all.
//! - A new member's first Join is answered with an id. If the member gives that Join up, the
//!   caller keeps its connection: when the answer comes after all, the member takes the id or
//!   leaves for it. Only an answer that never comes leaves a pending member behind, which the
//!   coordinator forgets after a session. A static member has no such first round.
//! - A member counts its partitions as lost when no heartbeat was answered for a session, from
//!   the instant *before* it sent the last one that was. The coordinator waits longer than that.
//!
//! The brokers' view of one group has one topic here: a leader shares out only its own topic.

mod answers;
mod assign;
mod backoff;
mod config;
mod consumer;
mod epochs;
mod fences;
mod flight;
mod grouping;
mod leaving;
mod refusal;
mod request;
mod sending;
mod silence;
mod subscription;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use assign::{Assignor, Candidate, Shares};
use backoff::Backoff;
pub use config::{Assignors, GroupConfig};
pub use consumer::{ConsumerConfig, ConsumerMember};
use epochs::Known;
pub use epochs::{COUNT_BITS, epoch, fences_above};
pub use fences::ByPartition;
use fences::Fences;
use flight::Flight;
pub use refusal::Refusal;
pub use request::{
    Beat, Beaten, Broker, Join, Joined, JoinedMember, Outgoing, Request, RequestId, Response,
    Share, Sync, TopicPartition,
};
pub use subscription::{
    Partitions, StickyData, Subscription, decode_assignment, encode_assignment, heeds_unreachable,
};

use silence::Silences;

use crate::Membership;
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// What happened to a member of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum GroupEvent {
    /// The group gave or took partitions.
    Group(Membership),
    /// The member has left, as it was asked to, or has tried for a session.
    Left,
    /// The member gave up: no retry mends this.
    Failed(Refusal),
    /// The member hears nothing on these partitions, though they have leaders: it joins again, so
    /// that others get them ([`GroupConfig::gives_way`]).
    GaveWay(Vec<PartitionId>),
}

/// What a proof of membership rests on: the coordinator counted the member in, in this generation,
/// at `since` or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Proof {
    /// The generation, of which the member holds an assignment.
    pub generation: i32,
    /// The earlier of `H` and `A`: the instant before the member sent the last Heartbeat, and the
    /// last OffsetCommit, of this generation that was answered without an error. It is `H` alone
    /// for a member that does not commit ([`GroupConfig::commit`]).
    pub since: Mono,
}

/// The state of a member.
#[derive(Debug, Clone, Hash)]
enum Phase {
    /// It has to join, or waits for the answer to a Join.
    Joining,
    /// It is in a generation, and has to ask for its share, or waits for it.
    Syncing { protocol: Assignor, assignments: Vec<(String, Vec<u8>)> },
    /// It has its share, since an instant.
    Stable { since: Mono },
    /// It leaves.
    Leaving { until: Mono, failed: Option<Refusal> },
    /// It has left or given up.
    Ended,
}

/// What a member was given, and when.
#[derive(Debug, Clone, Hash)]
struct Previous {
    generation: i32,
    partitions: BTreeSet<PartitionId>,
}

/// One member of a consumer group.
#[derive(Debug, Clone, Hash)]
pub struct GroupMember {
    config: GroupConfig,
    backoff: Backoff,
    phase: Phase,
    coordinator: Option<Broker>,
    /// Empty where it has none.
    member_id: String,
    /// Whether the coordinator has counted the id in, and not only given it out.
    confirmed: bool,
    /// Whether a Join under this id was given up that the coordinator may still get.
    tainted: bool,
    /// The generation that it joined last and has not fallen out of.
    generation: Option<i32>,
    held: BTreeSet<PartitionId>,
    /// The last assignment, even if it was lost since.
    previous: Option<Previous>,
    /// The Join or Sync under way.
    waiting: Option<Flight>,
    /// The one other request under way.
    prompt: Option<Flight>,
    /// Joins without an id that were given up but may be answered, each until an instant.
    orphans: BTreeMap<RequestId, Mono>,
    /// Until when a Join without an id, sent by this static member, may still fence it.
    doubt: Option<Mono>,
    /// Ids to leave for.
    departures: VecDeque<String>,
    /// When the next request other than a heartbeat may leave.
    due: Mono,
    beat_due: Mono,
    commit_due: Mono,
    /// Until when claims may outlive what the member gave back or lost last.
    promised: Mono,
    /// The instant before it sent the last request by which it knows that it was counted in.
    contact: Mono,
    /// `H`.
    beaten: Option<Mono>,
    /// `A`.
    committed: Option<Mono>,
    fences: Fences,
    known: Known,
    /// When to read the fences of the group again.
    learn_due: Option<Mono>,
    /// Whether the host keeps fences.
    keeps_fences: bool,
    silences: Silences,
    /// How many refusals in a row said nothing that is known.
    obscure: u32,
    events: VecDeque<GroupEvent>,
    abandoned: VecDeque<RequestId>,
    next_id: u64,
}

impl GroupMember {
    /// A member that is about to find its coordinator.
    #[must_use]
    pub fn new(now: Mono, config: GroupConfig) -> Self {
        Self {
            backoff: Backoff::new(config.backoff, config.backoff_max, config.seed),
            config,
            phase: Phase::Joining,
            coordinator: None,
            member_id: String::new(),
            confirmed: false,
            tainted: false,
            generation: None,
            held: BTreeSet::new(),
            previous: None,
            waiting: None,
            prompt: None,
            orphans: BTreeMap::new(),
            doubt: None,
            departures: VecDeque::new(),
            due: now,
            beat_due: now,
            commit_due: now,
            promised: now,
            contact: now,
            beaten: None,
            committed: None,
            fences: Fences::default(),
            known: Known::default(),
            learn_due: None,
            keeps_fences: false,
            silences: Silences::default(),
            obscure: 0,
            events: VecDeque::new(),
            abandoned: VecDeque::new(),
            next_id: 0,
        }
    }

    /// What has changed, in order.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<GroupEvent> {
        self.events.pop_front()
    }

    /// A request whose answer the member waits for no longer: its connection may stall, and is to
    /// be closed.
    #[must_use]
    pub fn poll_abandoned(&mut self) -> Option<RequestId> {
        self.abandoned.pop_front()
    }

    /// The generation that the member is in, if it is in one.
    #[must_use]
    pub const fn generation(&self) -> Option<i32> {
        self.generation
    }

    /// The coordinator's name for the member, if it has given one.
    #[must_use]
    pub fn member_id(&self) -> Option<&str> {
        (!self.member_id.is_empty()).then_some(self.member_id.as_str())
    }

    /// The broker that coordinates the group, if that is known.
    #[must_use]
    pub const fn coordinator(&self) -> Option<&Broker> {
        self.coordinator.as_ref()
    }

    /// The partitions that the member holds.
    pub fn held(&self) -> impl Iterator<Item = PartitionId> + '_ {
        self.held.iter().copied()
    }

    /// The last proof of membership in the present generation. There is none before the first
    /// heartbeat and commit after an assignment are answered, and none from the first answer on
    /// that says that the group rebalances.
    ///
    /// Nor is there one while the network may hold a Join of this member that it gave up: delivered
    /// in a later rebalance, it counts as the member's own, and the coordinator gives the member's
    /// partitions away without waiting for it. [`GroupConfig::renews_id`] ends that. A static
    /// member has no proof at all, for any process with its instance id takes its place.
    #[must_use]
    pub fn proof(&self) -> Option<Proof> {
        if self.tainted || self.config.instance.is_some() {
            return None;
        }
        let (generation, beaten) = (self.generation?, self.beaten?);
        let since = match self.config.commit {
            Some(_) => beaten.min(self.committed?),
            None => beaten,
        };
        Some(Proof { generation, since })
    }

    /// Whether the next answer, of a broker or of the host, decides what the member holds or can
    /// prove.
    #[must_use]
    pub const fn awaits_answers(&self) -> bool {
        let answers = self.waiting.is_some() || self.prompt.is_some();
        let waits = answers || self.waits_for_host();
        waits && (!self.is_stable() || self.config.commit.is_some())
    }

    /// Whether the member waits for neither a Join nor a Sync and holds its share.
    #[must_use]
    pub const fn is_stable(&self) -> bool {
        matches!(self.phase, Phase::Stable { .. })
    }
}
