//! When to publish a beacon on which partition.
//!
//! "Each member publishes a beacon on every partition each interval `tau`. No partition may dry
//! up." With [`Publishers::Owners`](crate::Publishers::Owners) only each of some rounds is over
//! every partition, and the others are over what the member owns. In addition, a member that was
//! just assigned a partition publishes there at once and again every [`HASTE`] until it hears a
//! message. Its first fetch starts at the end of the log, so a beacon that was appended before the
//! client looked up that end is never delivered. It publishes as often on the other partitions that
//! it reads: a client has one fetch under way for each broker, which answers in order, so that the
//! end of a new partition, and the first fetch of it, wait until a message on another one ends that
//! fetch.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

use super::{Config, Pulse};

/// The interval at which a new owner publishes until it hears a message.
const HASTE: Duration = Duration::from_millis(10);
/// The greatest number of such beacons; after them only the regular ones follow.
const HASTE_TIMES: u32 = 20;

#[derive(Debug, Clone, Hash)]
pub(super) struct Beacons {
    width: NonZeroU32,
    interval: Duration,
    /// Whether the program has allowed the next round; `None` if it has no say.
    pulsed: Option<bool>,
    /// When the next round is due; none after [`silence`](Self::silence).
    round: Option<Mono>,
    /// Each of so many rounds is over all partitions.
    rounds: u16,
    /// How many rounds are over owned ones before that.
    left: u16,
    /// New partitions without a message yet: when the next beacon is due, and how many remain.
    hasty: BTreeMap<PartitionId, (Mono, u32)>,
    /// What the member was assigned last, and what it reads in any case.
    reads: BTreeSet<PartitionId>,
    /// The same with what it was assigned before: a fetch that is under way may be of any of these.
    fetched: BTreeSet<PartitionId>,
    ready: BTreeSet<PartitionId>,
}

impl Beacons {
    pub(super) fn new(now: Mono, config: &Config) -> Self {
        Self {
            width: config.width,
            interval: config.beacon,
            pulsed: (config.pulse == Pulse::Program).then_some(false),
            round: Some(now),
            rounds: 1,
            left: 0,
            hasty: BTreeMap::new(),
            reads: BTreeSet::new(),
            fetched: BTreeSet::new(),
            ready: BTreeSet::new(),
        }
    }

    /// The program lets the next round go.
    pub(super) fn pulsed(&mut self) {
        if let Some(pulsed) = &mut self.pulsed {
            *pulsed = true;
        }
    }

    /// When the next round goes; none while it waits for the program.
    fn due(&self) -> Option<Mono> {
        self.round.filter(|_| self.pulsed != Some(false))
    }

    /// From now on each of so many rounds is over all partitions, the next one first.
    pub(super) const fn rounds(&mut self, rounds: u16) {
        self.rounds = rounds;
    }

    /// How many rounds there are to one over all partitions.
    pub(super) fn rounds_of_all(&self) -> u32 {
        if self.pulsed.is_some() { 1 } else { self.rounds.into() }
    }

    pub(super) const fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether [`advance`](Self::advance) has anything to do.
    pub(super) fn is_due(&self, now: Mono) -> bool {
        self.next().is_some_and(|next| next <= now)
    }

    /// A round over what the member owns, or over all, where one is due.
    pub(super) fn advance(&mut self, now: Mono, owned: BTreeSet<PartitionId>) {
        if let Some(due) = self.due()
            && due <= now
        {
            self.pulsed = self.pulsed.map(|_| false);
            // Missed rounds are skipped: a beacon only says that its author is alive now.
            let next = due + self.interval;
            let late = next <= now || self.pulsed.is_some();
            self.round = Some(if late { now + self.interval } else { next });
            if late || self.left == 0 {
                self.left = self.rounds.saturating_sub(1);
                self.ready.extend((0..self.width.get()).map(PartitionId));
            } else {
                self.left -= 1;
                self.ready.extend(owned);
            }
        }
        let ready = &mut self.ready;
        let mut hastens = false;
        self.hasty.retain(|&partition, (due, left)| {
            if *due <= now {
                ready.insert(partition);
                hastens = true;
                *due = now + HASTE;
                *left -= 1;
            }
            *left > 0
        });
        if hastens {
            ready.extend(&self.fetched);
        }
    }

    /// The member was assigned these; it reads `direct` in any case.
    pub(super) fn hasten(
        &mut self,
        now: Mono,
        partitions: &[PartitionId],
        direct: Option<PartitionId>,
    ) {
        let reads = partitions.iter().copied().chain(direct).collect();
        self.fetched = std::mem::replace(&mut self.reads, reads);
        self.fetched.extend(&self.reads);
        // A program that paces its member by pulses does so here, too.
        if self.round.is_some() && self.pulsed.is_none() {
            self.hasty.clear();
            self.hasty.extend(partitions.iter().map(|&partition| (partition, (now, HASTE_TIMES))));
        }
    }

    /// A beacon on `partition` is due now.
    pub(super) fn announce(&mut self, partition: PartitionId) {
        // A program that paces its member by pulses does so here, too.
        if self.round.is_some() && self.pulsed.is_none() {
            self.ready.insert(partition);
        }
    }

    pub(super) fn heard(&mut self, partition: PartitionId) {
        self.hasty.remove(&partition);
    }

    pub(super) fn calm(&mut self, partitions: &[PartitionId]) {
        for partition in partitions {
            self.hasty.remove(partition);
        }
    }

    pub(super) fn silence(&mut self) {
        self.round = None;
        self.hasty.clear();
        self.ready.clear();
    }

    pub(super) fn poll(&mut self) -> Option<PartitionId> {
        self.ready.pop_first()
    }

    pub(super) fn next(&self) -> Option<Mono> {
        self.due().into_iter().chain(self.hasty.values().map(|&(due, _)| due)).min()
    }
}
