//! The rule for exclusive leadership that the paper on NELI gives (section *Exclusivity of role
//! assignment*). It is not sound, and stands here as the baseline beside [`Mode::Exclusive`].
//!
//! A member leads partition `i` while `V[i] > c - T`: `V[i]` is the stamp that the broker gave to
//! the last message that reached the member there, and `c` the reading of the member's own wall
//! clock, which differs from the broker's by `e` at most. `T + e` is less than the session, so that
//! a leader that is cut off ends before its session does. A new leader waits for a grace period,
//! here from its first message on, before it leads.
//!
//! Where it fails: it takes a message for a proof of ownership. A member that its group has
//! expelled goes on receiving messages, for as long as it does not learn of it: from a coordinator
//! that was replaced and does not know it, never. And it trusts clocks: with one that is behind by
//! more than `e`, a member that is stopped or cut off believes in its leadership for as much
//! longer.

use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Mode;
use tandem_facts::time::{Mono, Wall};

use crate::{Heard, Neli};

/// What the rule knows beside what the member holds.
#[derive(Debug, Clone, Default, Hash)]
pub(super) struct Stamps {
    /// `G`.
    grace: Duration,
    /// The last reading of the wall clock.
    clock: Option<(Mono, Wall)>,
}

/// What the brokers' stamps say of a partition that the member holds.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Stamped {
    /// `V[i]`.
    last: Wall,
    /// The end of the grace period, while that lasts.
    waits: Option<Mono>,
}

impl Stamps {
    /// When the wall clock says `stamp`, by its last reading.
    fn instant(&self, stamp: Wall) -> Option<Mono> {
        let (at, read) = self.clock?;
        let ahead = Duration::from_millis(stamp.0.abs_diff(read.0));
        Some(if stamp >= read { at + ahead } else { at - ahead })
    }
}

impl Neli {
    /// The same in the mode [`Mode::ExclusivePaper`], with this grace period, `G`.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.stamps.grace = grace;
        self
    }

    /// The member's wall clock reads `wall`. The mode [`Mode::ExclusivePaper`] needs to know before
    /// every other input: when the clock steps, claims end sooner or later.
    pub fn handle_clock(&mut self, now: Mono, wall: Wall) {
        // What has lapsed by the last reading stays lapsed.
        self.handle_timeout(now);
        self.stamps.clock = Some((now, wall));
        self.follow_stamps(now);
    }

    /// A message reached this member, which a broker appended when its clock said `stamp`. The mode
    /// [`Mode::ExclusivePaper`] counts no other messages.
    pub fn handle_stamped(&mut self, now: Mono, message: Heard, stamp: Wall) {
        self.handle_heard(now, message);
        if self.mode != Mode::ExclusivePaper {
            return;
        }
        let ends = now + self.stamps.grace;
        if let Some(holding) = self.held.get_mut(&message.partition) {
            let first = Stamped { last: stamp, waits: Some(ends) };
            let stamped = holding.stamped.get_or_insert(first);
            stamped.last = stamped.last.max(stamp);
        }
        self.follow_stamps(now);
    }

    /// Lets claims begin and last as the stamps say.
    pub(super) fn follow_stamps(&mut self, now: Mono) {
        if self.mode != Mode::ExclusivePaper {
            return;
        }
        let mut stamps: Vec<(PartitionId, Wall)> = Vec::new();
        for (partition, holding) in &mut self.held {
            let Some(stamped) = &mut holding.stamped else { continue };
            stamped.waits = stamped.waits.filter(|ends| now < *ends);
            if stamped.waits.is_none() {
                stamps.push((*partition, stamped.last));
            }
        }
        for (partition, stamp) in stamps {
            let Some(at) = self.stamps.instant(stamp) else { continue };
            // A clock that has stepped ends a claim now, and not before.
            let end = (at + self.vector.threshold()).max(now);
            self.vector.curtail(end, |of| of == partition);
            self.claim(now, partition, at);
        }
        self.expire(now);
    }

    /// When the next grace period ends.
    pub(super) fn next_grace(&self) -> Option<Mono> {
        self.held.values().filter_map(|holding| holding.stamped?.waits).min()
    }
}
