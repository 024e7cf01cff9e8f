//! Two clocks that must not be confused, and durations as people write them.
//!
//! [`Mono`] orders and measures on one host: all processes of a host share it, and it goes on while
//! the host is suspended. [`Wall`] is what messages are stamped with, and what a fault may shift:
//! [`WallClock`]. Only [`Mono::now`], [`Wall::now`] and [`Suspends`] read the system's clocks;
//! everything else takes `now` as an argument.

#[cfg(feature = "clock")]
mod clock;
#[cfg(feature = "clock")]
mod offset;
#[cfg(feature = "clock")]
mod run_delay;
mod skew;
mod span;
#[cfg(feature = "clock")]
mod suspend;

use std::ops::{Add, Sub};
use std::time::Duration;

#[cfg(feature = "serde")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

#[cfg(feature = "clock")]
pub use run_delay::{LATE_LEAST, RunDelay};
pub use skew::{Skew, WallClock};
pub use span::{Span, SpanError};
#[cfg(feature = "clock")]
pub use suspend::Suspends;

/// An instant of CLOCK_BOOTTIME, in nanoseconds since the host booted, those in suspend included: a
/// claim must not outlive a suspend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize, JsonSchema), serde(transparent))]
pub struct Mono(pub u64);

/// An instant of the wall clock, in milliseconds since 1970-01-01 UTC, as Kafka stamps messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize, JsonSchema), serde(transparent))]
pub struct Wall(pub i64);

impl Mono {
    /// The beginning of time: no claim reaches back to it, so it serves as *never*.
    pub const ZERO: Self = Self(0);

    /// How long it is from `earlier` to here; nothing if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates: an instant beyond the end of time is the end of time.
impl Add<Duration> for Mono {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Saturates: an instant before the boot is the boot.
impl Sub<Duration> for Mono {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_saturate() {
        assert_eq!(Mono(5).since(Mono(9)), Duration::ZERO);
        assert_eq!(Mono(5) - Duration::from_secs(1), Mono::ZERO);
        assert_eq!(Mono(u64::MAX) + Duration::from_secs(1), Mono(u64::MAX));
    }
}
