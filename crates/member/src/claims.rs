//! The member's claims, readable from any of its threads. A claim is a horizon, never a flag: each
//! read compares it with the clock, so a thread that was not scheduled for a while finds its claim
//! expired.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Horizon;
use tandem_facts::time::Mono;

/// All claims of one member.
#[derive(Debug)]
pub struct Claims {
    horizons: Mutex<Vec<Horizon>>,
    claimed: Condvar,
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
            horizons: Mutex::new(Vec::with_capacity(room)),
            claimed: Condvar::new(),
            turns: Turns::default(),
        }
    }

    /// Replaces the claims by those of the core.
    pub(crate) fn publish(&self, claims: impl Iterator<Item = Horizon>) {
        let mut horizons = self.horizons.lock().unwrap_or_else(PoisonError::into_inner);
        horizons.clear();
        horizons.extend(claims);
        if !horizons.is_empty() {
            self.claimed.notify_all();
        }
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

    /// Whether the last turn is too old.
    fn is_late(&self, now: Mono) -> bool {
        let limit = self.turns.limit.load(Ordering::Acquire);
        let last = Mono(self.turns.last.load(Ordering::Acquire));
        limit > 0 && now.since(last) > Duration::from_nanos(limit)
    }

    /// The claims that hold at `now`.
    #[must_use]
    pub fn at(&self, now: Mono) -> Vec<Horizon> {
        if self.is_late(now) {
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
        claims.publish([Horizon { partition, term, until: ms(1_000) }].into_iter());
        assert_eq!(claims.led(ms(900)), [partition], "no turns are expected");
        claims.expect_turns(ms(0), Duration::from_millis(50));
        assert_eq!(claims.led(ms(50)), [partition]);
        assert_eq!(claims.led(ms(51)), []);
        claims.turned(ms(60));
        assert_eq!(claims.led(ms(61)), [partition]);
    }
}
