//! The member's claims, readable from any of its threads. A claim is a horizon, never a flag: each
//! read compares it with the clock, so a thread that was not scheduled for a while finds its claim
//! expired.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Horizon;
use tandem_facts::time::Mono;
use tokio::sync::watch;

/// All claims of one member.
#[derive(Debug)]
pub struct Claims {
    width: NonZeroU32,
    /// The end of the claim on each partition, in nanoseconds of [`Mono`]; 0 without a claim. It is
    /// read without a lock.
    ends: Box<[AtomicU64]>,
    /// The fence of the claim on each partition; 0 without one.
    fences: Box<[AtomicI64]>,
    horizons: Mutex<Vec<Horizon>>,
    claimed: Condvar,
    /// Wakes those who wait for a claim to begin, or to end sooner than they knew.
    changes: watch::Sender<u64>,
    turns: Turns,
}

/// The turns of a loop without which the others take this member for dead.
#[derive(Debug, Default)]
struct Turns {
    /// The instant of the last turn, in nanoseconds.
    last: AtomicU64,
    /// The longest time between two, in nanoseconds; 0 if none are expected.
    limit: AtomicU64,
}

impl Claims {
    /// No claims yet.
    #[must_use]
    pub fn new(width: NonZeroU32) -> Self {
        let room = usize::try_from(width.get()).unwrap_or(0);
        Self {
            width,
            ends: (0..room).map(|_| AtomicU64::new(0)).collect(),
            fences: (0..room).map(|_| AtomicI64::new(0)).collect(),
            horizons: Mutex::new(Vec::with_capacity(room)),
            claimed: Condvar::new(),
            changes: watch::Sender::new(0),
            turns: Turns::default(),
        }
    }

    /// The number of partitions, `|M|`.
    #[must_use]
    pub const fn width(&self) -> NonZeroU32 {
        self.width
    }

    /// Replaces the claims by those of the core. When it returns, every later [`end`](Self::end)
    /// is a new one.
    pub fn publish(
        &self,
        claims: impl Iterator<Item = Horizon>,
        fences: &BTreeMap<PartitionId, i64>,
    ) {
        let mut horizons = self.horizons.lock().unwrap_or_else(PoisonError::into_inner);
        horizons.clear();
        horizons.extend(claims);
        let mut published = horizons.iter().peekable();
        let mut turned = false;
        let places = self.ends.iter().zip(&self.fences);
        for (partition, (end, fence)) in (0..).map(PartitionId).zip(places) {
            let claim = published.next_if(|claim| claim.partition == partition);
            let new = claim.map_or(0, |claim| claim.until.0);
            let old = end.load(Ordering::Relaxed);
            if old != new {
                // Before the end: who sees the claim sees its fence, or a later one of this member.
                fence.store(fences.get(&partition).copied().unwrap_or(0), Ordering::SeqCst);
                // Before any later read of the clock by this thread, on every processor.
                end.store(new, Ordering::SeqCst);
                turned |= old == 0 || new < old;
            }
        }
        if !horizons.is_empty() {
            self.claimed.notify_all();
        }
        drop(horizons);
        if turned {
            self.changes.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// The first instant after the claim on `partition`, as far as it is renewed today, without a
    /// lock; [`Mono::ZERO`] if there is no claim.
    #[must_use]
    pub fn end(&self, partition: PartitionId) -> Mono {
        let end = self.ends.get(partition.index());
        let end = end.map_or(Mono::ZERO, |end| Mono(end.load(Ordering::SeqCst)));
        self.turns_end().map_or(end, |turns| end.min(turns))
    }

    /// The fence of the claim on `partition`, read after its end.
    #[must_use]
    pub fn fence(&self, partition: PartitionId) -> Option<i64> {
        let fence = self.fences.get(partition.index())?.load(Ordering::SeqCst);
        (fence != 0).then_some(fence)
    }

    /// Changes whenever a claim begins, ends, or is to end sooner than before.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Waits until there is a claim, for at most `within`. Returns whether there is still none.
    pub fn await_any(&self, within: Duration) -> bool {
        let horizons = self.horizons.lock().unwrap_or_else(PoisonError::into_inner);
        if !horizons.is_empty() {
            return false;
        }
        let none = |horizons: &mut Vec<Horizon>| horizons.is_empty();
        drop(self.claimed.wait_timeout_while(horizons, within, none));
        true
    }

    /// From `now` on nothing is claimed while the last turn is older than `limit`: others may stand
    /// in. A process that was stopped finds that out before it works on.
    pub(crate) fn expect_turns(&self, now: Mono, limit: Duration) {
        self.turned(now);
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.turns.limit.store(limit, Ordering::Release);
    }

    /// A turn.
    pub(crate) fn turned(&self, now: Mono) {
        self.turns.last.store(now.0, Ordering::Release);
    }

    /// When the last turn is too old; none where none are expected.
    fn turns_end(&self) -> Option<Mono> {
        let limit = self.turns.limit.load(Ordering::Acquire);
        let last = Mono(self.turns.last.load(Ordering::Acquire));
        (limit > 0).then(|| last + Duration::from_nanos(limit))
    }

    /// The claims that hold at `now`.
    #[must_use]
    pub fn at(&self, now: Mono) -> Vec<Horizon> {
        if self.turns_end().is_some_and(|end| end <= now) {
            return Vec::new();
        }
        let horizons = self.horizons.lock().unwrap_or_else(PoisonError::into_inner);
        horizons.iter().copied().filter(|claim| now < claim.until).collect()
    }

    /// The partitions led at `now`.
    #[must_use]
    pub fn led(&self, now: Mono) -> Vec<PartitionId> {
        self.at(now).into_iter().map(|claim| claim.partition).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_facts::ids::Term;

    #[test]
    fn a_loop_that_does_not_turn_claims_nothing() {
        let claims = Claims::new(NonZeroU32::MIN);
        let ms = |at: u64| Mono::ZERO + Duration::from_millis(at);
        let (partition, term) = (PartitionId(0), Term(1));
        let claim = Horizon { partition, term, until: ms(1_000) };
        claims.publish([claim].into_iter(), &BTreeMap::new());
        assert_eq!(claims.led(ms(900)), [partition], "no turns are expected");
        claims.expect_turns(ms(0), Duration::from_millis(50));
        assert_eq!(claims.led(ms(49)), [partition]);
        assert_eq!(claims.led(ms(50)), []);
        assert_eq!(claims.end(partition), ms(50), "and without a lock");
        claims.turned(ms(60));
        assert_eq!(claims.led(ms(61)), [partition]);
    }

    fn claim(partition: u32, until: u64) -> Horizon {
        Horizon { partition: PartitionId(partition), term: Term(1), until: Mono(until) }
    }

    #[test]
    fn an_end_is_that_of_its_own_partition() {
        let claims = Claims::new(NonZeroU32::new(4).unwrap());
        let fences = BTreeMap::from([(PartitionId(0), 7), (PartitionId(3), 9)]);
        claims.publish([claim(1, 100), claim(3, 300)].into_iter(), &fences);
        let of = |k| claims.fence(PartitionId(k));
        assert_eq!([of(1), of(3), of(5)], [None, Some(9), None]);
        let ends = |claims: &Claims| (0..5).map(|k| claims.end(PartitionId(k)).0).collect();
        let all: Vec<u64> = ends(&claims);
        assert_eq!(all, [0, 100, 0, 300, 0]);
        claims.publish([claim(0, 50)].into_iter(), &fences);
        assert_eq!(claims.fence(PartitionId(0)), Some(7));
        let all: Vec<u64> = ends(&claims);
        assert_eq!(all, [50, 0, 0, 0, 0]);
    }

    #[test]
    fn a_renewal_wakes_nobody_and_every_turn_does() {
        let claims = Claims::new(NonZeroU32::MIN);
        let mut turns = claims.changes();
        let mut turned = |until: Option<u64>| {
            claims.publish(until.map(|until| claim(0, until)).into_iter(), &BTreeMap::new());
            let turned = turns.has_changed().unwrap();
            turns.borrow_and_update();
            turned
        };
        turns_are(&mut turned, &[(None, false), (Some(100), true), (Some(200), false)]);
        turns_are(&mut turned, &[(Some(150), true), (None, true), (None, false)]);
    }

    fn turns_are(turned: &mut impl FnMut(Option<u64>) -> bool, cases: &[(Option<u64>, bool)]) {
        for (until, expected) in cases {
            assert_eq!(turned(*until), *expected, "{until:?}");
        }
    }
}
