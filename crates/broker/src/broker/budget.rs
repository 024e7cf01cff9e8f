//! The bytes that all connections together may hold on their way in and out.
//!
//! What is small always passes: heartbeats must not wait behind somebody's batches. Whatever is
//! larger takes its room before its memory, waits for that within a bound, and has a bounded time
//! to be read or written while it holds it.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::wire::FRAME_BYTES_MAX;

/// What is no longer than this needs no room.
const SMALL: usize = 4 << 10;

/// The budget of one broker.
#[derive(Debug)]
pub(super) struct Budget {
    room: Semaphore,
    within: Duration,
}

impl Budget {
    /// Of so many bytes, and the longest frame at least; whoever needs room waits so long for it.
    pub(super) fn new(bytes: usize, within: Duration) -> Self {
        let bytes = bytes.clamp(FRAME_BYTES_MAX, Semaphore::MAX_PERMITS);
        Self { room: Semaphore::new(bytes), within }
    }

    /// Room for so many bytes, held until it is dropped; nothing where there is none in time.
    pub(super) async fn reserve(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        let bytes = if bytes <= SMALL { 0 } else { bytes.min(FRAME_BYTES_MAX) };
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        // It is fair: many that need little cannot starve one that needs much.
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
        assert!(budget.reserve(SMALL).await.is_some(), "it takes no room");
        assert!(budget.reserve(SMALL + 1).await.is_none(), "there is no room in time");
        drop(all);
        assert!(budget.reserve(SMALL + 1).await.is_some());
    }
}
