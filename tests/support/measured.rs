//! Measurements, one at a time; one that the host spoiled is made again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::experiment::{Experiment, Finished};

static TURN: Mutex<()> = Mutex::new(());

/// Waits until nobody else of this program measures.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What must hold, and in words what does not.
pub fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Runs an experiment until it is as `judge` wants it: at once, or thrice at most where the host
/// did not let the instrument run.
pub fn measured(
    experiment: impl Fn() -> Experiment,
    judge: impl Fn(&Finished) -> Result<(), String>,
) -> Finished {
    let _turn = turn();
    for attempt in 1.. {
        let run = experiment().finish();
        let Err(complaint) = judge(&run) else { return run };
        let stalls = run.report().stalls.len();
        assert!(stalls > 0 && attempt < 3, "attempt {attempt}: {complaint}\n{run}");
        eprintln!("attempt {attempt}, spoiled by {stalls} stalls: {complaint}\n{run}");
    }
    unreachable!("it returns or panics");
}
