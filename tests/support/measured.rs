//! Measurements. Each is made once: the rule of the experiment, and no test, decides which of its
//! trials the host disturbed. If more than a third of them were, independent of their outcomes, the
//! result is unknown on this host: the run is shown and counted as such, and `tests/measure` ends
//! with the list.
//!
//! Runs are made side by side, as many as there are threads for tests: one of nine processes takes
//! about a third of one processor. What a neighbour takes from a run is a stall of the host like
//! any other, and disturbs the trial by the same rule. What that rule does not protect is made
//! alone: claims of a few milliseconds, where less than a stall decides, and programs of the user,
//! stores and threads of a test, which it does not watch.
//! What takes a processor after a run, as judging does, takes a [`shared_turn`].
//!
//! | | |
//! |---|---|
//! | [`measured`] | one run, beside others |
//! | [`measured_together`] | several runs at once, beside others |
//! | [`measured_alone`] | one run, alone |
//! | [`measured_alone_together`] | several runs at once, and nothing else |
//! | [`shared_turn`] | something that measures nothing, or excuses what the host took |
//! | [`turn`] | the same, where a neighbour could change the outcome |

use super::experiment::{Experiment, Finished};
use super::quiet::undisturbed;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The claims of who lives on end sooner, and the dead are back sooner, than by default: what a
/// death costs depends on neither, and how long a trial takes does.
pub const BRISK: &str = "--set defaults.threshold=1500ms --set defaults.restart.after=1500ms";

/// Who must be alone writes, who bears others reads: as many as there are threads for tests.
static TURN: RwLock<()> = RwLock::new(());

/// Waits until no other test of this program runs anything.
pub fn turn() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no test runs that must be alone.
pub fn shared_turn() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// What runs beside a measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    Others,
    None,
}

/// What must hold, and in words what does not.
pub fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Runs an experiment beside others; it is as `judge` wants it. Nothing where the host disturbed
/// it.
#[must_use]
pub fn measured(
    experiment: impl Fn() -> Experiment,
    judge: impl FnOnce(&Finished) -> Result<(), String>,
) -> Option<Finished> {
    let play = || [experiment().with_rule().finish()];
    played(Company::Others, play, |[run]| judge(run)).map(|[run]| run)
}

/// The same alone.
#[must_use]
pub fn measured_alone(
    experiment: impl Fn() -> Experiment,
    judge: impl FnOnce(&Finished) -> Result<(), String>,
) -> Option<Finished> {
    let play = || [experiment().with_rule().finish()];
    played(Company::None, play, |[run]| judge(run)).map(|[run]| run)
}

/// The same of several runs at once, beside others.
#[must_use]
pub fn measured_together<const N: usize>(
    play: impl FnOnce() -> [Finished; N],
    judge: impl FnOnce(&[Finished; N]) -> Result<(), String>,
) -> Option<[Finished; N]> {
    played(Company::Others, play, judge)
}

/// The same of several runs at once, and nothing beside them.
#[must_use]
pub fn measured_alone_together<const N: usize>(
    play: impl FnOnce() -> [Finished; N],
    judge: impl FnOnce(&[Finished; N]) -> Result<(), String>,
) -> Option<[Finished; N]> {
    played(Company::None, play, judge)
}

/// Makes runs, once.
fn played<const N: usize>(
    company: Company,
    play: impl FnOnce() -> [Finished; N],
    judge: impl FnOnce(&[Finished; N]) -> Result<(), String>,
) -> Option<[Finished; N]> {
    let is_disturbed = |runs: &[Finished; N]| runs.iter().any(Finished::is_disturbed);
    let shown = |runs: &[Finished; N]| runs.iter().map(ToString::to_string).collect();
    let in_turn = || match company {
        Company::Others => {
            let _turn = shared_turn();
            play()
        }
        Company::None => {
            let _turn = turn();
            play()
        }
    };
    undisturbed(in_turn, is_disturbed, shown).map(|runs| {
        // It takes a processor, and a run that is alone must have them all.
        let _turn = shared_turn();
        judged(runs, judge)
    })
}

/// What was measured, where it is as `judge` wants it.
fn judged<const N: usize>(
    runs: [Finished; N],
    judge: impl FnOnce(&[Finished; N]) -> Result<(), String>,
) -> [Finished; N] {
    if let Err(complaint) = judge(&runs) {
        let shown: String = runs.iter().map(ToString::to_string).collect();
        panic!("{complaint}\n{shown}");
    }
    runs
}
