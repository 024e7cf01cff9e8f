//! Measurements are made on a quiet host, and each is made once. Waiting for a quiet host before
//! one does not affect its outcome. If the host disturbs it nevertheless, what it asks is unknown:
//! the product's rule decides that, and does not look at the outcome.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use tandem::live::LAG;
use tandem::time::Mono;
use tandem::timeline::{Interval, Lateness, RunRecord};
use tandem::verdict::{FaultReport, Report, Verdict};

/// The host is quiet when it was for so long.
const QUIET: Duration = Duration::from_secs(2);
/// No longer than this is waited for it to be.
pub const NOISE_MAX: Duration = Duration::from_secs(30);

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

/// The host disturbs what it keeps from running for longer than this.
pub const STALL: Duration = Duration::from_millis(50);

/// Whether the host has disturbed a run so that its verdict is unknown by the product's rule: more
/// than a third of its trials, or a fault whose victims were not hit at once. How the disturbed
/// trials ended does not matter here: if they fail more often than chance explains, the run is not
/// disturbed, and its verdict says so.
pub fn is_disturbed(report: &Report) -> bool {
    let disturbed = report.disturbed.as_ref();
    let is_disturbed = disturbed.is_some_and(|of| {
        let some = u64::try_from(of.trials.len()).unwrap();
        some * 3 > some + of.undisturbed
    });
    let late = |fault: &FaultReport| {
        fault.failed.as_ref().is_some_and(|why| why.contains("its victims were hit "))
    };
    let is_disturbed = is_disturbed || report.faults.iter().any(late);
    assert!(!is_disturbed || report.verdict != Verdict::Pass, "a disturbed run passes: {report:?}");
    is_disturbed
}

/// Whether the host kept a member or the controller of a run from running within this time, for
/// longer than in a trial that counts: what is found then may be the host's.
pub fn is_hindered(record: &RunRecord, span: Interval) -> bool {
    let meets = |late: &&Lateness| !late.span.intersect(span).is_empty();
    longest(record, record.lateness.iter().filter(meets)) > STALL
}

/// Whether facts of a run may have come too late for what is counted while it goes on, because the
/// host kept a member or the controller from running: it waits for them for twice as long.
pub fn is_counted_late(record: &RunRecord) -> bool {
    longest(record, record.lateness.iter()) > LAG / 2
}

fn longest<'a>(record: &RunRecord, of: impl Iterator<Item = &'a Lateness>) -> Duration {
    of.map(|late| late.imposed(&record.processors)).max().unwrap_or_default()
}

/// Measures once. Nothing where the host disturbed it: what the test asks is unknown then, and
/// noted as such, with what was measured.
#[must_use]
pub fn undisturbed<T>(
    measure: impl FnOnce() -> T,
    is_disturbed: impl FnOnce(&T) -> bool,
    shown: impl FnOnce(&T) -> String,
) -> Option<T> {
    let measured = measure();
    if is_disturbed(&measured) {
        unknown(&shown(&measured));
        return None;
    }
    Some(measured)
}

/// Notes that what this test asks is unknown, for the host disturbed it: here, and for
/// `tests/measure`, which ends with the list.
fn unknown(shown: &str) {
    let thread = std::thread::current();
    let (name, program) = (thread.name().unwrap_or("?"), crate::family());
    eprintln!("UNKNOWN {program}: {name}: the host disturbed it\n{shown}");
    let list = crate::scratch().join("unknown");
    let mut list = OpenOptions::new().create(true).append(true).open(list).unwrap();
    writeln!(list, "{program}: {name}").unwrap();
}
