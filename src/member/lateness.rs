//! How late the duty ran, told at most ten times a second: the longest of that time.

use std::time::Duration;

use crate::observation::What;
use crate::time::{LATE_LEAST, Mono, RunDelay};

/// At most one is told each so long.
const TOLD: Duration = Duration::from_millis(100);

/// The lateness of the thread that made it.
pub(super) struct Lateness {
    delay: RunDelay,
    waited: Option<Duration>,
    longest: Longest,
}

impl Lateness {
    /// Of the thread that calls this.
    pub(super) fn of_this_thread() -> Self {
        let delay = RunDelay::of_this_thread();
        let waited = delay.read();
        Self { delay, waited, longest: Longest::default() }
    }

    /// It fell asleep at `from` and ran again at `until`; what is to be told.
    pub(super) fn woke(&mut self, from: Mono, until: Mono) -> Option<What> {
        let waited_ns = self.delay.since(&mut self.waited);
        self.longest.woke(from, until, waited_ns)
    }

    /// It had nothing to do, and ran again at `until`: it was late for as long as it waited for a
    /// processor; what is to be told.
    pub(super) fn idled(&mut self, until: Mono) -> Option<What> {
        let waited_ns = self.delay.since(&mut self.waited);
        let waited = Duration::from_nanos(waited_ns.unwrap_or_default());
        self.longest.woke(until - waited, until, waited_ns)
    }
}

/// The longest that was not told yet.
#[derive(Debug, Default)]
struct Longest {
    pending: Option<(Mono, Mono, Option<u64>)>,
    told: Option<Mono>,
}

impl Longest {
    fn woke(&mut self, from: Mono, until: Mono, waited_ns: Option<u64>) -> Option<What> {
        let longest = self.pending.map(|(from, until, _)| until.since(from));
        if until.since(from) > LATE_LEAST && longest.is_none_or(|known| until.since(from) > known) {
            self.pending = Some((from, until, waited_ns));
        }
        if self.told.is_some_and(|told| until.since(told) < TOLD) {
            return None;
        }
        let (from, late, waited_ns) = self.pending.take()?;
        self.told = Some(until);
        Some(What::Late { from, until: late, waited_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_longest_is_told_ten_times_a_second_at_most() {
        let mut longest = Longest::default();
        let mut told = Vec::new();
        for (from, until) in [(0, 25), (25, 60), (60, 90), (90, 140), (140, 150), (150, 161)] {
            let woke = longest.woke(Mono(from * MS), Mono(until * MS), None);
            if let Some(What::Late { from, until, .. }) = woke {
                told.push((from.0 / MS, until.0 / MS));
            }
        }
        assert_eq!(
            told,
            [(25, 60), (90, 140)],
            "25 ms is no lateness yet, 30 ms is not the longest"
        );
    }
}
