//! How late a keeper acts, by what it has measured. Pure.
//!
//! A keeper that shares a processor, or a quota of one, with the command that it is to end gets it
//! late, again and again. Each wait that lasted too long says how late, and each order that was
//! long under way. What happens once, as where a process or a host is stopped, says nothing of the
//! next time: the second worst of the last seconds counts.

use std::time::Duration;

use crate::time::Mono;

/// The worst of one such time and of the one before count.
const WINDOW: Duration = Duration::from_secs(5);

/// How late a process has been lately.
#[derive(Debug)]
pub(super) struct Lateness {
    began: Mono,
    /// The two worst, the worst first.
    worst: [Duration; 2],
    /// In the window before.
    before: [Duration; 2],
}

impl Lateness {
    pub(super) const fn new() -> Self {
        let none = [Duration::ZERO; 2];
        Self { began: Mono::ZERO, worst: none, before: none }
    }

    /// What was to be done at `due` is done at `now`.
    pub(super) fn note(&mut self, due: Mono, now: Mono) {
        self.turn(now);
        let late = now.since(due);
        let [first, second] = self.worst;
        self.worst = if late > first { [late, first] } else { [first, second.max(late)] };
    }

    /// The second worst of the last five to ten seconds.
    pub(super) fn usual(&mut self, now: Mono) -> Duration {
        self.turn(now);
        let ([first, second], [one, other]) = (self.worst, self.before);
        second.max(other).max(first.min(one))
    }

    fn turn(&mut self, now: Mono) {
        let age = now.since(self.began);
        if age >= WINDOW {
            let none = [Duration::ZERO; 2];
            self.before = if age < WINDOW * 2 { self.worst } else { none };
            (self.began, self.worst) = (now, none);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    fn noted(notes: &[(u64, u64)]) -> Lateness {
        let mut one = Lateness::new();
        for (due, now) in notes {
            one.note(ms(*due), ms(*now));
        }
        one
    }

    #[test]
    fn what_happens_once_does_not_count_and_what_happens_again_does() {
        let mut one = noted(&[(100_000, 103_000), (103_000, 103_010)]);
        assert_eq!(one.usual(ms(103_010)), Duration::from_millis(10), "a stop of three seconds");
        one.note(ms(103_100), ms(103_400));
        assert_eq!(one.usual(ms(103_400)), Duration::from_millis(300));
        // Early is not late.
        one.note(ms(103_900), ms(103_800));
        assert_eq!(one.usual(ms(103_900)), Duration::from_millis(300));
    }

    #[test]
    fn the_window_before_counts_and_what_is_older_is_forgotten() {
        let mut one = noted(&[(100_000, 100_300), (104_000, 104_200)]);
        assert_eq!(one.usual(ms(106_000)), Duration::from_millis(200));
        one.note(ms(106_000), ms(106_250));
        assert_eq!(one.usual(ms(106_250)), Duration::from_millis(250), "one in each window");
        assert_eq!(one.usual(ms(112_000)), Duration::ZERO);
        assert_eq!(
            noted(&[(100_000, 100_300), (100_400, 100_700)]).usual(ms(200_000)),
            Duration::ZERO
        );
    }
}
