//! Who publishes on a partition: all members each `tau`, as the protocol was first published, or
//! its owners.
//!
//! With [`Publishers::Owners`] a member publishes each `tau` on what it holds or claims, and on
//! every other partition each third of the threshold: the longest `tau` that the protocol allows.
//! So all that rests on the beacons of others goes on to hold, at that pace:
//!
//! - A claim needs a message each `T`. That of its owner comes each `tau`, so the age of the last
//!   one is what it was. If the owner can hear and not publish, the others renew its claim.
//! - No partition dries up, whether a member holds it or not.
//! - A member knows by its own messages which partitions it reaches, also of those that it does not
//!   hold ([`membership`](crate::membership), the silent partition): it says so after half of `T`.
//!
//! On the partition that all members read every one states itself ([`Statement`]). What others do
//! with a statement they do within `T`: a claim that it ends has lapsed by then. So a member states
//! itself each `tau` for `T` after anything has changed, and each third of `T` otherwise. A change
//! is an assignment, a revocation, a claim on what was just assigned, a leave; and a statement of
//! a member that was not known, that leaves, or that is in another generation. The last is that of
//! a member which was stopped: it claims again what waited for it, and hears within `tau` of those
//! that lead by now.
//!
//! [`Statement`]: crate::Statement

use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

use crate::Neli;

/// Who publishes on a partition each `tau`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Publishers {
    /// All members.
    #[default]
    All,
    /// Those that hold or claim it; the others each third of the threshold.
    Owners,
}

impl Publishers {
    /// Both.
    pub const ALL: [Self; 2] = [Self::All, Self::Owners];

    /// The word for it in a topology.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Owners => "owners",
        }
    }

    /// How many rounds of `beacon` there are from one over all partitions to the next.
    #[must_use]
    pub fn rounds(self, threshold: Duration, beacon: Duration) -> u16 {
        match self {
            Self::All => 1,
            Self::Owners => {
                let rounds = (threshold / 3).as_nanos().checked_div(beacon.as_nanos());
                u16::try_from(rounds.unwrap_or(1)).unwrap_or(u16::MAX).max(1)
            }
        }
    }
}

impl Neli {
    /// The same member, with these publishers. A member whose program paces it publishes on all
    /// partitions.
    #[must_use]
    pub fn publishing(mut self, publishers: Publishers) -> Self {
        self.beacons.rounds(publishers.rounds(self.vector.threshold(), self.beacons.interval()));
        let always = self.beacons.rounds_of_all() == 1;
        if let Some(handover) = &mut self.handover {
            handover.states_always(always);
        }
        self
    }

    /// The same member, which states itself each `tau` in any case: the ledger vouches for it where
    /// others suspect it.
    #[must_use]
    pub fn stating_each_round(mut self) -> Self {
        if let Some(handover) = &mut self.handover {
            handover.states_always(true);
        }
        self
    }

    /// How often the member publishes at `now`, at least on one partition.
    #[must_use]
    pub fn publishes_each(&self, now: Mono) -> Duration {
        let rounds = self.beacons.rounds_of_all();
        let owns = || (0..self.vector.width()).any(|k| self.owns(now, PartitionId(k)));
        self.beacons.interval() * if rounds == 1 || owns() { 1 } else { rounds }
    }

    fn owns(&self, now: Mono, partition: PartitionId) -> bool {
        self.held.contains_key(&partition)
            || self.vector.claim(partition).is_some()
            || self.handover.as_ref().is_some_and(|it| it.states(now, partition))
    }

    /// Beacons that are due become ready.
    pub(super) fn publish(&mut self, now: Mono) {
        if !self.beacons.is_due(now) {
            return;
        }
        // Every round is over all partitions, and asks for none of its own.
        let width = if self.beacons.rounds_of_all() == 1 { 0 } else { self.vector.width() };
        let owned = (0..width).map(PartitionId).filter(|k| self.owns(now, *k)).collect();
        self.beacons.advance(now, owned);
    }
}
