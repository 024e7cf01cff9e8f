//! A silent partition: its owner gives way to a member that can serve it.
//!
//! A member may reach its coordinator and not the broker that leads a partition which it holds. It
//! hears nothing there, and the group sees a healthy member. So one that hears nothing on a
//! partition for [`GroupConfig::gives_way`], while its coordinator answers and names a leader for
//! the partition, joins again and says which partitions it does not reach
//! ([`StickyData`](super::StickyData)). The leader of the group gives these to members that do not
//! say so, and changes nothing else. Where all say so, nothing moves.
//!
//! All members say in every Join what they do not reach, those that do not hold it as well: a
//! member that publishes on all partitions knows by its own messages. So a partition that is dead
//! for all does not wander from one to the next.
//!
//! A leader that is no member of this kind gives no heed. There a silent member leaves the group
//! for a while instead. Each further time on one partition is at least twice as long after the one
//! before, from a session up to a minute, until the member hears the partition again.
//!
//! A partition that has moved does not come back by itself when its former owner reaches it again.
//! But a member that was given nothing at all, for it said that it does not reach what would have
//! been its share, joins again once it reaches some of that. Otherwise one whose way to the
//! coordinator heals a moment before that to the other brokers would idle until the next rebalance.
//!
//! [`GroupConfig::gives_way`]: super::GroupConfig::gives_way

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::backoff::doubled;
use super::{GroupEvent, GroupMember, Partitions};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// The longest wait before a member gives way again.
const WAIT_MOST: Duration = Duration::from_secs(60);

/// That a member gave way on a partition, and has not heard it since.
#[derive(Debug, Clone, Copy, Hash)]
struct GaveWay {
    /// How often.
    times: u32,
    /// It says so until then, and does not give way again before.
    until: Mono,
}

/// What a member said as it joined, and for which it was given nothing.
#[derive(Debug, Clone, Hash)]
struct Said {
    at: Mono,
    /// Neither a message of the member got there, nor one from there to it.
    unreached: BTreeSet<PartitionId>,
    /// The member did not hear these, though its messages got there: that they do ends nothing.
    unheard: BTreeSet<PartitionId>,
}

/// When a member that was given nothing joins again.
#[derive(Debug, Clone, Copy, Default, Hash)]
struct Return {
    due: Option<Mono>,
    /// Not earlier.
    from: Option<Mono>,
    /// How often it has in a row.
    times: u32,
}

/// What a member knows of the partitions that it does not reach. It stays empty where the member
/// does not give way.
#[derive(Debug, Clone, Default, Hash)]
pub(super) struct Silences {
    /// Of each partition that the member holds: when it last heard it, or was given it.
    heard: BTreeMap<PartitionId, Mono>,
    /// Of these, those that have been silent for nearly the limit.
    silent: BTreeSet<PartitionId>,
    /// No other one has been before then.
    next: Option<Mono>,
    /// When the member last got to look: it may have been stopped.
    looked: Option<Mono>,
    /// When a message of the member last got to a partition, or one of the partition to the member.
    reached: BTreeMap<PartitionId, Mono>,
    /// Since when the member publishes on all partitions; none for one that does not.
    publishes: Option<Mono>,
    /// What was silent as the member let it go.
    suspects: BTreeSet<PartitionId>,
    given_way: BTreeMap<PartitionId, GaveWay>,
    /// Which partitions have leaders, and when that was asked.
    led: Option<(Mono, BTreeSet<PartitionId>)>,
    /// When that was asked last.
    asked: Option<Mono>,
    /// Whether the leader of the group heeds what members do not reach.
    heeded: bool,
    /// The member stays out of the group until then.
    pub(super) away: Option<Mono>,
    /// How often it gave way in its life.
    turn: u32,
    /// When the member last heard any message of the ledger.
    listened: Option<Mono>,
    said: Option<Said>,
    back: Return,
}

impl Silences {
    /// The member holds exactly these from now on.
    fn holds(&mut self, now: Mono, partitions: &BTreeSet<PartitionId>, heeded: bool) {
        self.heard.retain(|partition, _| partitions.contains(partition));
        for partition in partitions {
            self.heard.entry(*partition).or_insert(now);
        }
        self.silent.clear();
        self.suspects.clear();
        (self.next, self.looked, self.led, self.asked) = (None, None, None, None);
        self.heeded = heeded;
        self.back.due = None;
        if !partitions.is_empty() {
            self.back = Return::default();
        }
        self.said = self.said.take().filter(|_| heeded && partitions.is_empty());
    }

    /// A sign of `partition`, if that is one for which the member was given nothing: it joins again
    /// a moment later, for others may follow.
    fn sign(&mut self, at: Mono, partition: PartitionId, limit: Duration) {
        let Some(said) = self.said.as_ref().filter(|said| self.back.due.is_none() && at > said.at)
        else {
            return;
        };
        let listens = self.listened.is_some_and(|listened| listened > said.at);
        let waits = self.given_way.get(&partition).is_some_and(|it| at < it.until);
        let unheard = said.unheard.contains(&partition) && listens;
        if !waits && (unheard || said.unreached.contains(&partition)) {
            let due = at + limit / 8;
            self.back.due = Some(self.back.from.map_or(due, |from| due.max(from)));
        }
    }

    /// Whether the last sign of `partition` is `limit` old.
    fn is_over(
        signs: &BTreeMap<PartitionId, Mono>,
        now: Mono,
        limit: Duration,
    ) -> Vec<PartitionId> {
        let over = signs.iter().filter(|(_, last)| now >= **last + limit);
        over.map(|(partition, _)| *partition).collect()
    }

    /// A member that was stopped has not listened: the count begins anew.
    fn look(&mut self, now: Mono, limit: Duration) {
        let away = self.looked.is_some_and(|looked| now.since(looked) > limit / 4);
        self.looked = Some(now);
        if away {
            let signs = self.heard.values_mut().chain(self.reached.values_mut());
            for last in signs.chain(&mut self.publishes) {
                *last = now.max(*last);
            }
            self.silent.clear();
            self.next = None;
        }
    }

    /// When to decide about a silent partition: after the limit, and not before the last wait is
    /// over.
    fn decides(&self, partition: PartitionId, limit: Duration) -> Option<Mono> {
        let over = *self.heard.get(&partition)? + limit;
        Some(self.given_way.get(&partition).map_or(over, |it| over.max(it.until)))
    }
}

impl GroupMember {
    /// A message of `partition` reached the member.
    pub fn handle_heard(&mut self, now: Mono, partition: PartitionId) {
        if self.config.gives_way.is_none() {
            return;
        }
        self.silences.reached.insert(partition, now);
        self.silences.listened = Some(now);
        if let Some(heard) = self.silences.heard.get_mut(&partition) {
            *heard = now;
            self.silences.silent.remove(&partition);
            self.silences.given_way.remove(&partition);
        }
        self.sign(now, partition);
    }

    fn sign(&mut self, at: Mono, partition: PartitionId) {
        if let Some(limit) = self.config.gives_way.filter(|_| self.is_stable()) {
            self.silences.sign(at, partition, limit);
        }
    }

    /// The member publishes on all partitions, and began with that at `since`. From half of
    /// [`GroupConfig::gives_way`](super::GroupConfig::gives_way) on it says that it does not reach
    /// those to which no message of it got.
    pub fn handle_publishing(&mut self, since: Mono) {
        if self.config.gives_way.is_some() {
            self.silences.publishes.get_or_insert(since);
        }
    }

    /// A message of the member got to `partition` at `at`.
    pub fn handle_delivered(&mut self, at: Mono, partition: PartitionId) {
        if self.config.gives_way.is_some() {
            let reached = self.silences.reached.entry(partition).or_insert(at);
            *reached = at.max(*reached);
        }
        self.sign(at, partition);
    }

    /// The member sends a Join now, which says what it does not reach.
    pub(super) fn say(&mut self, now: Mono) {
        let Some(limit) = self.config.gives_way else { return };
        let (all, _) = self.unreachable(now);
        let all = all.into_values().flatten();
        let reached = &self.silences.reached;
        let is_over = |partition: &PartitionId| {
            reached.get(partition).is_none_or(|last| now >= *last + limit / 2)
        };
        let (unreached, unheard): (BTreeSet<_>, BTreeSet<_>) = all.partition(is_over);
        let speaks = !unreached.is_empty() || !unheard.is_empty();
        self.silences.said = speaks.then_some(Said { at: now, unreached, unheard });
    }

    /// The member holds something else from now on.
    pub(super) fn listen(&mut self, now: Mono, heeded: bool) {
        if self.config.gives_way.is_some() {
            self.silences.holds(now, &self.held, heeded);
        }
    }

    /// The member lets go of what it does not hold any more.
    pub(super) fn stop_listening(&mut self, now: Mono) {
        let Some(limit) = self.config.gives_way else { return };
        let Self { silences, held, .. } = self;
        let silent = Silences::is_over(&silences.heard, now, limit / 2);
        silences.suspects.extend(silent.into_iter().filter(|partition| !held.contains(partition)));
        silences.heard.retain(|partition, _| held.contains(partition));
        silences.silent.retain(|partition| held.contains(partition));
    }

    /// What the member says that it does not reach, and how often it gave way: a Join that says
    /// the same as the one before begins no rebalance.
    pub(super) fn unreachable(&self, now: Mono) -> (Partitions, u32) {
        let silences = &self.silences;
        let limit = self.config.gives_way.unwrap_or(Duration::MAX) / 2;
        let mut all = silences.suspects.clone();
        all.extend(Silences::is_over(&silences.heard, now, limit));
        all.extend(Silences::is_over(&silences.reached, now, limit));
        if silences.publishes.is_some_and(|since| now >= since + limit) {
            let width = self.config.width.get();
            let never = |partition: &PartitionId| !silences.reached.contains_key(partition);
            all.extend((0..width).map(PartitionId).filter(never));
        }
        let given_way = silences.given_way.iter().filter(|(_, it)| now < it.until);
        all.extend(given_way.map(|(partition, _)| *partition));
        all.retain(|partition| partition.0 < self.config.width.get());
        (self.of_topic(&all), silences.turn)
    }

    /// Time has passed: the member gives way on what has been silent for too long.
    pub(super) fn heed_silence(&mut self, now: Mono) {
        let Some(limit) = self.config.gives_way else { return };
        if !self.is_stable() {
            return;
        }
        if self.silences.back.due.is_some_and(|due| due <= now) {
            return self.come_back(now);
        }
        let lead = self.lead(limit);
        self.silences.look(now, limit);
        if self.silences.next.is_none_or(|next| next <= now) {
            let silent = Silences::is_over(&self.silences.heard, now, lead);
            self.silences.silent = silent.into_iter().collect();
            let Silences { heard, silent, .. } = &self.silences;
            let others = heard.iter().filter(|(partition, _)| !silent.contains(partition));
            self.silences.next = others.map(|(_, heard)| *heard + lead).min();
        }
        let is_due = |partition: &PartitionId| {
            let due = self.silences.decides(*partition, limit);
            due.is_some_and(|due| due <= now && self.is_led(*partition, limit))
        };
        let due: Vec<PartitionId> = self.silences.silent.iter().copied().filter(is_due).collect();
        if !due.is_empty() {
            self.give_way(now, due);
        }
    }

    /// A member asks who leads a partition when it has been silent for so long: a heartbeat before
    /// it gives way.
    fn lead(&self, limit: Duration) -> Duration {
        limit.saturating_sub(self.config.heartbeat).max(limit / 2)
    }

    /// Whether the coordinator, asked a heartbeat ago or later, has named a leader.
    fn is_led(&self, partition: PartitionId, limit: Duration) -> bool {
        let asks = self.asks_from(partition, limit);
        let led = self.silences.led.as_ref();
        led.is_some_and(|(asked, led)| {
            asks.is_some_and(|asks| asks <= *asked) && led.contains(&partition)
        })
    }

    /// From when on an answer to the question who leads it counts.
    fn asks_from(&self, partition: PartitionId, limit: Duration) -> Option<Mono> {
        let decides = self.silences.decides(partition, limit)?;
        Some(decides - (limit - self.lead(limit)))
    }

    /// When to ask next which partitions have leaders.
    pub(super) fn next_leaders_due(&self) -> Option<Mono> {
        let limit = self.config.gives_way?;
        if !self.is_stable() {
            return None;
        }
        let unknown = self.silences.silent.iter().filter(|it| !self.is_led(**it, limit));
        let from = unknown.filter_map(|it| self.asks_from(*it, limit)).min()?;
        Some(self.silences.asked.map_or(from, |asked| from.max(asked + self.config.heartbeat)))
    }

    /// The partitions to ask about.
    pub(super) fn ask_leaders(&mut self, now: Mono) -> Vec<PartitionId> {
        self.silences.asked = Some(now);
        self.silences.silent.iter().copied().collect()
    }

    /// These have leaders, as the coordinator says.
    pub(super) fn led(&mut self, asked: Mono, partitions: BTreeSet<PartitionId>) {
        self.backoff.succeeded();
        self.silences.led = Some((asked, partitions));
    }

    /// When [`heed_silence`](Self::heed_silence) is to be called next.
    pub(super) fn next_silence(&self) -> Option<Mono> {
        let limit = self.config.gives_way?;
        if !self.is_stable() {
            return None;
        }
        let silences = &self.silences;
        if self.held.is_empty() {
            return silences.back.due;
        }
        let known = silences.silent.iter().filter(|it| self.is_led(**it, limit));
        let decides = known.filter_map(|it| silences.decides(*it, limit)).min();
        let look = silences.looked.map(|looked| looked + limit / 8);
        [decides, silences.next, look].into_iter().flatten().min()
    }

    /// The member was given nothing, and reaches some of what it said that it does not reach.
    fn come_back(&mut self, now: Mono) {
        let Return { times, .. } = self.silences.back;
        let wait = doubled(self.config.session, times).min(WAIT_MOST);
        let times = times.saturating_add(1);
        self.silences.back = Return { due: None, from: Some(now + wait), times };
        self.rejoin(now, now);
    }

    fn give_way(&mut self, now: Mono, silent: Vec<PartitionId>) {
        let silences = &mut self.silences;
        silences.turn = silences.turn.saturating_add(1);
        let mut longest = Duration::ZERO;
        for partition in &silent {
            let gave = silences.given_way.get(partition).map_or(0, |it| it.times);
            let wait = doubled(self.config.session, gave).min(WAIT_MOST);
            let (times, until) = (gave.saturating_add(1), now + wait);
            silences.given_way.insert(*partition, GaveWay { times, until });
            longest = longest.max(wait);
        }
        let heeded = silences.heeded || self.config.instance.is_some();
        self.events.push_back(GroupEvent::GaveWay(silent));
        if heeded {
            self.rejoin(now, now);
        } else {
            self.silences.away = Some(now + longest);
            self.revoke_all(now);
            self.departures.push_back(std::mem::take(&mut self.member_id));
            self.restart(now, now);
        }
    }
}
