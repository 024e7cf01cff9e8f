//! Reading the system's clocks.

use rustix::time::{ClockId, Timespec, clock_gettime};

use super::{Mono, Wall, offset};

impl Mono {
    /// Reads the clock.
    #[must_use]
    pub fn now() -> Self {
        Self::of(clock_gettime(ClockId::Boottime)) + offset::offset()
    }

    pub(super) fn of(at: Timespec) -> Self {
        let seconds = u64::try_from(at.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(at.tv_nsec).unwrap_or(0);
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }
}

impl Wall {
    /// Reads the clock.
    #[must_use]
    pub fn now() -> Self {
        let at = clock_gettime(ClockId::Realtime);
        Self(at.tv_sec.saturating_mul(1_000).saturating_add(at.tv_nsec / 1_000_000))
    }
}
