//! The wait before a command that ended by itself is started again. Pure.

use std::time::Duration;

use crate::time::Mono;

/// The first wait; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(100);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(10);

/// Doubles from 100 ms to 10 s, and starts again after a command that ran for 10 s.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) const fn new() -> Self {
        Self { next: FIRST }
    }

    /// The wait after a command that ran from `began` to `now`.
    pub(super) fn after(&mut self, began: Mono, now: Mono) -> Duration {
        if now.since(began) >= LONGEST {
            self.next = FIRST;
        }
        let wait = self.next;
        self.next = (wait * 2).min(LONGEST);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_to_ten_seconds_and_a_long_run_resets_it() {
        let mut backoff = Backoff::new();
        let waits: Vec<_> = (0..9).map(|_| backoff.after(Mono(0), Mono(0)).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        let long = backoff.after(Mono(0), Mono(0) + LONGEST);
        assert_eq!(long, FIRST);
    }
}
