//! An instant after which sending stops; infinitely far away until it is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::time::Mono;

/// A deadline; all clones share it.
#[derive(Debug, Clone)]
pub(super) struct Deadline(Arc<AtomicU64>);

impl Deadline {
    /// A deadline that is not set.
    pub(super) fn never() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// Sets the deadline to `within` from now.
    pub(super) fn set(&self, within: Duration) {
        self.0.store((Mono::now() + within).0, Ordering::Relaxed);
    }

    /// Whether it was set.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != u64::MAX
    }

    /// The time left.
    pub(super) fn left(&self) -> Duration {
        Mono(self.0.load(Ordering::Relaxed)).since(Mono::now())
    }
}
