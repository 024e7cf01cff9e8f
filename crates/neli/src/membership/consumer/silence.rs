//! A silent partition: its owner leaves the group for a moment, so that another member gets it.
//!
//! The brokers share out the partitions and ask no member what it reaches. So one that hears
//! nothing on a partition for [`GroupConfig::gives_way`], while its coordinator answers and names a
//! leader for the partition, can only leave: the others get all that it held at their next
//! heartbeats. It joins again after a wait, and the brokers may give it the silent partition once
//! more. Each further wait for one partition is twice as long, from a session up to a minute, until
//! the member hears the partition.
//!
//! A partition that is dead for all makes one member after the other leave, or all at once where
//! each holds such a one. The others must not be without a member for that: one that is away asks
//! whether any is left, and comes back at once if none is. In the non-exclusive mode claims outlive
//! the moment until then. What it gave way on it then bears for the rest of the wait.
//!
//! A static member does not give way: the group keeps the place of one that leaves.
//!
//! [`GroupConfig::gives_way`]: crate::membership::GroupConfig::gives_way

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{ConsumerMember, Phase};
use crate::membership::backoff::doubled;
use crate::membership::refusal::Remedy;
use crate::membership::request::Share;
use crate::membership::{GroupEvent, Refusal};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// The longest wait before a member gives way again.
const WAIT_MOST: Duration = Duration::from_secs(60);
/// For how many heartbeats it stays away at least: by then each of the others was answered once.
const AWAY: u32 = 2;

/// That a member gave way on a partition, and has not heard it since.
#[derive(Debug, Clone, Copy, Hash)]
struct GaveWay {
    /// How often.
    times: u32,
    /// It does not give way again before.
    until: Mono,
}

/// What a member knows of the partitions that it holds and does not hear.
#[derive(Debug, Clone, Default, Hash)]
pub(super) struct Silences {
    /// When the member last heard each partition that it holds, or was given it.
    heard: BTreeMap<PartitionId, Mono>,
    /// When the member last got to look: it may have been stopped.
    looked: Option<Mono>,
    given_way: BTreeMap<PartitionId, GaveWay>,
    /// Which partitions have leaders, and when that was asked.
    led: Option<(Mono, BTreeSet<PartitionId>)>,
    /// When that was asked last.
    asked: Option<Mono>,
    /// The member stays out of the group until then.
    away: Option<Mono>,
    /// When to ask next whether any member is left.
    pub(super) look_in: Option<Mono>,
}

impl Silences {
    pub(super) fn is_away(&self, now: Mono) -> bool {
        self.away.is_some_and(|away| now < away)
    }

    /// When a member that stays out of its group joins again, or asks first who is left.
    pub(super) fn next_join(&self) -> Option<Mono> {
        self.away.map(|away| self.look_in.map_or(away, |look_in| away.min(look_in)))
    }

    /// A member that was stopped has not listened: the count begins anew.
    fn look(&mut self, now: Mono, limit: Duration) {
        let slept = self.looked.is_some_and(|looked| now.since(looked) > limit / 4);
        self.looked = Some(now);
        if slept {
            self.heard.values_mut().for_each(|heard| *heard = now.max(*heard));
        }
    }

    /// When to decide about a partition, if it stays silent: after the limit, and not before the
    /// last wait is over.
    fn decides(&self, partition: PartitionId, heard: Mono, limit: Duration) -> Mono {
        let over = heard + limit;
        self.given_way.get(&partition).map_or(over, |it| over.max(it.until))
    }

    /// The same for each partition.
    fn all(&self, limit: Duration) -> impl Iterator<Item = (PartitionId, Mono)> + '_ {
        self.heard.iter().map(move |(k, heard)| (*k, self.decides(*k, *heard, limit)))
    }

    /// Whether the coordinator, asked since then, has named a leader.
    fn is_led(&self, partition: PartitionId, asked: Mono) -> bool {
        let led = self.led.as_ref();
        led.is_some_and(|(at, led)| asked <= *at && led.contains(&partition))
    }
}

impl ConsumerMember {
    /// A message of `partition` reached the member.
    pub fn handle_heard(&mut self, now: Mono, partition: PartitionId) {
        if self.gives_way().is_none() {
            return;
        }
        if let Some(heard) = self.silences.heard.get_mut(&partition) {
            *heard = now;
            self.silences.given_way.remove(&partition);
        }
    }

    fn gives_way(&self) -> Option<Duration> {
        self.config.group.gives_way.filter(|_| self.config.group.instance.is_none())
    }

    /// The same while there is anything to listen to.
    fn listens(&self) -> Option<Duration> {
        self.gives_way().filter(|_| self.phase == Phase::Joined && !self.silences.heard.is_empty())
    }

    /// The member holds exactly what it holds now.
    pub(super) fn listen(&mut self, now: Mono) {
        if self.gives_way().is_none() {
            return;
        }
        let Self { silences, held, .. } = self;
        let holds = |held: &Share, k| held.iter().any(|it| it.partition == k);
        silences.heard.retain(|partition, _| holds(held, *partition));
        for it in held.iter() {
            silences.heard.entry(it.partition).or_insert(now);
        }
        if silences.heard.is_empty() {
            silences.looked = None;
        }
    }

    /// How long before it decides a member asks who leads a partition: a heartbeat.
    fn lead(&self, limit: Duration) -> Duration {
        self.interval.min(limit / 2)
    }

    /// Time has passed: the member gives way on what has been silent for too long.
    pub(super) fn heed_silence(&mut self, now: Mono) {
        let Some(limit) = self.listens() else { return };
        self.silences.look(now, limit);
        let lead = self.lead(limit);
        let is_due = |(partition, at): &(PartitionId, Mono)| {
            *at <= now && self.silences.is_led(*partition, *at - lead)
        };
        let due = self.silences.all(limit).filter(is_due).map(|(partition, _)| partition);
        let due: Vec<PartitionId> = due.collect();
        if !due.is_empty() && self.releasing.is_empty() {
            self.give_way(now, due);
        }
    }

    /// When to ask next which partitions have leaders.
    pub(super) fn leaders_at(&self) -> Option<Mono> {
        let limit = self.listens()?;
        let lead = self.lead(limit);
        let from = self.silences.all(limit).map(|(partition, at)| (partition, at - lead));
        let unknown = from.filter(|(partition, from)| !self.silences.is_led(*partition, *from));
        let from = unknown.map(|(_, from)| from).min()?;
        Some(self.silences.asked.map_or(from, |asked| from.max(asked + self.interval)))
    }

    /// The partitions to ask about.
    pub(super) fn ask_leaders(&mut self, now: Mono) -> Vec<PartitionId> {
        self.silences.asked = Some(now);
        let Some(limit) = self.listens() else { return Vec::new() };
        let lead = self.lead(limit);
        let silent = self.silences.all(limit).filter(|(_, at)| *at - lead <= now);
        silent.map(|(partition, _)| partition).collect()
    }

    /// These have leaders, as the coordinator says.
    pub(super) fn led(&mut self, asked: Mono, partitions: BTreeSet<PartitionId>) {
        self.backoff.succeeded();
        self.silences.led = Some((asked, partitions));
    }

    /// When [`heed_silence`](Self::heed_silence) is to be called next.
    pub(super) fn next_silence(&self) -> Option<Mono> {
        let limit = self.listens()?;
        let lead = self.lead(limit);
        let known = self.silences.all(limit).filter(|(k, at)| self.silences.is_led(*k, *at - lead));
        let look = self.silences.looked.map(|looked| looked + limit / 8);
        known.map(|(_, at)| at).chain(look).min()
    }

    fn give_way(&mut self, now: Mono, silent: Vec<PartitionId>) {
        let mut longest = Duration::ZERO;
        for partition in &silent {
            let gave = self.silences.given_way.get(partition).map_or(0, |it| it.times);
            let wait = doubled(self.config.group.session, gave).min(WAIT_MOST);
            let it = GaveWay { times: gave.saturating_add(1), until: now + wait };
            self.silences.given_way.insert(*partition, it);
            longest = longest.max(wait);
        }
        self.events.push_back(GroupEvent::GaveWay(silent));
        self.revoke_all(now);
        self.abandoned.extend(self.flight.take().map(|flight| flight.id));
        let hold = self.config.group.hold;
        self.silences.away = Some(now + longest.max(hold));
        self.silences.look_in = Some(now + hold + self.interval * AWAY);
        self.rejoin(now, now, false);
        if !self.config.group.renews_id {
            // The departure may arrive late, and must not hit the member that has come back.
            self.rename(false);
        }
    }

    /// So many members are in the group, without this one.
    pub(super) fn left_behind(&mut self, now: Mono, count: usize) {
        self.backoff.succeeded();
        if count == 0 {
            self.come_back(now);
        }
    }

    /// The coordinator does not say how many.
    pub(super) fn unknown(&mut self, now: Mono, refusal: Refusal) {
        match refusal.remedy() {
            // Of a group that it does not know no member is left.
            Remedy::Retry if refusal != Refusal::GroupIdNotFound => self.refused(now, refusal),
            Remedy::Find => self.refused(now, refusal),
            Remedy::Retry | Remedy::Rejoin | Remedy::Restart | Remedy::TakeId | Remedy::Fail => {
                self.come_back(now);
            }
        }
    }

    fn come_back(&mut self, now: Mono) {
        (self.silences.away, self.due) = (None, now);
    }
}
