//! For how long a master may be silent.
//!
//! A master that was killed closes its pipe; one that was stopped does not, and is known by its
//! silence alone. It renews a lease each [`RENEW`]; when it was silent for [`LEASE`] everything is
//! undone, which takes no second more.
//!
//! Only silence that one was awake to hear counts, and one second where one was not: where a whole
//! host stands still, a machine that is paused above all, the other had no time to speak, and did
//! nothing either.

use std::time::Duration;

use crate::time::Mono;

/// How often the master renews. A host may stall for two seconds on top of it.
pub(super) const RENEW: Duration = Duration::from_millis(500);
/// A pulse of whoever heals that is older is stale: what it may do between two waits, a report on
/// one trial above all, takes less.
pub(super) const FRESH: Duration = Duration::from_secs(2);
/// A master that is silent for so long is gone.
pub(super) const LEASE: Duration = Duration::from_secs(3);
/// How often the other end is looked for.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// What one look counts for at most, however late it comes. Who seldom gets a turn on a busy host
/// is still to notice a silence in time.
const COUNTS: Duration = Duration::from_secs(1);

/// For how long nothing was heard of somebody, looked for each [`LOOK`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Silence {
    lasts: Duration,
    looked: Mono,
}

impl Silence {
    /// It begins now.
    pub(super) fn new(now: Mono) -> Self {
        Self { lasts: Duration::ZERO, looked: now }
    }

    /// One has looked, and has read whatever there was to read; for how long it lasts by now.
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

    /// Looks so often, so far apart; after how long the lease ran out.
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
    fn a_silent_master_is_gone_after_three_seconds() {
        let mut master = Silence::new(Mono(7));
        assert_eq!(runs_out(&mut master, 29, LOOK), None);
        assert_eq!(runs_out(&mut master, 1, LOOK), Some(LOOK));
    }

    #[test]
    fn whatever_it_says_gives_it_three_seconds_more() {
        let mut master = Silence::new(Mono(7));
        assert_eq!(runs_out(&mut master, 29, LOOK), None);
        assert!(master.look(master.looked + LOOK, true) < LEASE);
        assert_eq!(runs_out(&mut master, 100, LOOK), Some(LEASE));
    }

    #[test]
    fn time_in_which_the_guard_did_not_run_is_no_silence() {
        let mut master = Silence::new(Mono(7));
        assert_eq!(runs_out(&mut master, 1, Duration::from_secs(3_600)), None);
        // A guard that seldom gets its turn takes longer, and still comes to its end.
        let took = runs_out(&mut master, 100, 2 * COUNTS);
        assert_eq!(took, Some(2 * (LEASE - COUNTS)), "the hour counts as one look");
    }
}
