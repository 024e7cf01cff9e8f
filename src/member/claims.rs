//! The member's claims as horizons that any of its threads may read: a claim is never a flag, it is
//! compared with the clock at each read, so a thread that was asleep finds it over.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use crate::ids::PartitionId;
use crate::observation::Horizon;
use crate::time::Mono;

/// All claims of one member.
#[derive(Debug)]
pub struct Claims {
    horizons: Mutex<Vec<Horizon>>,
}

impl Claims {
    /// None yet.
    #[must_use]
    pub fn new(width: NonZeroU32) -> Self {
        let room = usize::try_from(width.get()).unwrap_or(0);
        Self { horizons: Mutex::new(Vec::with_capacity(room)) }
    }

    /// Replaces them by what the core says.
    pub(super) fn publish(&self, claims: impl Iterator<Item = Horizon>) {
        let mut horizons = self.horizons.lock().unwrap_or_else(PoisonError::into_inner);
        horizons.clear();
        horizons.extend(claims);
    }

    /// Those that still hold at `now`.
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
