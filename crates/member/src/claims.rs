//! The member's claims, readable from any of its threads. A claim is a horizon, never a flag: each
//! read compares it with the clock, so a thread that was not scheduled for a while finds its claim
//! expired.

use std::num::NonZeroU32;
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
}

impl Claims {
    /// No claims yet.
    #[must_use]
    pub fn new(width: NonZeroU32) -> Self {
        let room = usize::try_from(width.get()).unwrap_or(0);
        Self { horizons: Mutex::new(Vec::with_capacity(room)), claimed: Condvar::new() }
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

    /// The claims that hold at `now`.
    #[must_use]
    pub fn at(&self, now: Mono) -> Vec<Horizon> {
        let horizons = self.horizons.lock().unwrap_or_else(PoisonError::into_inner);
        horizons.iter().copied().filter(|claim| now < claim.until).collect()
    }

    /// The partitions led at `now`.
    #[must_use]
    pub fn led(&self, now: Mono) -> Vec<PartitionId> {
        self.at(now).into_iter().map(|claim| claim.partition).collect()
    }
}
