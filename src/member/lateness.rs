//! How late the duty ran: the longest lateness, reported at most ten times a second.

use std::time::Duration;

use crate::observation::MemberEvent;
use crate::time::{LATE_LEAST, Mono, RunDelay, late_since};

/// The shortest time between two reports.
const REPORT_PERIOD: Duration = Duration::from_millis(100);

/// The lateness of the thread that created it.
pub(super) struct Lateness {
    delay: RunDelay,
    waited: Option<Duration>,
    longest: Longest,
}

impl Lateness {
    /// The lateness of the calling thread.
    pub(super) fn of_this_thread() -> Self {
        let delay = RunDelay::of_this_thread();
        let waited = delay.read();
        Self { delay, waited, longest: Longest::default() }
    }

    /// The thread slept at `asleep` and ran again at `until`. Returns the fact to report, if any.
    pub(super) fn woke(&mut self, asleep: Mono, until: Mono) -> Option<MemberEvent> {
        let waited_ns = self.delay.since(&mut self.waited);
        self.longest.woke(late_since(asleep, until, waited_ns), until, waited_ns)
    }

    /// The thread was idle and ran again at `until`, late by its wait for a processor. Returns the
    /// fact to report, if any.
    pub(super) fn idled(&mut self, until: Mono) -> Option<MemberEvent> {
        self.woke(until, until)
    }
}

/// The longest lateness not reported yet.
#[derive(Debug, Default)]
struct Longest {
    pending: Option<(Mono, Mono, Option<u64>)>,
    reported: Option<Mono>,
}

impl Longest {
    fn woke(&mut self, from: Mono, until: Mono, waited_ns: Option<u64>) -> Option<MemberEvent> {
        let longest = self.pending.map(|(from, until, _)| until.since(from));
        if until.since(from) > LATE_LEAST && longest.is_none_or(|known| until.since(from) > known) {
            self.pending = Some((from, until, waited_ns));
        }
        if self.reported.is_some_and(|at| until.since(at) < REPORT_PERIOD) {
            return None;
        }
        let (from, late, waited_ns) = self.pending.take()?;
        self.reported = Some(until);
        Some(MemberEvent::Late { from, until: late, waited_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_longest_is_reported_at_most_ten_times_a_second() {
        let mut longest = Longest::default();
        let mut reported = Vec::new();
        for (from, until) in [(0, 25), (25, 60), (60, 90), (90, 140), (140, 150), (150, 161)] {
            let woke = longest.woke(Mono(from * MS), Mono(until * MS), None);
            if let Some(MemberEvent::Late { from, until, .. }) = woke {
                reported.push((from.0 / MS, until.0 / MS));
            }
        }
        assert_eq!(
            reported,
            [(25, 60), (90, 140)],
            "25 ms is no lateness yet, 30 ms is not the longest"
        );
    }
}
