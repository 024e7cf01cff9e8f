//! Where the instants of another host stand on the clock of the reader: all by one offset, so that
//! durations stay what they were, with an error that is stated once for a life. Pure.
//!
//! The offset is within the bounds of the comparison in use. When these move, because clocks drift
//! apart, the offset follows no further than it must. While the bounds are wider than the stated
//! error, nothing can be placed.

use std::time::Duration;

use super::Elsewhere;
use crate::time::Mono;

/// By how much the stated error is above that of the comparison with which it begins: comparisons
/// come twice a second, and two clocks drift apart by at most 1.2 ms in a second.
const SLACK: i128 = 4_000_000;
/// A comparison that is at least so good is used at once.
const GOOD: i128 = 5_000_000;
/// How long a better one is waited for.
const WAITS: Duration = Duration::from_secs(4);
/// The greatest error that may be stated: half of the time without a tick that counts as service.
const ERROR_MAX: i128 = 50_000_000;

/// The offset of one life, and its error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    offset: i128,
    error: i128,
}

fn ns(at: Mono) -> i128 {
    i128::from(at.0)
}

impl Placement {
    /// Begins with the comparison of an instant, if it is good enough for one that was `waited`
    /// for so long.
    #[must_use]
    pub fn begin(at: Mono, found: Elsewhere, waited: Duration) -> Option<Self> {
        let half = (ns(found.latest) - ns(found.earliest) + 1) / 2;
        let error = half + SLACK;
        let good = half <= GOOD || waited >= WAITS;
        let offset = ns(found.earliest) + half - ns(at);
        (good && error <= ERROR_MAX).then_some(Self { offset, error })
    }

    /// Follows the comparison of an instant. Returns whether this stands within the stated error.
    pub fn follow(&mut self, at: Mono, found: Elsewhere) -> bool {
        let (low, high) = (ns(found.earliest) - ns(at), ns(found.latest) - ns(at));
        if high - low > 2 * self.error {
            return false;
        }
        self.offset = self.offset.clamp(high - self.error, low + self.error);
        true
    }

    /// Whether the comparison of an instant stands within the stated error, where it is now.
    #[must_use]
    pub fn contains(&self, at: Mono, found: Elsewhere) -> bool {
        let placed = ns(at) + self.offset;
        ns(found.latest) - placed <= self.error && placed - ns(found.earliest) <= self.error
    }

    /// The instant on the clock of the reader.
    #[must_use]
    pub fn place(&self, at: Mono) -> Mono {
        // Stands for never on any clock.
        if at == Mono::ZERO {
            return at;
        }
        Mono(u64::try_from((ns(at) + self.offset).max(0)).unwrap_or(u64::MAX))
    }

    /// How far it may be off, in either direction.
    #[must_use]
    pub fn error(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.error).unwrap_or(u64::MAX))
    }
}
