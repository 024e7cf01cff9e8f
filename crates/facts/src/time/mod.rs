//! Two clocks that must not be confused, and durations as people write them.
//!
//! [`Mono`] orders and measures on one host: all processes of a host share it, and it continues
//! while the host is suspended. [`Wall`] is the clock of Kafka's timestamps, which a fault may
//! shift with a [`WallClock`]. Only [`Mono::now`], [`Wall::now`] and [`Suspends`] read the system's
//! clocks. All other code takes `now` as an argument.

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
pub use run_delay::{LATE_LEAST, RunDelay, late_since};
pub use skew::{Skew, WallClock};
pub use span::{Span, SpanError};
#[cfg(feature = "clock")]
pub use suspend::Suspends;

/// An instant of CLOCK_BOOTTIME, in nanoseconds since the host booted. Time in suspend counts,
/// because a claim must not outlive a suspend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize, JsonSchema), serde(transparent))]
pub struct Mono(pub u64);

/// An instant of the wall clock, in milliseconds since 1970-01-01 UTC, as Kafka stamps messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize, JsonSchema), serde(transparent))]
pub struct Wall(pub i64);

impl Mono {
    /// The boot of the host. No claim reaches back to it, so it also stands for *never*.
    pub const ZERO: Self = Self(0);

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at the last instant that can be represented.
impl Add<Duration> for Mono {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Saturates at the boot.
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
