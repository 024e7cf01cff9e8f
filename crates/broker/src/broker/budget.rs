//! The memory budget for requests and answers of all connections.
//!
//! Small frames always pass: heartbeats must not wait behind other clients' batches. A larger frame
//! reserves its bytes before it allocates them, waits for them within a bound, and must be read or
//! written within another bound while it holds them.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::wire::FRAME_BYTES_MAX;

/// Frames up to this length need no reservation.
const SMALL: usize = 4 << 10;

/// The memory budget of one broker.
#[derive(Debug)]
pub(super) struct Budget {
    room: Semaphore,
    within: Duration,
}

impl Budget {
    /// A budget of `bytes`, but at least one frame of the greatest length. A reservation waits for
    /// at most `within`.
    pub(super) fn new(bytes: usize, within: Duration) -> Self {
        let bytes = bytes.clamp(FRAME_BYTES_MAX, Semaphore::MAX_PERMITS);
        Self { room: Semaphore::new(bytes), within }
    }

    /// Reserves bytes until the permit is dropped; none if they are not available in time.
    pub(super) async fn reserve(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        let bytes = if bytes <= SMALL { 0 } else { bytes.min(FRAME_BYTES_MAX) };
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        // The semaphore is fair: many small reservations cannot starve a large one.
        let room = tokio::time::timeout(self.within, self.room.acquire_many(permits)).await;
        room.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_large_waits_within_a_bound_and_what_is_small_never() {
        let budget = Budget::new(0, Duration::from_millis(50));
        let all = budget.reserve(FRAME_BYTES_MAX).await.unwrap();
        assert!(budget.reserve(SMALL).await.is_some(), "it needs no reservation");
        assert!(budget.reserve(SMALL + 1).await.is_none(), "no bytes are available in time");
        drop(all);
        assert!(budget.reserve(SMALL + 1).await.is_some());
    }
}
