//! All groups of one coordinator, the replies that wait to be fetched, and the alarm.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::group::Group;
use super::{Fault, JoinReply, SyncReply};
use tandem_facts::time::Mono;

/// A number by which the caller knows again the request that a reply belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The answer to a request that may have had to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Whose.
    pub token: Token,
    /// What.
    pub body: ReplyBody,
}

/// The two requests that wait for other members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyBody {
    /// To a join.
    Join(JoinReply),
    /// To a sync.
    Sync(SyncReply),
}

/// What an operator of Kafka would set on the broker, and the bounds of memory.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `group.min.session.timeout.ms`.
    pub session_min: Duration,
    /// `group.max.session.timeout.ms`.
    pub session_max: Duration,
    /// `group.initial.rebalance.delay.ms`: how long an empty group waits for more members.
    pub initial_delay: Duration,
    /// How long the first join of a member may stay parked. Kafka's constant is 5 minutes.
    pub new_member_join: Duration,
    /// `group.max.size`, and as many may be pending.
    pub members_max: usize,
    /// How many groups there may be.
    pub groups_max: usize,
    /// How many partitions a group may commit offsets for.
    pub offsets_max: usize,
    /// Bytes of one member's subscriptions, and of one generation's assignments.
    pub metadata_bytes_max: usize,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_bytes_max: usize,
}

impl Default for Settings {
    /// Kafka's own, but for a session that may be as short as a test wants and no initial delay.
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
        }
    }
}

/// What a handler needs beside the group: the instant, the rules, the way out.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) now: Mono,
    pub(super) settings: &'a Settings,
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

/// The coordinator of every group that exists here.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    pub(super) groups: BTreeMap<String, Group>,
    replies: VecDeque<Reply>,
    /// Nothing is due before this instant. Renewals do not move it, so it may be early.
    alarm: Option<Mono>,
}

impl Coordinator {
    /// No groups yet.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, groups: BTreeMap::new(), replies: VecDeque::new(), alarm: None }
    }

    /// The rules it was made with.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The next answer that is ready.
    pub fn poll_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest; it may find nothing
    /// due.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Mono> {
        self.alarm
    }

    /// Does what is due by `now`: sessions that end, rebalances that waited long enough.
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
        self.alarm = alarm;
    }

    /// Lets `work` act on a group, and sees to what became due by it.
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
        // An initial delay of nothing is due at once.
        self.handle_timeout(now);
        Some(answer)
    }

    /// Makes the group if it does not exist and there is room.
    pub(super) fn create(&mut self, name: &str) -> Result<(), Fault> {
        if !self.groups.contains_key(name) {
            if self.groups.len() >= self.settings.groups_max {
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

/// The earlier of two instants that may not be.
pub(super) fn earlier(one: Option<Mono>, other: Option<Mono>) -> Option<Mono> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
