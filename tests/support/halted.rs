//! `tandem halt` of a run that is under way.

use super::experiment::Running;
use super::leftovers::Family;
use super::undone::{IDLES, Stage, says};

/// Halts a run while its starter waits for it.
pub fn halts(stage: &Stage, run: Running, family: &Family, ends: &[i32]) {
    let pid = run.pid();
    let (run, (code, said)) = std::thread::scope(|scope| {
        let halted = scope.spawn(|| stage.halt(&[]));
        (run.finish(), halted.join().unwrap())
    });
    assert_eq!(code, Some(0), "{said}\n{run}");
    assert!(said.contains(&format!("controller {pid} ended when asked")), "{said}");
    assert!(run.code().is_some_and(|code| ends.contains(&code)), "{run}");
    if run.code() == Some(4) {
        says(&run, IDLES);
    }
    family.is_gone();
    stage.is_healed();
    assert!(stage.ledgers().is_empty(), "{said}");
}
