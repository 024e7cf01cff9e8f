//! The NELI protocol of one member, without input, output, clock or chance.
//!
//! ```text
//!   group ----- handle_membership ---> +------+ ---- poll_event ----> member
//!   ledger ---- handle_offset -------> |      |
//!   ledger ---- handle_heard --------> | Neli | ---- poll_beacon ---> ledger
//!   clock ----- handle_timeout ------> |      | ---- poll_timeout --> clock
//!   members --- handle_statement ----> |      | ---- statement -----> members
//!   mesh ------ handle_order --------> |      |
//!   mesh ------ handle_inquest ------> |      |
//!   caller ---- handle_leave --------> +------+ ---- leads ---------> caller
//! ```
//!
//! Feed it what happened, then drain every `poll_*` until it returns `None`. Each `handle_*` first
//! advances the time, so that a late timer changes nothing.
//!
//! In the non-exclusive mode a member leads partition `k` while `now - V[k] < T`, where `V[k]` is
//! the local instant at which the member last heard a message there. A claim ends when the ledger
//! has been silent for `T`, when the member leaves, or when it dies. A revocation of `k` ends no
//! claim, because every join and leave revokes all partitions of all members for a moment. With
//! [`Neli::handing_over`] a claim also ends when the new owner of `k` states that it leads `k`.
//!
//! In the fast mode a member leads a partition that it holds, from the assignment on, while
//! `now - V[k] < Q`. `V[k]` starts with the assignment; then only messages count that the member
//! itself has published since, and each by the instant of its sending, so that a backlog renews
//! nothing. A revocation ends the claim. Only the holder publishes.
//!
//! In the exclusive mode a member leads a partition that it holds while `now - V[k] < T` and
//! `now - P < T`, where `V[k]` counts messages since the assignment, and `P` is the instant before
//! it sent what last proved that its group counts it in ([`membership::Proof`]). With `T` below the
//! session, no other member can hold the partition meanwhile. A revocation ends the claim after
//! `hold`, for so long a promise to a program may last.
//!
//! In every mode all claims end where the offset of a message is below one that was there before:
//! `set_back.rs`.
//!
//! The mode [`Mode::ExclusivePaper`] follows the paper, in `stamps.rs`.

// Tests may panic, shipped code may not. All other lints come from the workspace.
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
mod bytes;
pub mod elections;
mod event;
mod handover;
pub mod membership;
pub mod mesh;
mod publishers;
mod set_back;
mod stamps;
mod stand_in;
mod statement;
mod vector;
mod versions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::time::Duration;

use beacon::Beacons;
pub use event::{Assignment, Event, Heard, Membership, Pulse};
use handover::Handover;
pub use handover::Identity;
pub use publishers::Publishers;
use set_back::Offsets;
use stamps::{Stamped, Stamps};
pub use statement::{Statement, UNASSIGNED};
use vector::Vector;
pub use versions::{Author, Misfit, Versions};

use tandem_facts::ids::PartitionId;
use tandem_facts::observation::{Ending, Horizon, Mode};
use tandem_facts::time::Mono;

/// The configuration of a member; fixed for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// `|M|`, read once at start: the number of partitions does not change while a group runs.
    pub width: NonZeroU32,
    /// `T`, in the fast mode `Q`: how long a claim outlives the last message of its partition, and
    /// in the exclusive mode the last proof.
    pub threshold: Duration,
    /// In the exclusive mode: how long a claim outlives a revocation. The member must let nobody
    /// else have the partition meanwhile ([`membership::GroupConfig::hold`]).
    pub hold: Duration,
    /// `tau`: the interval at which the member publishes a beacon on every partition, in the fast
    /// mode on those that it holds, with [`Publishers::Owners`] on those that it owns.
    pub beacon: Duration,
    /// When a claim holds and what ends it.
    pub mode: Mode,
    /// What makes the member publish.
    pub pulse: Pulse,
}

/// A partition that the member holds.
#[derive(Debug, Clone, Copy, Hash)]
struct Holding {
    since: Mono,
    /// When the member last heard a message on it.
    heard: Option<Mono>,
    /// In the paper's exclusive mode: what the brokers' stamps say of it.
    stamped: Option<Stamped>,
}

/// One member of a group.
#[derive(Debug, Clone, Hash)]
pub struct Neli {
    mode: Mode,
    hold: Duration,
    held: BTreeMap<PartitionId, Holding>,
    /// The instant before the member sent what last proved its membership.
    proof: Option<Mono>,
    vector: Vector,
    offsets: Offsets,
    beacons: Beacons,
    handover: Option<Handover>,
    stamps: Stamps,
    /// What it claims as a stand-in, and was not assigned since.
    stand_ins: BTreeSet<PartitionId>,
    events: VecDeque<Event>,
    gone: bool,
    /// Whether its group takes partitions one by one.
    takes_one_by_one: bool,
}

impl Neli {
    /// A member that has heard nothing yet. Its first beacons are due at once.
    #[must_use]
    pub fn new(now: Mono, config: Config) -> Self {
        Self {
            mode: config.mode,
            hold: if config.mode == Mode::Exclusive { config.hold } else { Duration::ZERO },
            proof: None,
            held: BTreeMap::new(),
            vector: Vector::new(config.width, config.threshold),
            offsets: Offsets::new(),
            beacons: Beacons::new(now, &config),
            handover: None,
            stamps: Stamps::default(),
            stand_ins: BTreeSet::new(),
            events: VecDeque::new(),
            gone: false,
            takes_one_by_one: false,
        }
    }

    /// The same in a group of the newer protocol ([`membership::ConsumerMember`]). It takes each
    /// partition by a revocation of its own, so an assignment ends no claim on what it repeats.
    #[must_use]
    pub fn taking_one_by_one(self) -> Self {
        Self { takes_one_by_one: true, ..self }
    }

    /// A message reached this member.
    ///
    /// The non-exclusive mode uses the instant of receipt, so that clocks need not agree; a member
    /// that hands over counts only messages on what it holds, for it reads more. The fast mode
    /// counts only messages that this member has published since it holds the partition. The
    /// exclusive mode counts only messages on what the member holds, up to the last proof.
    pub fn handle_heard(&mut self, now: Mono, message: Heard) {
        self.handle_timeout(now);
        if self.gone {
            return;
        }
        let Heard { partition, sent } = message;
        self.beacons.heard(partition);
        let holding = self.held.get_mut(&partition);
        let holds = holding.is_some();
        let anew = holding.is_some_and(|it| it.heard.replace(now).is_none());
        let at = match self.mode {
            Mode::NonExclusive => Some(now).filter(|_| holds || self.handover.is_none()),
            Mode::Fast => {
                let since = self.held.get(&partition).map(|it| it.since);
                sent.filter(|&sent| sent <= now && since.is_some_and(|since| since <= sent))
            }
            Mode::Exclusive => self.proof.filter(|_| holds),
            // Only a broker's stamp counts: `handle_stamped`.
            Mode::ExclusivePaper => None,
        };
        if let Some(at) = at {
            self.claim(now, partition, at);
        }
        if anew {
            self.announce(now);
        }
    }

    /// The group assigned or revoked partitions.
    pub fn handle_membership(&mut self, now: Mono, change: &Membership) {
        self.handle_timeout(now);
        // It belongs to the generation before.
        self.proof = None;
        if let Some(handover) = &mut self.handover {
            handover.changed(now);
        }
        match change {
            Membership::Assigned(assignment) => {
                if let Some(handover) = &mut self.handover {
                    handover.assigned(now, assignment);
                }
                self.stand_ins.clear();
                self.assigned(now, &assignment.partitions);
            }
            Membership::Revoked(partitions) | Membership::Lost(partitions) => {
                self.beacons.calm(partitions);
                self.given_up(now, partitions);
            }
        }
    }

    /// All that the member holds from now on.
    fn assigned(&mut self, now: Mono, partitions: &[PartitionId]) {
        // A proof of the generation before says nothing about this one.
        let anew = self.mode == Mode::Exclusive && !self.takes_one_by_one;
        let gone = self.held.keys().copied().filter(|held| anew || !partitions.contains(held));
        let gone: Vec<PartitionId> = gone.collect();
        self.given_up(now, &gone);
        for &partition in partitions {
            if self.held.contains_key(&partition) || self.gone {
                continue;
            }
            self.held.insert(partition, Holding { since: now, heard: None, stamped: None });
            if self.mode == Mode::Fast {
                self.claim(now, partition, now);
            }
        }
        // The new owner needs a message on the partition now.
        let direct = self.handover.as_ref().map(|it| it.direct);
        self.beacons.hasten(now, partitions, direct);
        self.publish(now);
    }

    /// The member no longer holds these.
    fn given_up(&mut self, now: Mono, partitions: &[PartitionId]) {
        for partition in partitions {
            self.held.remove(partition);
        }
        if self.mode != Mode::NonExclusive {
            self.vector.curtail(now + self.hold, |partition| partitions.contains(&partition));
            self.expire(now);
        }
    }

    /// The group has counted this member in, in the generation of its assignment, at `since` or
    /// later; none once a rebalance begins. Only the exclusive mode asks for that.
    ///
    /// Under the newer protocol there is none where the session is shorter than the member relied
    /// on: its claims end after `hold`.
    pub fn handle_proof(&mut self, now: Mono, since: Option<Mono>) {
        self.handle_timeout(now);
        if since.is_none() && self.takes_one_by_one && self.mode == Mode::Exclusive {
            self.vector.curtail(now + self.hold, |_| true);
            self.expire(now);
        }
        if self.proof == since {
            return;
        }
        self.proof = since;
        let Some(since) = since.filter(|_| self.mode == Mode::Exclusive && !self.gone) else {
            return;
        };
        let heard: Vec<(PartitionId, Mono)> =
            self.held.iter().filter_map(|(k, it)| Some((*k, it.heard?))).collect();
        for (partition, heard) in heard {
            self.claim(now, partition, heard.min(since));
        }
    }

    /// Ends claims that have lapsed.
    fn expire(&mut self, now: Mono) {
        for claim in self.vector.expire(now) {
            let why = self.why_ended(claim);
            self.events.push_back(Event::Ended { claim, why });
        }
    }

    fn why_ended(&self, claim: Horizon) -> Ending {
        let holding = self.held.get(&claim.partition);
        let proved =
            self.mode != Mode::Exclusive || holding.is_none_or(|it| it.heard <= self.proof);
        match holding {
            _ if self.gone => Ending::Left,
            None if self.mode != Mode::NonExclusive => Ending::Revoked,
            Some(_) if !proved => Ending::Unproven,
            None | Some(_) => Ending::Silence,
        }
    }

    /// Sets `V[k]` to `at`.
    fn claim(&mut self, now: Mono, partition: PartitionId, at: Mono) {
        if let Some(claim) = self.vector.heard(now, partition, at) {
            self.events.push_back(Event::Acquired { claim, from: now, stands_in_for: None });
        }
    }

    /// The program is well: it lets the member publish once more ([`Pulse::Program`]).
    pub fn handle_pulse(&mut self, now: Mono) {
        self.beacons.pulsed();
        self.handle_timeout(now);
    }

    /// Time has passed: claims that have lapsed end, beacons that are due become ready.
    pub fn handle_timeout(&mut self, now: Mono) {
        self.expire(now);
        self.follow_stamps(now);
        self.publish(now);
    }

    /// The member leaves: it claims nothing more and publishes nothing. Its claims end now, in the
    /// exclusive mode after `hold`.
    pub fn handle_leave(&mut self, now: Mono) {
        self.handle_timeout(now);
        self.gone = true;
        self.held.clear();
        self.beacons.silence();
        self.vector.curtail(now + self.hold, |_| true);
        self.expire(now);
    }

    /// The next change of leadership, in order.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next partition on which to publish a beacon now. In the fast mode the beacon carries the
    /// life of its sender and the instant of its sending.
    #[must_use]
    pub fn poll_beacon(&mut self) -> Option<PartitionId> {
        match self.mode {
            Mode::NonExclusive | Mode::Exclusive | Mode::ExclusivePaper => self.beacons.poll(),
            Mode::Fast => {
                let held = &self.held;
                std::iter::from_fn(|| self.beacons.poll()).find(|it| held.contains_key(it))
            }
        }
    }

    /// The mode of its claims.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next, if ever.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        let dues = [self.vector.next_lapse(), self.beacons.next(), self.next_grace()];
        dues.into_iter().flatten().min()
    }

    /// Whether this member leads `partition` at `now`, even if events of earlier instants say
    /// otherwise.
    #[must_use]
    pub fn leads(&self, now: Mono, partition: PartitionId) -> bool {
        self.vector.claim(partition).is_some_and(|claim| now < claim.until)
    }

    /// Every claim with its current end.
    pub fn claims(&self) -> impl Iterator<Item = Horizon> + '_ {
        self.vector.claims()
    }
}
