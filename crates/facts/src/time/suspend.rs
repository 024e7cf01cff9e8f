//! Detects that the host was suspended: CLOCK_BOOTTIME advanced, CLOCK_MONOTONIC did not.
//!
//! A pause that advances no clock of the host goes undetected: a hypervisor that pauses a virtual
//! machine, or continues it from a snapshot.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Mono;

/// The two clocks are not read at the same instant, so a shorter difference may be the time between
/// the two readings.
const SUSPENDED_LEAST: Duration = Duration::from_millis(10);

/// Compares the two clocks at each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspends {
    /// The detected time in suspend since the boot.
    seen: Duration,
    /// When the clocks were last compared.
    looked: Mono,
}

impl Suspends {
    /// Starts to watch; earlier suspends do not count.
    #[must_use]
    pub fn watch() -> Self {
        // A delay between the two readings makes the result too small, so the largest of three is
        // the best.
        let seen = (0..3).map(|_| suspended().0).max().unwrap_or_default();
        Self { seen, looked: Mono::now() }
    }

    /// The last check before a suspend and the first one after it, if the host was suspended in
    /// between.
    pub fn look(&mut self) -> Option<(Mono, Mono)> {
        let (suspended, now) = suspended();
        self.compare(suspended, now)
    }

    fn compare(&mut self, suspended: Duration, now: Mono) -> Option<(Mono, Mono)> {
        let from = std::mem::replace(&mut self.looked, now);
        let grown = suspended.saturating_sub(self.seen);
        self.seen = self.seen.max(suspended);
        (grown >= SUSPENDED_LEAST).then_some((from, now))
    }
}

/// How long the host was suspended since it booted, less the delay between the two readings; and
/// when it was read.
fn suspended() -> (Duration, Mono) {
    let now = Mono::now();
    let awake = clock_gettime(ClockId::Monotonic);
    (now.since(Mono::of(awake)), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_jump_is_reported_once_with_the_checks_around_it() {
        let mut suspends = Suspends { seen: Duration::from_secs(7), looked: Mono(100 * MS) };
        let slept = |seconds| Duration::from_secs(seconds);
        assert_eq!(suspends.compare(slept(7), Mono(150 * MS)), None);
        let found = suspends.compare(slept(3_607), Mono(200 * MS));
        assert_eq!(found, Some((Mono(150 * MS), Mono(200 * MS))));
        assert_eq!(suspends.compare(slept(3_607), Mono(250 * MS)), None);
        assert_eq!(
            suspends.compare(slept(3_608), Mono(300 * MS)).map(|it| it.0),
            Some(Mono(250 * MS))
        );
    }

    #[test]
    fn a_reading_that_was_late_is_no_suspend() {
        let mut suspends = Suspends { seen: Duration::from_secs(7), looked: Mono(0) };
        // The thread did not run for two seconds between the two readings.
        assert_eq!(suspends.compare(Duration::from_secs(5), Mono(50 * MS)), None);
        assert_eq!(suspends.compare(Duration::from_secs(7), Mono(100 * MS)), None);
    }
}
