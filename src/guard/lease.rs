//! How long a controller may be silent.
//!
//! A killed controller closes its pipe. A stopped one does not, so its guard detects it by silence:
//! the controller renews a lease every [`RENEW`], and after [`LEASE`] of silence the guard undoes
//! everything, within another second.
//!
//! A look that comes late counts for at most one second. If the whole host stands still, as a
//! paused virtual machine does, the controller could not renew its lease and could do no harm
//! either.

use std::time::Duration;

use crate::time::Mono;

/// How often the controller renews the lease. A host may stall for two more seconds.
pub(super) const RENEW: Duration = Duration::from_millis(500);
/// A pulse that is older than this is stale. The longest step of the healing task between two
/// awaits, the report on a trial, takes less.
pub(super) const FRESH: Duration = Duration::from_secs(2);
/// A controller that is silent for this long is considered gone.
pub(super) const LEASE: Duration = Duration::from_secs(3);
/// How often to check the other end of the pipe.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// The most silence that one look counts, no matter how late it comes. A guard that is rarely
/// scheduled on a busy host must still notice a silent controller.
const COUNTS: Duration = Duration::from_secs(1);

/// The time since the other end was last heard, checked every [`LOOK`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Silence {
    lasts: Duration,
    looked: Mono,
}

impl Silence {
    /// Starts to measure at `now`.
    pub(super) fn new(now: Mono) -> Self {
        Self { lasts: Duration::ZERO, looked: now }
    }

    /// Records a look, after everything readable was read. Returns how long the silence lasts.
    pub(super) fn look(&mut self, now: Mono, heard: bool) -> Duration {
        let passed = now.since(self.looked).min(COUNTS);
        self.looked = now;
        self.lasts = if heard { Duration::ZERO } else { self.lasts + passed };
        self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks `looks` times, `apart` from each other. Returns when the lease ran out.
    fn runs_out(silence: &mut Silence, looks: u64, apart: Duration) -> Option<Duration> {
        let began = silence.looked;
        for _ in 0..looks {
            let now = silence.looked + apart;
            if silence.look(now, false) >= LEASE {
                return Some(now.since(began));
            }
        }
        None
    }

    #[test]
    fn a_silent_controller_is_gone_after_three_seconds() {
        let mut master = Silence::new(Mono(7));
        assert_eq!(runs_out(&mut master, 29, LOOK), None);
        assert_eq!(runs_out(&mut master, 1, LOOK), Some(LOOK));
    }

    #[test]
    fn each_line_gives_it_three_more_seconds() {
        let mut master = Silence::new(Mono(7));
        assert_eq!(runs_out(&mut master, 29, LOOK), None);
        assert!(master.look(master.looked + LOOK, true) < LEASE);
        assert_eq!(runs_out(&mut master, 100, LOOK), Some(LEASE));
    }

    #[test]
    fn time_in_which_the_guard_did_not_run_is_not_silence() {
        let mut master = Silence::new(Mono(7));
        assert_eq!(runs_out(&mut master, 1, Duration::from_secs(3_600)), None);
        // A guard that is rarely scheduled takes longer, but still gives up.
        let took = runs_out(&mut master, 100, 2 * COUNTS);
        assert_eq!(took, Some(2 * (LEASE - COUNTS)), "the hour counts as one look");
    }
}
