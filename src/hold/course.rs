//! When a command is started, renewed and stopped, from what the member claims. Pure.

use super::backoff::Backoff;
use super::deadlines::Stopping;
use super::protocol::CommandEnd;
use crate::time::Mono;

/// What to do when the command ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExit {
    /// Start it again, after a wait.
    Restart,
    /// Leave the group, and end with its exit code.
    Leave,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Rest,
    /// Start the command for a claim that lasts until then.
    Start(Mono),
    /// The claim lasts until then.
    Renew(Mono),
    /// Stop the command, and kill it then.
    Stop(Mono),
    /// The claim is about to end, and the keeper has not ended the command.
    Overrun(Mono),
}

/// What follows the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sequel {
    /// It is started again, not before this, while the role is led.
    Again(Mono),
    /// The member leaves.
    Leave(CommandEnd),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle { not_before: Mono },
    Runs { began: Mono, until: Mono, stops: bool },
}

/// The course of one command.
#[derive(Debug)]
pub(super) struct Course {
    /// Whether the end of a claim is a promise that the command must not outlive.
    strict: bool,
    stopping: Stopping,
    on_exit: OnExit,
    backoff: Backoff,
    phase: Phase,
}

impl Course {
    pub(super) const fn new(strict: bool, stopping: Stopping, on_exit: OnExit) -> Self {
        let phase = Phase::Idle { not_before: Mono::ZERO };
        Self { strict, stopping, on_exit, backoff: Backoff::new(), phase }
    }

    /// Whether a command runs, or may.
    pub(super) const fn runs(&self) -> bool {
        matches!(self.phase, Phase::Runs { .. })
    }

    /// What to do at `now`, with a claim that lasts until `claim`. `wanted` says whether the
    /// command is to run at all.
    pub(super) fn step(&mut self, now: Mono, claim: Option<Mono>, wanted: bool) -> Step {
        let Stopping { grace, margin } = self.stopping;
        match &mut self.phase {
            Phase::Idle { not_before } => match claim {
                // A shorter claim would end the command as soon as it runs.
                Some(until) if wanted && now >= *not_before && until > now + grace + margin => {
                    self.phase = Phase::Runs { began: now, until, stops: false };
                    Step::Start(until)
                }
                Some(_) | None => Step::Rest,
            },
            Phase::Runs { until, stops, .. } => {
                let ends = *until;
                match claim {
                    Some(new) if new != ends => {
                        *until = new;
                        if !*stops && !wanted {
                            *stops = true;
                            return Step::Stop(now + grace);
                        }
                        Step::Renew(new)
                    }
                    _ if self.strict && now + margin / 2 >= ends => Step::Overrun(ends),
                    claim if !*stops && (!wanted || claim.is_none()) => {
                        *stops = true;
                        Step::Stop(now + grace)
                    }
                    Some(_) | None => Step::Rest,
                }
            }
        }
    }

    /// The command has ended, and nothing of it is left.
    pub(super) fn ended(&mut self, now: Mono, end: CommandEnd) -> Sequel {
        let Phase::Runs { began, stops, .. } = self.phase else { return Sequel::Again(now) };
        let by_itself = !stops && !end.asked;
        // The next claim starts a command at once, unless this one fails again and again.
        let wait =
            if by_itself { self.backoff.after(began, now) } else { std::time::Duration::ZERO };
        self.phase = Phase::Idle { not_before: now + wait };
        match self.on_exit {
            OnExit::Leave if by_itself => Sequel::Leave(end),
            OnExit::Leave | OnExit::Restart => Sequel::Again(now + wait),
        }
    }

    /// The keeper is gone, and all that it kept, or it did not start the command. Returns before
    /// when it is not started again.
    pub(super) fn lost(&mut self, now: Mono) -> Mono {
        let began = if let Phase::Runs { began, .. } = self.phase { began } else { now };
        let not_before = now + self.backoff.after(began, now);
        self.phase = Phase::Idle { not_before };
        not_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ms(ms: u64) -> Mono {
        Mono(ms * 1_000_000)
    }

    fn course(strict: bool, on_exit: OnExit) -> Course {
        let stopping =
            Stopping { grace: Duration::from_millis(200), margin: Duration::from_millis(50) };
        Course::new(strict, stopping, on_exit)
    }

    #[test]
    fn a_command_runs_while_the_role_is_led_and_stops_when_the_claim_is_gone() {
        let mut one = course(false, OnExit::Restart);
        assert_eq!(one.step(ms(0), None, true), Step::Rest);
        assert_eq!(one.step(ms(1), Some(ms(251)), true), Step::Rest, "too short");
        assert_eq!(one.step(ms(2), Some(ms(2_002)), true), Step::Start(ms(2_002)));
        assert_eq!(one.step(ms(3), Some(ms(2_002)), true), Step::Rest);
        assert_eq!(one.step(ms(4), Some(ms(2_100)), true), Step::Renew(ms(2_100)));
        assert_eq!(one.step(ms(1_000), None, true), Step::Stop(ms(1_200)));
        assert_eq!(one.step(ms(1_001), None, true), Step::Rest, "once");
        assert!(one.runs());
        assert_eq!(one.ended(ms(1_100), CommandEnd::default()), Sequel::Again(ms(1_100)));
        assert_eq!(one.step(ms(1_101), Some(ms(3_000)), true), Step::Start(ms(3_000)));
    }

    #[test]
    fn a_promise_that_is_about_to_pass_is_an_overrun() {
        let mut one = course(true, OnExit::Restart);
        one.step(ms(0), Some(ms(500)), true);
        assert_eq!(one.step(ms(474), Some(ms(500)), true), Step::Rest);
        assert_eq!(one.step(ms(475), Some(ms(500)), true), Step::Overrun(ms(500)));
        assert_eq!(one.step(ms(900), None, true), Step::Overrun(ms(500)));
        // Renewed, however late: nothing else was true meanwhile.
        assert_eq!(one.step(ms(900), Some(ms(1_400)), true), Step::Renew(ms(1_400)));
    }

    #[test]
    fn a_command_that_ends_by_itself_waits_or_ends_everything() {
        let failed = CommandEnd { status: Some(3), ..CommandEnd::default() };
        let mut one = course(false, OnExit::Restart);
        for (at, wait) in [(0, 100), (1_000, 200), (2_000, 400)] {
            assert_eq!(one.step(ms(at), Some(ms(9_000)), true), Step::Start(ms(9_000)));
            assert_eq!(one.ended(ms(at + 1), failed), Sequel::Again(ms(at + 1 + wait)));
            assert_eq!(one.step(ms(at + wait), Some(ms(9_000)), true), Step::Rest);
        }
        let mut one = course(false, OnExit::Leave);
        one.step(ms(0), Some(ms(9_000)), true);
        assert_eq!(one.ended(ms(1), failed), Sequel::Leave(failed));
        // Not where it was asked to end.
        one.step(ms(2), Some(ms(9_000)), true);
        let asked = CommandEnd { asked: true, ..failed };
        assert_eq!(one.ended(ms(3), asked), Sequel::Again(ms(3)));
    }

    #[test]
    fn a_command_that_is_not_wanted_is_stopped_though_its_claim_goes_on() {
        let mut one = course(true, OnExit::Restart);
        one.step(ms(0), Some(ms(500)), true);
        assert_eq!(one.step(ms(10), Some(ms(510)), false), Step::Stop(ms(210)));
        assert_eq!(one.step(ms(20), Some(ms(520)), false), Step::Renew(ms(520)));
        one.ended(ms(30), CommandEnd::default());
        assert_eq!(one.step(ms(40), Some(ms(540)), false), Step::Rest);
    }
}
