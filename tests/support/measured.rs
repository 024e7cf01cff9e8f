//! Measurements, one at a time: the processes of another run would disturb its trials. Each is made
//! once: the rule of the experiment, and no test, decides which of its trials the host disturbed.
//! The same rule decides about a whole run: if more than a third of its trials were disturbed,
//! independent of their outcomes, the run is shown and repeated once. If the second run is
//! disturbed as well, the result is unknown on this host: the run is shown and counted as such, and
//! `tests/all` ends with the list.

use super::experiment::{Experiment, Finished};
use super::quiet::undisturbed;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The claims of who lives on end sooner, and the dead are back sooner, than by default: what a
/// death costs depends on neither, and how long a trial takes does.
pub const BRISK: &str = "--set defaults.threshold=1500ms --set defaults.restart.after=1500ms";

/// Who must be alone writes, who bears others reads: as many as there are threads for tests.
static TURN: RwLock<()> = RwLock::new(());

/// Waits until no other test of this program measures.
pub fn turn() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no test measures that must run alone.
pub fn shared_turn() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// What must hold, and in words what does not.
pub fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Runs an experiment alone; it is as `judge` wants it. Nothing where the host disturbed it.
#[must_use]
pub fn measured(
    experiment: impl Fn() -> Experiment,
    judge: impl FnOnce(&Finished) -> Result<(), String>,
) -> Option<Finished> {
    let runs = measured_together(|| [experiment().with_rule().finish()], |[run]| judge(run));
    runs.map(|[run]| run)
}

/// The same of several runs at once, alone.
#[must_use]
pub fn measured_together<const N: usize>(
    play: impl FnMut() -> [Finished; N],
    judge: impl FnOnce(&[Finished; N]) -> Result<(), String>,
) -> Option<[Finished; N]> {
    let _turn = turn();
    let is_disturbed = |runs: &[Finished; N]| runs.iter().any(Finished::is_disturbed);
    let shown = |runs: &[Finished; N]| runs.iter().map(ToString::to_string).collect();
    undisturbed(play, is_disturbed, shown).map(|runs| judged(runs, judge))
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
