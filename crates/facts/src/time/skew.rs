//! A wall clock that is wrong on purpose: it maps the true time to a false one.

use std::time::Duration;

#[cfg(feature = "serde")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

use super::{Mono, Wall};

/// How wrong a clock is; the default is a clock that is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(default, deny_unknown_fields)
)]
pub struct Skew {
    /// Nanoseconds ahead of the true time; negative if behind.
    pub ahead_ns: i64,
    /// Drift against the true time in parts per million; negative if slower.
    pub drift_ppm: i32,
    /// The clock alternates between the false and the true time, for this many nanoseconds each; 0
    /// keeps it false.
    pub step_ns: u64,
}

impl Skew {
    /// A clock that is right.
    pub const NONE: Self = Self { ahead_ns: 0, drift_ppm: 0, step_ns: 0 };

    /// The clock's offset `elapsed` after it became wrong, in nanoseconds; negative if the clock is
    /// behind.
    #[must_use]
    pub fn after(self, elapsed: Duration) -> i64 {
        let ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let back = ns.checked_div(self.step_ns).is_some_and(|steps| steps % 2 == 1);
        if back {
            return 0;
        }
        let drifted = i128::from(ns) * i128::from(self.drift_ppm) / 1_000_000;
        i64::try_from(i128::from(self.ahead_ns) + drifted).unwrap_or(i64::MAX)
    }
}

/// A wall clock that a fault may shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallClock {
    skew: Skew,
    since: Mono,
}

impl WallClock {
    /// A clock that is right.
    pub const TRUE: Self = Self { skew: Skew::NONE, since: Mono::ZERO };

    /// A clock that is wrong from `since` on.
    #[must_use]
    pub const fn shifted(skew: Skew, since: Mono) -> Self {
        Self { skew, since }
    }

    /// Whether the clock is right.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.skew == Skew::NONE
    }

    /// The clock's reading at `now`, when the true time is `truth`.
    #[must_use]
    pub fn read(&self, now: Mono, truth: Wall) -> Wall {
        let ahead_ms = self.skew.after(now.since(self.since)) / 1_000_000;
        Wall(truth.0.saturating_add(ahead_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);
    const S_NS: i64 = 1_000_000_000;

    #[test]
    fn a_clock_is_as_wrong_as_its_skew() {
        let ahead = Skew { ahead_ns: -2 * S_NS, ..Skew::NONE };
        assert_eq!([ahead.after(Duration::ZERO), ahead.after(9 * S)], [-2 * S_NS; 2]);
        let fast = Skew { drift_ppm: 500, ..Skew::NONE };
        assert_eq!([fast.after(Duration::ZERO), fast.after(10 * S)], [0, 5_000_000]);
        let both = Skew { ahead_ns: S_NS, drift_ppm: -500, ..Skew::NONE };
        assert_eq!(both.after(2 * S), S_NS - 1_000_000);
        let steps = Skew { ahead_ns: S_NS, step_ns: 1_000_000_000, ..Skew::NONE };
        assert_eq!([0, 1, 2, 3].map(|n| steps.after(n * S)), [S_NS, 0, S_NS, 0]);
        assert_eq!(Skew { ahead_ns: i64::MAX, ..fast }.after(10 * S), i64::MAX);
    }

    #[test]
    fn a_clock_is_read_beside_the_truth() {
        let at = Mono(7_000_000_000);
        assert_eq!(WallClock::TRUE.read(at, Wall(5_000)), Wall(5_000));
        let clock = WallClock::shifted(Skew { drift_ppm: 1_000, ..Skew::NONE }, at);
        assert_eq!(clock.read(at + 3 * S, Wall(5_000)), Wall(5_003));
        assert!(!clock.is_true() && WallClock::TRUE.is_true());
    }
}
