//! When a command is asked to end, and when it is killed. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Mono;

/// How long a command has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// From SIGKILL to the end of the claim: for the kernel, and for a host that is busy.
    pub margin: Duration,
}

/// What is to be done with a command now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing, until this instant or the next order.
    Wait(Mono),
    /// SIGTERM.
    Ask,
    /// SIGKILL, again and again until it is gone.
    Kill,
}

/// The deadlines of a running command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    stopping: Stopping,
    /// The end of the claim, as far as it is known.
    until: Mono,
    /// It is to be gone by this.
    stop: Option<Mono>,
    asked: bool,
    /// How late this process acts.
    late: Duration,
}

impl Deadlines {
    pub(super) const fn new(stopping: Stopping, until: Mono) -> Self {
        Self { stopping, until, stop: None, asked: false, late: Duration::ZERO }
    }

    /// The claim ends then, unless it is renewed.
    pub(super) const fn renew(&mut self, until: Mono) {
        self.until = until;
    }

    /// This process acts so late: the command has less time by that.
    pub(super) const fn late(&mut self, late: Duration) {
        self.late = late;
    }

    /// Ask it now, and kill it at `by`. A later word never gives it more time.
    pub(super) fn stop(&mut self, by: Mono) {
        self.stop = Some(self.stop.map_or(by, |known| known.min(by)));
    }

    /// Whether it was asked to end.
    pub(super) const fn was_asked(&self) -> bool {
        self.asked
    }

    /// What to do at `now`.
    pub(super) fn act(&mut self, now: Mono) -> Act {
        let Stopping { grace, margin } = self.stopping;
        // Within the margin it may be late; what is more leaves the kernel a quarter of it.
        let by_claim = self.until - margin.max(self.late + margin / 4);
        let (ask, kill) = match self.stop {
            None => (by_claim - grace, by_claim),
            // What a command left behind is stopped late, and has no more time for that.
            Some(by) => (Mono::ZERO, by.min(by_claim)),
        };
        if now >= kill {
            Act::Kill
        } else if self.asked {
            Act::Wait(kill)
        } else if now >= ask {
            self.asked = true;
            Act::Ask
        } else {
            Act::Wait(ask)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    fn deadlines(until: u64) -> Deadlines {
        let stopping =
            Stopping { grace: Duration::from_millis(200), margin: Duration::from_millis(50) };
        Deadlines::new(stopping, ms(until))
    }

    #[test]
    fn a_claim_that_is_not_renewed_is_given_up_before_its_end() {
        let mut one = deadlines(1_000);
        assert_eq!(one.act(ms(0)), Act::Wait(ms(750)));
        one.renew(ms(1_100));
        assert_eq!(one.act(ms(849)), Act::Wait(ms(850)));
        assert_eq!(one.act(ms(850)), Act::Ask);
        assert_eq!(one.act(ms(851)), Act::Wait(ms(1_050)), "it is asked once");
        assert_eq!(one.act(ms(1_049)), Act::Wait(ms(1_050)));
        assert_eq!(one.act(ms(1_050)), Act::Kill, "50 ms before the end of the claim");
    }

    #[test]
    fn a_claim_that_is_curtailed_takes_its_time_away() {
        let mut one = deadlines(5_000);
        one.renew(ms(300));
        assert_eq!(one.act(ms(60)), Act::Ask);
        assert_eq!(one.act(ms(250)), Act::Kill);
    }

    #[test]
    fn who_is_told_to_stop_has_its_grace_and_no_later_word_adds_to_it() {
        let mut one = deadlines(10_000);
        one.stop(ms(700));
        one.stop(ms(900));
        assert_eq!(one.act(ms(500)), Act::Ask);
        assert_eq!(one.act(ms(600)), Act::Wait(ms(700)));
        assert_eq!(one.act(ms(700)), Act::Kill);
        one.stop(ms(650));
        assert_eq!(one.act(ms(660)), Act::Kill);
    }

    #[test]
    fn what_is_stopped_late_is_killed_before_the_end_of_the_claim_all_the_same() {
        let mut one = deadlines(1_000);
        assert_eq!(one.act(ms(750)), Act::Ask);
        // The command takes most of its grace, and leaves something behind.
        one.stop(ms(930 + 200));
        assert_eq!(one.act(ms(931)), Act::Wait(ms(950)));
        assert_eq!(one.act(ms(950)), Act::Kill);
    }

    #[test]
    fn who_acts_late_begins_sooner() {
        let mut one = deadlines(1_000);
        one.late(Duration::from_millis(300));
        assert_eq!(one.act(ms(0)), Act::Wait(Mono(487_500_000)));
        one.late(Duration::from_millis(30));
        assert_eq!(one.act(ms(487)), Act::Wait(ms(750)), "the margin is for that");
        one.late(Duration::from_micros(137_500));
        assert_eq!(one.act(ms(649)), Act::Wait(ms(650)));
        assert_eq!(one.act(ms(650)), Act::Ask);
        assert_eq!(one.act(ms(850)), Act::Kill);
        one.late(Duration::from_secs(9));
        assert_eq!(one.act(ms(0)), Act::Kill, "no claim is as long as that");
    }

    #[test]
    fn a_claim_shorter_than_its_grace_is_asked_at_once() {
        let mut one = deadlines(100);
        assert_eq!(one.act(ms(0)), Act::Ask);
        assert_eq!(one.act(ms(50)), Act::Kill);
    }
}
