//! All groups of one coordinator, the replies that are ready, and the next timeout.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::time::Duration;

use super::consumer::{Catalog, ConsumerGroup, ConsumerSettings, GroupOverrides};
use super::group::Group;
use super::{Fault, JoinReply, SyncReply};
use tandem_facts::time::Mono;

/// A number by which the caller matches a reply to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The reply to a request that may have waited.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reply {
    /// The request's token.
    pub token: Token,
    /// The reply itself.
    pub body: ReplyBody,
}

/// The replies to the two requests that wait for other members.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReplyBody {
    /// The reply to a join.
    Join(JoinReply),
    /// The reply to a sync.
    Sync(SyncReply),
}

/// The coordinator's settings, as an operator of Kafka sets them on a broker, and its limits.
#[derive(Debug, Clone)]
pub struct CoordinatorSettings {
    /// `group.min.session.timeout.ms`.
    pub session_min: Duration,
    /// `group.max.session.timeout.ms`.
    pub session_max: Duration,
    /// `group.initial.rebalance.delay.ms`: how long an empty group waits for further members.
    pub initial_delay: Duration,
    /// How long the first join of a member may wait. Kafka's constant is 5 minutes.
    pub new_member_join: Duration,
    /// `group.max.size`; as many more members may be pending.
    pub members_max: usize,
    /// The greatest number of groups.
    pub groups_max: usize,
    /// The greatest number of partitions for which a group may commit offsets.
    pub offsets_max: usize,
    /// The greatest size of one member's subscriptions, and of one generation's assignments.
    pub metadata_bytes_max: usize,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_bytes_max: usize,
    /// Those of groups of the newer protocol.
    pub consumer: ConsumerSettings,
}

impl Default for CoordinatorSettings {
    /// Kafka's defaults, except that sessions may be shorter and there is no initial delay.
    fn default() -> Self {
        Self {
            session_min: Duration::from_millis(10),
            session_max: Duration::from_mins(30),
            initial_delay: Duration::ZERO,
            new_member_join: Duration::from_mins(5),
            members_max: 1_000,
            groups_max: 1_000,
            offsets_max: 10_000,
            metadata_bytes_max: 1 << 20,
            offset_metadata_bytes_max: 4_096,
            consumer: ConsumerSettings::default(),
        }
    }
}

/// The context of a handler: the instant, the settings, the queue of replies.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) now: Mono,
    pub(super) settings: &'a CoordinatorSettings,
    pub(super) replies: &'a mut VecDeque<Reply>,
}

impl Turn<'_> {
    pub(super) fn join(&mut self, token: Token, reply: JoinReply) {
        self.replies.push_back(Reply { token, body: ReplyBody::Join(reply) });
    }

    pub(super) fn sync(&mut self, token: Token, reply: SyncReply) {
        self.replies.push_back(Reply { token, body: ReplyBody::Sync(reply) });
    }
}

/// The coordinator of all groups.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(super) settings: CoordinatorSettings,
    /// The groups of the classic protocol, and such as only hold offsets.
    pub(super) groups: BTreeMap<String, Group>,
    /// The groups of the newer protocol. No name is in both.
    pub(super) consumers: BTreeMap<String, ConsumerGroup>,
    pub(super) catalog: Catalog,
    pub(super) overrides: BTreeMap<String, GroupOverrides>,
    replies: VecDeque<Reply>,
    /// Nothing is due before this instant. Renewals do not move it, so it may be early.
    pub(super) alarm: Option<Mono>,
}

/// What decides all that it does from now on. Its settings never change, and its alarm only follows
/// the timers of the groups, so that a search of its states leaves both out.
impl Hash for Coordinator {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.groups.hash(to);
        self.consumers.hash(to);
        self.catalog.hash(to);
        self.overrides.hash(to);
        self.replies.hash(to);
    }
}

impl Coordinator {
    /// A coordinator without groups.
    #[must_use]
    pub fn new(settings: CoordinatorSettings) -> Self {
        Self {
            settings,
            groups: BTreeMap::new(),
            consumers: BTreeMap::new(),
            catalog: Catalog::default(),
            overrides: BTreeMap::new(),
            replies: VecDeque::new(),
            alarm: None,
        }
    }

    /// The settings of the coordinator.
    #[must_use]
    pub const fn settings(&self) -> &CoordinatorSettings {
        &self.settings
    }

    /// The next reply that is ready.
    pub fn poll_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// The latest instant at which to call [`handle_timeout`](Self::handle_timeout), which may then
    /// find nothing due.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Mono> {
        self.alarm
    }

    /// Does what is due by `now`: ends sessions, and completes rebalances that waited long enough.
    pub fn handle_timeout(&mut self, now: Mono) {
        if self.alarm.is_none_or(|alarm| alarm > now) {
            return;
        }
        let mut alarm = None;
        for group in self.groups.values_mut() {
            let mut turn = Turn { now, settings: &self.settings, replies: &mut self.replies };
            group.expire(&mut turn);
            alarm = earlier(alarm, group.next_due());
        }
        for group in self.consumers.values_mut() {
            group.expire(now);
            alarm = earlier(alarm, group.next_due());
        }
        self.alarm = alarm;
    }

    /// Runs `work` on a group, then handles what it made due.
    pub(super) fn with<T>(
        &mut self,
        now: Mono,
        name: &str,
        work: impl FnOnce(&mut Group, &mut Turn<'_>) -> T,
    ) -> Option<T> {
        self.handle_timeout(now);
        let group = self.groups.get_mut(name)?;
        let mut turn = Turn { now, settings: &self.settings, replies: &mut self.replies };
        let answer = work(group, &mut turn);
        self.alarm = earlier(self.alarm, group.next_due());
        // An initial delay of zero is due at once.
        self.handle_timeout(now);
        Some(answer)
    }

    /// Whether there are as many groups as there may be.
    pub(super) fn is_full(&self) -> bool {
        self.groups.len() + self.consumers.len() >= self.settings.groups_max
    }

    /// Creates the group if it does not exist and the limit allows it.
    pub(super) fn create(&mut self, name: &str) -> Result<(), Fault> {
        if !self.groups.contains_key(name) {
            if self.is_full() {
                return Err(Fault::CoordinatorNotAvailable);
            }
            self.groups.insert(name.to_owned(), Group::default());
        }
        Ok(())
    }

    pub(super) fn turn(&mut self, now: Mono) -> Turn<'_> {
        Turn { now, settings: &self.settings, replies: &mut self.replies }
    }
}

/// The earlier of two optional instants.
pub(super) fn earlier(one: Option<Mono>, other: Option<Mono>) -> Option<Mono> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
