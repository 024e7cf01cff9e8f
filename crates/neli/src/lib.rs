//! The NELI protocol of one member, without input, output, clock or chance.
//!
//! ```text
//!   group ----- handle_membership ---> +------+ ---- poll_event ----> member
//!   ledger ---- handle_heard --------> | Neli | ---- poll_beacon ---> ledger
//!   clock ----- handle_timeout ------> |      | ---- poll_timeout --> clock
//!   anyone ---- handle_leave --------> +------+ ---- leads ---------> anyone
//! ```
//!
//! Feed it what happened, then drain every `poll_*` until it is silent. Each `handle_*` first lets
//! the clock decide what is over, however late the alarm is.
//!
//! This is the non-exclusive mode: a member leads partition `k` while `now - V[k] < T`, where
//! `V[k]` is the local instant at which it last heard a message there. That the group takes `k`
//! away ends no claim, for every join and leave takes everything away from everybody for a moment:
//! a claim ends when the ledger has been silent for `T`, when the member leaves, or when it dies.

// A test may fail loudly, what is shipped may not; all other lints are those of the workspace.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]

mod beacon;
mod event;
pub mod membership;
mod vector;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use beacon::Beacons;
pub use event::{Assignment, Event, Membership};
use vector::Vector;

use tandem_facts::ids::PartitionId;
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::{Mono, Wall};

/// What a member is told of its group; fixed for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// `|M|`, read once at start: a ledger never changes its width under a running group.
    pub width: NonZeroU32,
    /// `T`: for how long a claim outlives the last message of its partition.
    pub threshold: Duration,
    /// `tau`: how often a beacon is published on every partition.
    pub beacon: Duration,
}

/// One member of a group.
#[derive(Debug)]
pub struct Neli {
    vector: Vector,
    beacons: Beacons,
    events: VecDeque<Event>,
    gone: bool,
}

impl Neli {
    /// A member that has heard nothing yet; its first beacons are due at once.
    #[must_use]
    pub fn new(now: Mono, config: Config) -> Self {
        Self {
            vector: Vector::new(config.width, config.threshold),
            beacons: Beacons::new(now, config.width, config.beacon),
            events: VecDeque::new(),
            gone: false,
        }
    }

    /// A message of `partition`, appended by the broker at `stamp`, reached this member.
    ///
    /// The non-exclusive mode goes by the instant of receipt, so that no clock need agree with
    /// another; `stamp` is for the modes that do not.
    pub fn handle_heard(&mut self, now: Mono, partition: PartitionId, stamp: Wall) {
        self.handle_timeout(now);
        let _by_receipt_alone = stamp;
        if self.gone {
            return;
        }
        self.beacons.heard(partition);
        if let Some(claim) = self.vector.heard(now, partition) {
            self.events.push_back(Event::Acquired { claim, from: now });
        }
    }

    /// The group gave or took partitions.
    pub fn handle_membership(&mut self, now: Mono, change: &Membership) {
        self.handle_timeout(now);
        match change {
            // Whoever got a partition knows best that it needs a message now.
            Membership::Assigned(assignment) => self.beacons.hasten(now, &assignment.partitions),
            Membership::Revoked(partitions) | Membership::Lost(partitions) => {
                self.beacons.calm(partitions);
            }
        }
    }

    /// Time has passed: claims that have lapsed end, beacons that are due become ready.
    pub fn handle_timeout(&mut self, now: Mono) {
        for claim in self.vector.expire(now) {
            self.events.push_back(Event::Ended { claim, why: Ending::Silence });
        }
        self.beacons.advance(now);
    }

    /// The member goes: it claims nothing and publishes nothing from now on.
    pub fn handle_leave(&mut self, now: Mono) {
        self.handle_timeout(now);
        self.gone = true;
        self.beacons.silence();
        for claim in self.vector.drop_all(now) {
            self.events.push_back(Event::Ended { claim, why: Ending::Left });
        }
    }

    /// What has changed, in order.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A partition on which a beacon is to be published now.
    #[must_use]
    pub fn poll_beacon(&mut self) -> Option<PartitionId> {
        self.beacons.poll()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next, if ever.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        [self.vector.next_lapse(), self.beacons.next()].into_iter().flatten().min()
    }

    /// Whether this member leads `partition` at `now`, whatever it was told before.
    #[must_use]
    pub fn leads(&self, now: Mono, partition: PartitionId) -> bool {
        self.vector.claim(partition).is_some_and(|claim| now < claim.until)
    }

    /// Every claim, with how far it reaches.
    pub fn claims(&self) -> impl Iterator<Item = Horizon> + '_ {
        self.vector.claims()
    }
}
