//! ZooKeeper's own round, as lecture notes have it (Gupta, *Cloud Computing Concepts*): members
//! watch each other in the order of their ids, and a leader is committed by a quorum. Ids differ
//! from partition to partition, so that the roles are spread.
//!
//! - The greatest id leads, and after it the next lower one. Each member watches the one before it
//!   in this order, and the first the leader: so a death wakes one of them, and no herd.
//! - If the leader has failed, the first sends `NEW_LEADER`. A member answers with at most one
//!   `ACK`. With a quorum the candidate sends `COMMIT`, at which all take it for the leader.
//!
//! Corrected: one `ACK` for ever would elect one leader for ever, so it is one in an *epoch*, and
//! on the disk before it is given, or a member that has started again would give another. The
//! candidate's own is its last, so that of two the greater id wins. The text watches one neighbour
//! alone: if it dies, and then the leader, none would notice. Here a silent one is passed over, and
//! one that is alive says whether it hears the leader. A member that comes back goes to the end of
//! the order, after all that hear the leader, and takes nothing from others. And the text lets a
//! leader lead on that none hears: here it says `COMMIT` each heartbeat, and claims until a session
//! after the newest one that a quorum has answered.
//!
//! No two lead in one epoch, but two may lead: members acknowledge a candidate while the leader
//! still claims, if its watcher alone does not hear it. The leader learns of that from any member,
//! and gives way. Epochs are no fences: the acknowledgement that a candidate lacks may come, or its
//! own reach its disk, after another one leads in a newer epoch, and so it begins a claim in the
//! older one (`tests/data/zab/lower.txt`). That is ours: the notes have no epochs.

mod kind;
mod lead;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::among::{self, Answers, Ballot, Elects, Generation, Held, Means, Steps, claims, order};
pub use super::among::{Config, Peer};
pub use kind::Kind;
use lead::Lead;
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// A member that elects so.
pub type Member = among::Member<Instance>;
/// A message about one partition, in an epoch.
pub type Message = among::Message<Kind>;
type Turn<'a> = among::Turn<'a, Kind>;

/// What a candidate asks for.
#[derive(Debug, Clone)]
struct Bid {
    epoch: Generation,
    sent: Mono,
    yes: BTreeSet<Peer>,
    /// Whether its own acknowledgement, the last, is on its way to the disk.
    own: bool,
    /// When it asks again, and when it gives up.
    again: Mono,
    closes: Mono,
}

/// The election of one partition.
#[derive(Debug, Clone)]
pub struct Instance {
    partition: PartitionId,
    ballot: Ballot,
    /// The newest epoch whose acknowledgement is on the disk, and the newest of which it knows.
    saved: Generation,
    seen: Generation,
    /// The newest leader of which it knows, and whether it follows it.
    newest: Option<(Generation, Peer)>,
    follows: bool,
    /// When it heard the leader, or that it lives; and the leader itself.
    heard: Mono,
    direct: Mono,
    /// Whether the leader has left.
    left: bool,
    /// When it heard each other; since when it listens.
    signs: BTreeMap<Peer, Mono>,
    began: Mono,
    /// It does not stand before this, and looks after the one that it watches at `watches`.
    idle: Mono,
    watches: Mono,
    bid: Option<Bid>,
    lead: Option<Lead>,
    /// The length of a session, and the number of claims so far.
    session: Duration,
    claims: Term,
    /// When it stands, from the others' signs.
    stands: Mono,
}

impl Elects for Instance {
    type Word = Kind;
    const VOTES: bool = true;
    const EXCLUSIVE: bool = false;
    const TAKES_OVER: bool = false;
    const BY: &'static str = "acknowledgements of a majority";
    const ENDS: &'static str = "after the last COMMIT that a majority answered";

    /// The one that watches the leader stands at once, each that is passed over holds it up. An
    /// acknowledgement and the candidate's own reach their disks one after the other.
    fn steps(means: &Means) -> Steps {
        Steps {
            stands: means.wake + means.rtt + means.order(),
            elected: means.wake + means.rtt + 2 * means.save,
            leads: means.rtt,
        }
    }

    /// It listens for a session.
    fn begin(now: Mono, _: Mono, config: &Config, partition: PartitionId, ballot: Ballot) -> Self {
        let mut new = Self {
            partition,
            ballot,
            saved: ballot.generation,
            seen: ballot.generation,
            newest: None,
            follows: false,
            heard: now,
            direct: Mono::ZERO,
            left: false,
            signs: BTreeMap::new(),
            began: now,
            idle: now,
            watches: now,
            bid: None,
            lead: None,
            session: config.session,
            claims: Term(0),
            stands: now,
        };
        new.plan(config);
        new
    }

    fn ballot(&self) -> Ballot {
        self.ballot
    }

    fn is_led(&self) -> bool {
        self.follows || self.lead.is_some()
    }

    fn due(&self) -> Mono {
        let bid = self.bid.as_ref().filter(|bid| !bid.own).map(|bid| bid.again.min(bid.closes));
        let lead = self.lead.as_ref().map(|it| {
            let asks = it.asks.filter(|_| self.bid.is_none()).unwrap_or(it.until);
            it.next.min(it.until).min(asks)
        });
        let others = self.lead.is_none().then_some(self.watches);
        let idle = self.lead.is_none() && self.bid.is_none();
        let stands = idle.then_some(self.stands);
        lead.into_iter().chain(bid).chain(others).chain(stands).min().unwrap_or(Mono(u64::MAX))
    }

    fn claim(&self) -> Option<Horizon> {
        let Lead { until, .. } = self.lead.as_ref()?;
        Some(Horizon { partition: self.partition, term: self.claims, until: *until })
    }

    fn expire(&mut self, turn: &mut Turn<'_>) {
        if claims::lapse(self, turn) {
            self.lead = None;
            self.heard = turn.now;
            self.plan(turn.config);
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now;
        match &mut self.lead {
            Some(lead) => {
                if lead.next <= now {
                    self.commit(turn);
                } else if self.bid.is_none() && lead.asks.take_if(|asks| *asks <= now).is_some() {
                    self.stand(turn);
                }
            }
            None => {
                if self.watches <= now {
                    self.watch(turn);
                }
                if self.bid.is_none() && self.stands <= now {
                    self.stand(turn);
                }
            }
        }
        match self.bid.as_mut().filter(|bid| !bid.own) {
            Some(bid) if bid.closes <= now => {
                // One that none answers is cut off, and waits for news.
                let wait = if bid.yes.is_empty() { self.session } else { turn.config.step() };
                (self.bid, self.idle) = (None, now + wait);
                self.plan(turn.config);
            }
            Some(bid) if bid.again <= now => {
                let stale = bid.epoch <= self.seen.max(self.ballot.generation);
                bid.again = now + turn.config.step() * 2;
                let (epoch, closes) = (bid.epoch, bid.closes);
                if stale {
                    self.stand(turn);
                    self.bid.as_mut().into_iter().for_each(|bid| bid.closes = closes);
                } else {
                    turn.broadcast(self.says(epoch, Kind::NewLeader));
                }
            }
            Some(_) | None => {}
        }
    }

    fn hear(&mut self, turn: &mut Turn<'_>, from: Peer, message: Message) {
        self.signs.insert(from, turn.now);
        let epoch = message.generation;
        match message.kind {
            Kind::NewLeader if self.may_acknowledge(turn, from, epoch) => {
                self.acknowledge(turn, from, epoch);
            }
            Kind::Ack => self.acknowledged(turn, from, epoch),
            Kind::Commit(at) if self.is_newest(epoch) => {
                self.follow(turn, (epoch, from));
                self.direct = turn.now;
                turn.out.send(from, self.says(epoch, Kind::Heard(at)));
            }
            Kind::NewLeader | Kind::Commit(_) => self.refuse(turn, from, epoch),
            Kind::Heard(at) => {
                if let Some(lead) = self.lead.as_mut().filter(|lead| lead.epoch == epoch) {
                    lead.answered(turn.config, from, at);
                }
            }
            Kind::Refused(leader) => self.refused(turn, epoch, leader),
            Kind::Watch => {
                let fresh = self.follows && turn.now < self.direct + turn.config.heartbeat * 2;
                let hears = fresh || self.lead.is_some();
                turn.out.send(from, self.says(epoch, Kind::Alive(hears)));
            }
            Kind::Alive(hears) => {
                if hears && !self.left {
                    self.heard = turn.now;
                }
            }
            Kind::Left if self.newest == Some((epoch, from)) => {
                (self.left, self.follows) = (true, false);
            }
            Kind::Left => {}
        }
        self.plan(turn.config);
    }

    fn vote_is_saved(&mut self, generation: Generation) {
        self.saved = self.saved.max(generation);
    }

    /// It leads.
    fn voted_for_itself(&mut self, turn: &mut Turn<'_>, epoch: Generation) {
        self.vote_is_saved(epoch);
        let Some(bid) = self.bid.take_if(|bid| bid.epoch == epoch) else { return };
        // A claim is of one epoch; that of an older one is its own.
        self.step_down(turn, Ending::Revoked);
        let until = bid.sent + self.session;
        if until <= turn.now {
            return;
        }
        self.newest = Some((epoch, turn.config.me));
        (self.left, self.follows) = (false, false);
        let mut heard = Answers::default();
        bid.yes.iter().for_each(|peer| heard.note(*peer, bid.sent));
        let (next, sent) = (turn.now, bid.sent);
        self.lead = Some(Lead { epoch, next, sent, heard, until, asks: None });
        self.claims = self.claims.next();
        claims::begin(self, turn);
        self.commit(turn);
    }

    fn resign(&mut self, turn: &mut Turn<'_>) {
        if let Some(epoch) = self.lead.as_ref().map(|lead| lead.epoch) {
            self.step_down(turn, Ending::Left);
            turn.broadcast(self.says(epoch, Kind::Left));
        }
    }
}

impl Instance {
    fn stand(&mut self, turn: &mut Turn<'_>) {
        let (now, step) = (turn.now, turn.config.step());
        let epoch = self.seen.max(self.ballot.generation).next();
        self.follows = false;
        let (yes, again) = (BTreeSet::new(), now + step * 2);
        let closes = now + (self.session / 2).max(step * 4);
        self.bid = Some(Bid { epoch, sent: now, yes, own: false, again, closes });
        turn.broadcast(self.says(epoch, Kind::NewLeader));
    }

    /// Whether it has acknowledged no other in this epoch, nor goes before it itself.
    fn may_acknowledge(&self, turn: &Turn<'_>, from: Peer, epoch: Generation) -> bool {
        let Ballot { generation, vote } = self.ballot;
        let id = |peer| order::id(turn.config, self.partition, peer);
        let goes_before =
            |bid: &Bid| bid.own || (bid.epoch, id(turn.config.me)) > (epoch, id(from));
        let other = epoch < generation || (epoch == generation && vote != Some(from));
        let led = self.newest.is_some_and(|(newest, _)| epoch <= newest);
        !other && !led && !self.bid.as_ref().is_some_and(goes_before)
    }

    fn acknowledge(&mut self, turn: &mut Turn<'_>, from: Peer, epoch: Generation) {
        self.bid = None;
        self.seen = self.seen.max(epoch);
        // It has the time for a round.
        self.idle = self.idle.max(turn.now + turn.config.step() * 4);
        self.others_go_on(turn, epoch);
        let (ballot, ack) =
            (Ballot { generation: epoch, vote: Some(from) }, self.says(epoch, Kind::Ack));
        if self.ballot != ballot {
            self.ballot = ballot;
            turn.out.changed = true;
            turn.out.held.push(Held::Vote(from, ack));
        } else if self.saved >= epoch {
            turn.out.send(from, ack);
        }
        // Else its first answer waits for the disk.
    }

    fn acknowledged(&mut self, turn: &mut Turn<'_>, from: Peer, epoch: Generation) {
        let Some(bid) = self.bid.as_mut().filter(|bid| bid.epoch == epoch) else { return };
        bid.yes.insert(from);
        if bid.yes.len() + 1 >= turn.config.majority() && !bid.own {
            bid.own = true;
            self.ballot = Ballot { generation: epoch, vote: Some(turn.config.me) };
            turn.out.changed = true;
            turn.out.held.push(Held::Own(self.partition, epoch));
        }
    }

    /// It runs, and says so.
    fn commit(&mut self, turn: &mut Turn<'_>) {
        let Some(lead) = &mut self.lead else { return };
        (lead.next, lead.sent) = (turn.now + turn.config.heartbeat, turn.now);
        let epoch = lead.epoch;
        turn.broadcast(self.says(epoch, Kind::Commit(turn.now)));
    }

    /// Whether nothing newer is known than this epoch.
    fn is_newest(&self, epoch: Generation) -> bool {
        self.ballot.generation <= epoch && self.newest.is_none_or(|(newest, _)| newest <= epoch)
    }

    /// This one leads, in an epoch not older than any of which it knows.
    fn follow(&mut self, turn: &mut Turn<'_>, (epoch, leader): (Generation, Peer)) {
        self.step_down(turn, Ending::Revoked);
        self.bid = None;
        self.seen = self.seen.max(epoch);
        self.newest = Some((epoch, leader));
        (self.left, self.follows) = (false, true);
        (self.heard, self.idle) = (turn.now, turn.now);
    }

    fn refuse(&self, turn: &mut Turn<'_>, from: Peer, epoch: Generation) {
        let newest = self.newest.filter(|(newest, _)| epoch <= *newest);
        let known = newest.filter(|(newest, _)| self.ballot.generation <= *newest);
        let epoch = known.map_or(self.ballot.generation, |(newest, _)| newest);
        let leader = known.map(|(_, leader)| leader).filter(|leader| *leader != from);
        turn.out.send(from, self.says(epoch, Kind::Refused(leader)));
    }

    fn refused(&mut self, turn: &mut Turn<'_>, epoch: Generation, leader: Option<Peer>) {
        self.seen = self.seen.max(epoch);
        let known = leader.filter(|leader| *leader != turn.config.me && self.is_newest(epoch));
        if let Some(leader) = known.filter(|_| self.newest.is_none_or(|it| it.0 < epoch)) {
            return self.follow(turn, (epoch, leader));
        }
        self.others_go_on(turn, epoch);
        if let Some(bid) = self.bid.as_mut().filter(|bid| bid.epoch <= epoch) {
            bid.again = bid.again.min(turn.now + turn.config.step());
        }
    }

    /// Others are in a newer epoch: if none leads in it soon, a leader asks for one that is newer.
    fn others_go_on(&mut self, turn: &Turn<'_>, epoch: Generation) {
        if let Some(lead) = self.lead.as_mut().filter(|lead| lead.epoch < epoch) {
            lead.asks.get_or_insert(turn.now + turn.config.heartbeat);
        }
    }

    /// Ends its claim.
    fn step_down(&mut self, turn: &mut Turn<'_>, why: Ending) {
        if claims::end(self, turn, turn.now, why) {
            self.lead = None;
            self.heard = turn.now;
        }
    }

    fn says(&self, epoch: Generation, kind: Kind) -> Message {
        Message { partition: self.partition, generation: epoch, kind }
    }
}
