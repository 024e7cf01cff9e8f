//! A host that is quiet: to wait for it before something is measured decides nothing of its
//! outcome.

use std::time::Duration;

use tandem::time::Mono;

/// The host is quiet when it was for so long.
const QUIET: Duration = Duration::from_secs(5);
/// No longer than this is waited for it to be.
pub const NOISE_MAX: Duration = Duration::from_secs(90);

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
