//! One member of a consumer group of the newer protocol (KIP-848), without input, output, clock or
//! chance. It has the shape of [`GroupMember`](super::GroupMember).
//!
//! A heartbeat is all that such a member sends to its group. The coordinator answers with the epoch
//! of the member, and with what the member may hold. The member gives up first what is not its own
//! any more, names what it still holds, and is then given what is free. It chooses its own id.
//!
//! # What it does about a broken network
//!
//! - After a lost answer each heartbeat of this id is whole: it names all that the member wants and
//!   holds, and the answer names all that it may hold. One whole answer is not enough: the
//!   heartbeat that was given up may reach the coordinator after it, and its answer, which is lost
//!   as well, may be the only one that names a new partition. The next heartbeat is whole, too,
//!   after a session without an answer, in which the member lost what it held. An answer that names
//!   nothing then says that nothing changed, and the member does not know any more what that was.
//! - A heartbeat that names partitions and was given up may reach the coordinator later. Then it
//!   says that the member has given up what it does not name, and what it does not name may be the
//!   member's by then. A Join names nothing, and is accepted at any time. So a member that must be
//!   sure ([`GroupConfig::renews_id`]) takes a new id, and leaves for the old one, instead of a
//!   change of its share.
//!
//! A member that does not hear a partition which it holds gives way (`silence.rs`).
//!
//! # What it can prove
//!
//! The coordinator begins to take a partition away only as it answers a heartbeat of its holder,
//! and that answer says so. The holder is fenced when its session ends, and when it does not give
//! up what it must within [`GroupConfig::rebalance`]. So a heartbeat counts ([`Proof::since`]) if
//! its answer names the member's share, and the member has nothing left to give up. An answer
//! counts for the session alone that the group has, which is a setting of its own and may change:
//! the member asks for it again and again, and counts an answer once it knows that the session was
//! no shorter afterwards.
//!
//! A heartbeat that changes nothing leaves no record, so a deposed coordinator answers it as well:
//! the member commits, as under the classic protocol. A commit renews no session here, so it counts
//! together with heartbeats that the same broker answered: one that reads the group gives each
//! member a whole session, and that begins no sooner than the last commit that the broker before
//! has acknowledged. It takes a new partition only after it has committed a
//! [fence](ConsumerMember::fence) for it.

mod answers;
mod fences;
mod leaving;
mod refused;
mod sending;
mod share;
mod silence;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::backoff::Backoff;
use super::epochs::Known;
use super::fences::Wanted;
use super::request::{Share, TopicPartition};
use super::{Broker, GroupConfig, GroupEvent, Proof, Refusal, RequestId};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// What one life of one member needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConsumerConfig {
    /// Its group. The brokers set the heartbeat of this protocol, and share out the partitions
    /// themselves: [`GroupConfig::heartbeat`] and [`GroupConfig::assignors`] have no effect. The
    /// session is a setting of the brokers as well; [`GroupConfig::session`] is the least that the
    /// member relies on.
    pub group: GroupConfig,
    /// The member's id; no other life may ever use it.
    pub id: String,
}

/// A request that was sent and not answered yet.
#[derive(Debug, Clone, Hash)]
struct Flight {
    id: RequestId,
    kind: Kind,
    /// The member that it speaks for.
    member_id: String,
    /// The instant before it was sent.
    sent: Mono,
    /// When the member gives it up.
    deadline: Mono,
}

/// What a request asks, and all of it that its answer is judged by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kind {
    Find,
    /// A heartbeat at an epoch, whether it was whole, and the partitions that it names.
    Beat {
        epoch: i32,
        whole: bool,
        owned: Option<Share>,
    },
    Offsets,
    Leaders,
    Members,
    /// A commit of these fences.
    Commit(BTreeMap<PartitionId, i64>),
    /// The question for the session, asked after a heartbeat of that instant was answered.
    Session {
        beaten: Option<Mono>,
    },
    Leave,
}

/// How often what a member holds has changed. It decides nothing, so that a search of the states of
/// a member leaves it out.
#[derive(Debug, Clone, Copy, Default)]
struct Turn(i32);

impl Turn {
    const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Hash for Turn {
    fn hash<H: Hasher>(&self, _to: &mut H) {}
}

/// The state of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    /// It has to join, or waits for the answer to its first heartbeat.
    Joining,
    /// The group counts it in.
    Joined,
    /// It leaves.
    Leaving { until: Mono, failed: Option<Refusal> },
    /// It has left or given up.
    Ended,
}

/// One member of a consumer group of the newer protocol.
#[derive(Debug, Clone, Hash)]
pub struct ConsumerMember {
    config: ConsumerConfig,
    backoff: Backoff,
    phase: Phase,
    coordinator: Option<Broker>,
    /// The broker that answered last as the coordinator.
    tenure: Option<Broker>,
    member_id: String,
    /// How many ids it has had.
    names: u32,
    /// Whether a heartbeat was ever sent under this id.
    was_sent: bool,
    /// Whether a request under this id was given up that the coordinator may still get, and that
    /// means something else then.
    ghost: bool,
    epoch: i32,
    /// What the coordinator says that it may hold.
    given: Share,
    /// What it holds.
    held: Share,
    /// What it gave up, and the coordinator has not answered to that yet.
    releasing: Share,
    /// What the coordinator knows that it holds.
    acknowledged: Option<Share>,
    /// What it last reported as its assignment, and in which epoch.
    reported: Option<(i32, Share)>,
    /// Whether the next heartbeat must be whole.
    whole: bool,
    /// How often the broker wants a heartbeat.
    interval: Duration,
    flight: Option<Flight>,
    /// Ids to leave for.
    departures: VecDeque<String>,
    /// When the next request may leave that is not one of those below.
    due: Mono,
    beat_due: Mono,
    commit_due: Mono,
    session_due: Mono,
    /// Until when claims may outlive what the member gave up or lost last.
    promised: Mono,
    /// The instant before it sent the last heartbeat that was answered without an error.
    contact: Mono,
    /// The same of one after which nothing was left to give up.
    beaten: Option<Mono>,
    /// `H`: the same where the group's session was no shorter afterwards.
    assured: Option<Mono>,
    /// `A`.
    committed: Option<Mono>,
    /// The earlier of both, of the coordinators before.
    proved: Option<Mono>,
    /// The fences that it has committed for what it holds.
    fences: BTreeMap<PartitionId, i64>,
    /// Those that it has to commit for what it was given.
    raised: Option<BTreeMap<PartitionId, i64>>,
    /// Those that the host has to keep first.
    wanted: Option<Wanted>,
    known: Known,
    /// When to read the fences of the group again.
    learn_due: Option<Mono>,
    /// Whether it does.
    keeps_fences: bool,
    turn: Turn,
    silences: silence::Silences,
    /// How many refusals in a row said nothing that is known.
    obscure: u32,
    events: VecDeque<GroupEvent>,
    abandoned: VecDeque<RequestId>,
    next_id: u64,
}

impl ConsumerMember {
    /// A member that is about to find its coordinator.
    #[must_use]
    pub fn new(now: Mono, config: ConsumerConfig) -> Self {
        let group = &config.group;
        let learn_due = group.learns.map(|_| now);
        Self {
            backoff: Backoff::new(group.backoff, group.backoff_max, group.seed),
            member_id: config.id.clone(),
            interval: group.heartbeat,
            config,
            phase: Phase::Joining,
            coordinator: None,
            tenure: None,
            names: 1,
            was_sent: false,
            ghost: false,
            epoch: 0,
            given: Share::new(),
            held: Share::new(),
            releasing: Share::new(),
            acknowledged: None,
            reported: None,
            whole: true,
            flight: None,
            departures: VecDeque::new(),
            due: now,
            beat_due: now,
            commit_due: now,
            session_due: now,
            promised: now,
            contact: now,
            beaten: None,
            assured: None,
            committed: None,
            proved: None,
            fences: BTreeMap::new(),
            raised: None,
            wanted: None,
            known: Known::default(),
            learn_due,
            keeps_fences: false,
            turn: Turn::default(),
            silences: silence::Silences::default(),
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

    /// A request whose answer the member waits for no longer: its connection is to be closed.
    #[must_use]
    pub fn poll_abandoned(&mut self) -> Option<RequestId> {
        self.abandoned.pop_front()
    }

    /// The epoch of the member, if the group counts it in.
    #[must_use]
    pub fn epoch(&self) -> Option<i32> {
        (self.phase == Phase::Joined).then_some(self.epoch)
    }

    /// The id under which the group knows the member, or is about to.
    #[must_use]
    pub fn member_id(&self) -> &str {
        &self.member_id
    }

    /// The partitions that the member holds.
    pub fn held(&self) -> impl Iterator<Item = PartitionId> + '_ {
        let partitions: BTreeSet<PartitionId> = self.held.iter().map(|it| it.partition).collect();
        partitions.into_iter()
    }

    /// The last proof of membership. It covers all that the member holds, for the coordinator takes
    /// a partition away only by an answer to the member. There is none for a member that does not
    /// commit ([`GroupConfig::commit`]) or is static: any process with its instance id takes its
    /// place.
    ///
    /// [`Proof::generation`] is here how often what the member holds has changed, for one epoch may
    /// give it partitions twice.
    #[must_use]
    pub fn proof(&self) -> Option<Proof> {
        if !self.proves() || self.config.group.instance.is_some() {
            return None;
        }
        Some(Proof { generation: self.turn.0, since: self.since()? })
    }

    /// The fence of a partition that the member holds, once it is committed: higher than that of
    /// any earlier owner. It exists only where the member commits ([`GroupConfig::commit`]).
    #[must_use]
    pub fn fence(&self, partition: PartitionId) -> Option<i64> {
        self.fences.get(&partition).copied()
    }

    /// Whether the next answer may change what the member holds or can prove.
    #[must_use]
    pub const fn awaits_answers(&self) -> bool {
        self.flight.is_some() || self.wanted.is_some()
    }

    /// Whether the member holds all that it was given, and has nothing to give up.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.phase == Phase::Joined && self.releasing.is_empty() && self.held == self.given
    }

    /// The ledger was set back: as [`GroupMember::handle_set_back`].
    ///
    /// [`GroupMember::handle_set_back`]: super::GroupMember::handle_set_back
    pub fn handle_set_back(&mut self, now: Mono) {
        self.handle_timeout(now);
        if self.phase == Phase::Joined {
            self.rejoin(now, now, false);
        }
    }

    /// Programs have been able to see since `now` that their claims end sooner: a promise that one
    /// was given before then has passed after [`GroupConfig::hold`].
    pub fn handle_curtailed(&mut self, now: Mono) {
        self.promised = self.promised.max(now + self.config.group.hold);
    }

    /// Whether it proves its membership.
    const fn proves(&self) -> bool {
        self.config.group.commit.is_some()
    }

    /// What it has been given and does not hold yet.
    fn missing(&self) -> BTreeSet<TopicPartition> {
        self.given.difference(&self.held).copied().collect()
    }
}
