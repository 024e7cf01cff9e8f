//! How long to wait before the next retry.

use std::time::Duration;

/// Doubles each time up to a limit, and varies by a fifth to either side, so that members that
/// failed together do not come back together.
#[derive(Debug, Clone, Hash)]
pub(super) struct Backoff {
    least: Duration,
    most: Duration,
    failures: u32,
    state: u64,
}

impl Backoff {
    pub(super) const fn new(least: Duration, most: Duration, seed: u64) -> Self {
        Self { least, most, failures: 0, state: seed }
    }

    /// How many failures there were since the last success.
    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) const fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure; the wait before the next attempt.
    pub(super) fn failed(&mut self) -> Duration {
        let wait = doubled(self.least, self.failures).min(self.most);
        self.failures = self.failures.saturating_add(1);
        let fifth = wait / 5;
        // From 0 to 400 thousandths of the wait, less a fifth.
        let part = u32::try_from(self.draw() % 401).unwrap_or(200);
        wait.saturating_sub(fifth) + wait.saturating_mul(part) / 1_000
    }

    /// The next number of splitmix64.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// `span`, doubled `times`.
pub(super) fn doubled(span: Duration, times: u32) -> Duration {
    span.saturating_mul(1_u32.checked_shl(times.min(16)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_limit_and_vary_by_a_fifth() {
        let (least, most) = (Duration::from_millis(20), Duration::from_millis(200));
        let mut waits = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut backoff = Backoff::new(least, most, seed);
            for expected in [20, 40, 80, 160, 200, 200] {
                let wait = backoff.failed().as_micros();
                assert!((expected * 800..=expected * 1_200).contains(&wait), "{wait} us");
                waits.insert(wait);
            }
            backoff.succeeded();
            assert!(backoff.failed() <= Duration::from_millis(24));
        }
        assert!(waits.len() > 300, "{} different waits", waits.len());
    }
}
