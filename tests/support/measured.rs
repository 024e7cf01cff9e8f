//! Measurements, one at a time or beside others that bear it; one that is spoiled is made again.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tandem::time::Mono;

use super::experiment::{Experiment, Finished};
use super::pressure::Pressure;

/// The host is quiet when it was for so long.
const QUIET: Duration = Duration::from_secs(5);
/// No longer than this is waited for it to be.
pub const NOISE_MAX: Duration = Duration::from_secs(90);

/// The claims of who lives on end sooner, and the dead are back sooner, than by default: what a
/// death costs depends on neither, and how long a trial takes does.
pub const BRISK: &str = "--set defaults.threshold=1500ms --set defaults.restart.after=1500ms";

/// Who must be alone writes, who bears others reads: as many as there are threads for tests.
static TURN: RwLock<()> = RwLock::new(());

/// Waits until nobody else of this program measures.
pub fn turn() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nobody measures who must be alone.
pub fn shared_turn() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// What must hold, and in words what does not.
pub fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Waits until the host has let this thread run for a while whenever it wanted to.
pub fn await_quiet(at_most: Duration) {
    let (began, mut quiet) = (Mono::now(), Mono::now());
    while Mono::now().since(began) < at_most && Mono::now().since(quiet) < QUIET {
        let asleep = Mono::now();
        std::thread::sleep(Duration::from_millis(5));
        if Mono::now().since(asleep) > Duration::from_millis(20) {
            quiet = Mono::now();
        }
    }
}

/// Runs an experiment until it is as `judge` wants it: at once, or thrice at most where the host
/// did not let the instrument or its subjects run.
pub fn measured(
    experiment: impl Fn() -> Experiment,
    judge: impl Fn(&Finished) -> Result<(), String>,
) -> Finished {
    measured_together(|| [experiment().finish()], |[run]| judge(run)).into_iter().next().unwrap()
}

/// The same of one that may have others beside it, for a session of a second is long: if it is not
/// as `judge` wants it then, it is measured alone.
pub fn measured_beside(
    experiment: impl Fn() -> Experiment,
    judge: impl Fn(&Finished) -> Result<(), String>,
) -> Finished {
    let turn = shared_turn();
    let run = experiment().finish();
    let Err(complaint) = judge(&run) else { return run };
    eprintln!("spoiled by others beside it: {complaint}\n{run}");
    drop(turn);
    measured(experiment, judge)
}

/// The same of several runs at once.
pub fn measured_together<const N: usize>(
    play: impl Fn() -> [Finished; N],
    judge: impl Fn(&[Finished; N]) -> Result<(), String>,
) -> [Finished; N] {
    let _turn = turn();
    for attempt in 1.. {
        let pressure = Pressure::watch();
        let runs = play();
        let Err(complaint) = judge(&runs) else { return runs };
        let shown: String = runs.iter().map(ToString::to_string).collect();
        let stalls: usize = runs.iter().map(|run| run.report().stalls.len()).sum();
        let host = format!("{stalls} stalls, pressure {:?}", pressure.share());
        let spoiled = stalls > 0 || pressure.is_busy();
        assert!(spoiled && attempt < 3, "attempt {attempt} ({host}): {complaint}\n{shown}");
        eprintln!("attempt {attempt}, spoiled by the host ({host}): {complaint}\n{shown}");
        await_quiet(NOISE_MAX);
    }
    unreachable!("it returns or panics");
}
