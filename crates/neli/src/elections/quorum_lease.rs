//! Election by a lease that a majority of voters grants, as in Chubby: the vote is the lease.
//!
//! Each partition elects by itself. A candidate asks for votes in a term of its own. A vote is on
//! the voter's disk before it is given, a voter gives one in a term, and with it a lease. A holder
//! asks again each heartbeat, in the same term: the vote stands, and the lease begins anew.
//!
//! Two never lead a partition at once, by five rules:
//!
//! - A holder claims until the session less [`RATE`] after the instant *before it sent* the newest
//!   request that a majority has granted.
//! - A voter that granted refuses all others for a session from its receipt, unless the holder
//!   releases it. Each later holder needs the vote of one of the majority.
//! - A voter that has forgotten whom it granted, because it has started again, is silent for a
//!   session.
//! - A request in an older term is refused, so a majority that has gone on renews no lease.
//! - A holder whose lease is over is in *jeopardy*: it claims nothing, and asks on for a grace of a
//!   session. If a majority grants it, it claims again, in the same term: none came between.
//!
//! The candidate's own vote is its last: so one that is cut off advances no term, and until then
//! it renews the lease that it granted before. One that stands because it was stopped for a while
//! takes no vote from a holder that may need it. A holder that is refused for a newer term, of a
//! candidate that failed, asks for one that is newer still, and leads on meanwhile.

mod kind;

use std::time::Duration;

use super::among::{self, Answers, Elects, Held, Means, Steps, claims, order};
pub use super::among::{Ballot, Config, Generation, Peer, RATE, Votes};
pub use kind::Kind;
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// A member that elects so.
pub type Voter = among::Member<Instance>;
/// A message about one partition, in a term.
pub type Message = among::Message<Kind>;
type Turn<'a> = among::Turn<'a, Kind>;

/// What a candidate asks for.
#[derive(Debug, Clone)]
struct Bid {
    term: Generation,
    /// When it asked last, and when it sent what each other has granted.
    sent: Mono,
    yes: Answers,
    /// Whether its own vote, the last, is on its way to the disk.
    own: bool,
    /// When it asks again, and when it gives up.
    again: Mono,
    closes: Mono,
}

/// What a holder has.
#[derive(Debug, Clone)]
struct Lease {
    term: Generation,
    next: Mono,
    sent: Mono,
    /// When it sent the newest request that each other has granted.
    heard: Answers,
    until: Mono,
    /// Whether it claims; if not it is in jeopardy, until `grace`.
    claims: bool,
    grace: Mono,
}

/// The election of one partition.
#[derive(Debug, Clone)]
pub struct Instance {
    partition: PartitionId,
    ballot: Ballot,
    /// The term of the newest vote that is on the disk.
    saved: Generation,
    /// The newest term of which it knows.
    seen: Generation,
    /// Who has its vote, and until when it refuses others.
    bound: Option<(Peer, Mono)>,
    silent: Mono,
    /// When it asks for the lease.
    stands: Mono,
    bid: Option<Bid>,
    lease: Option<Lease>,
    /// Who led last, as far as it knows.
    former: Option<Peer>,
    /// The number of claims so far.
    claims: Term,
    draws: u64,
}

impl Elects for Instance {
    type Word = Kind;
    const VOTES: bool = true;
    const EXCLUSIVE: bool = true;
    const BY: &'static str = "leases of a majority";
    const ENDS: &'static str = "after the last request that a majority granted";

    /// The first that is alive adds a little at random. It asks once more where another is bound
    /// for a moment longer, or has not heard yet that the holder releases it. A vote and the
    /// candidate's own reach their disks one after the other; with the own it leads.
    fn steps(means: &Means) -> Steps {
        Steps {
            stands: means.wake + means.step() / 2 + means.order(),
            elected: means.step() + means.rtt + 2 * means.save,
            leads: means.rtt,
        }
    }

    fn begin(
        now: Mono,
        silent: Mono,
        config: &Config,
        partition: PartitionId,
        ballot: Ballot,
    ) -> Self {
        let mut new = Self {
            partition,
            ballot,
            saved: ballot.generation,
            seen: ballot.generation,
            bound: None,
            silent,
            stands: now,
            bid: None,
            lease: None,
            former: None,
            claims: Term(0),
            draws: 0,
        };
        new.stands = now + config.session + new.stagger(config);
        new
    }

    fn ballot(&self) -> Ballot {
        self.ballot
    }

    fn fence(&self) -> Option<Generation> {
        self.lease.as_ref().map(|lease| lease.term)
    }

    fn is_led(&self) -> bool {
        self.bound.is_some() || self.claim().is_some()
    }

    fn due(&self) -> Mono {
        let over = |it: &Lease| if it.claims { it.until } else { it.grace };
        let lease = self.lease.as_ref().map(|it| it.next.min(over(it)));
        let bid = self.bid.as_ref().filter(|bid| !bid.own).map(|bid| bid.again.min(bid.closes));
        let idle = self.lease.is_none() && self.bid.is_none();
        let stands = idle.then(|| self.stands.max(self.silent).max(self.free()));
        lease.into_iter().chain(bid).chain(stands).min().unwrap_or(Mono(u64::MAX))
    }

    fn claim(&self) -> Option<Horizon> {
        let Lease { until, .. } = self.lease.as_ref().filter(|lease| lease.claims)?;
        Some(Horizon { partition: self.partition, term: self.claims, until: *until })
    }

    fn expire(&mut self, turn: &mut Turn<'_>) {
        if claims::lapse(self, turn)
            && let Some(lease) = &mut self.lease
        {
            (lease.claims, lease.grace) = (false, lease.until + turn.config.session);
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now;
        if self.lease.as_ref().is_some_and(|lease| !lease.claims && lease.grace <= now) {
            self.lose(turn);
        }
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.next <= now) {
            (lease.next, lease.sent) = (now + turn.config.heartbeat, now);
            let term = lease.term;
            turn.broadcast(self.says(term, Kind::Ask(now)));
        }
        if self.bid.is_none() && self.lease.is_none() && self.due() <= now {
            return self.stand(turn);
        }
        match self.bid.as_mut().filter(|bid| !bid.own) {
            Some(bid) if bid.closes <= now => {
                self.give_up(turn);
                self.stands = now + self.stagger(turn.config);
            }
            Some(bid) if bid.again <= now => {
                (bid.again, bid.sent) = (now + turn.config.step() * 2, now);
                let term = bid.term;
                turn.broadcast(self.says(term, Kind::Ask(now)));
            }
            Some(_) | None => {}
        }
    }

    fn hear(&mut self, turn: &mut Turn<'_>, from: Peer, message: Message) {
        let term = message.generation;
        match message.kind {
            Kind::Ask(at) if self.may_grant(turn, from, term) => self.grant(turn, from, term, at),
            Kind::Ask(_) => {
                self.seen = self.seen.max(term);
                turn.out.send(from, self.says(self.ballot.generation, Kind::Refused));
            }
            Kind::Granted(at) => self.granted(turn, from, term, at),
            Kind::Refused => self.refused(turn, term),
            Kind::Released => self.released(turn, from, term),
        }
    }

    fn vote_is_saved(&mut self, generation: Generation) {
        self.saved = self.saved.max(generation);
    }

    /// It holds the lease.
    fn voted_for_itself(&mut self, turn: &mut Turn<'_>, generation: Generation) {
        self.vote_is_saved(generation);
        let Some(bid) = self.bid.take_if(|bid| bid.term == generation) else { return };
        if let Some(claim) = self.claim() {
            // It was its own in the older term; the fence is another one now.
            turn.out.ended(Horizon { until: turn.now, ..claim }, Ending::Revoked);
        }
        let Bid { term, sent, yes: heard, .. } = bid;
        let (next, until) = (sent + turn.config.heartbeat, turn.now);
        let grace = turn.now + turn.config.session;
        self.lease = Some(Lease { term, next, sent, heard, until, claims: false, grace });
        (self.bound, self.former) = (None, Some(turn.config.me));
        self.count(turn);
    }

    fn resign(&mut self, turn: &mut Turn<'_>) {
        self.give_up(turn);
        if let Some(claim) = self.claim() {
            turn.out.ended(Horizon { until: turn.now, ..claim }, Ending::Left);
        }
        if let Some(lease) = self.lease.take() {
            turn.broadcast(self.says(lease.term, Kind::Released));
        }
    }
}

impl Instance {
    /// When no lease that it has granted binds it any longer.
    fn free(&self) -> Mono {
        self.bound.map_or(Mono::ZERO, |(_, until)| until)
    }

    fn stand(&mut self, turn: &mut Turn<'_>) {
        self.bound = None;
        let (now, step) = (turn.now, turn.config.step());
        let term = self.seen.max(self.ballot.generation).next();
        self.seen = term;
        // A vote takes its time on a disk.
        let closes = now + (turn.config.session / 2).max(step * 4);
        let (yes, again) = (Answers::default(), now + step * 2);
        self.bid = Some(Bid { term, sent: now, yes, own: false, again, closes });
        turn.broadcast(self.says(term, Kind::Ask(now)));
    }

    /// Whether nothing forbids it to vote so.
    fn may_grant(&self, turn: &Turn<'_>, from: Peer, term: Generation) -> bool {
        let Ballot { generation, vote } = self.ballot;
        let id = |peer| order::id(turn.config, self.partition, peer);
        let is_first =
            |bid: &Bid| bid.term > term || (bid.term == term && id(turn.config.me) < id(from));
        let renews = term == generation && vote == Some(from);
        let goes_before = |bid: &Bid| bid.own || (!renews && is_first(bid));
        let bound = self.bound.is_some_and(|(peer, until)| peer != from && turn.now < until);
        let voted = term < generation || (term == generation && vote.is_some_and(|it| it != from));
        let stands = self.bid.as_ref().is_some_and(goes_before);
        !(voted || bound || stands || turn.now < self.silent || self.claim().is_some())
    }

    fn grant(&mut self, turn: &mut Turn<'_>, from: Peer, term: Generation, at: Mono) {
        self.give_up(turn);
        self.lease = None;
        self.seen = self.seen.max(term);
        self.bound = Some((from, turn.now + turn.config.session));
        let ballot = Ballot { generation: term, vote: Some(from) };
        let message = self.says(term, Kind::Granted(at));
        if self.ballot != ballot {
            self.ballot = ballot;
            turn.out.changed = true;
            turn.out.held.push(Held::Vote(from, message));
        } else if self.saved == term {
            self.former = Some(from);
            turn.out.send(from, message);
        }
        // Else its first answer waits for the disk.
        self.stands = turn.now + turn.config.session + self.stagger(turn.config);
    }

    fn granted(&mut self, turn: &mut Turn<'_>, from: Peer, term: Generation, at: Mono) {
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.term == term) {
            if at <= lease.sent {
                lease.heard.note(from, at);
                self.count(turn);
            }
            return;
        }
        let Some(bid) = self.bid.as_mut().filter(|bid| bid.term == term) else { return };
        if at > bid.sent {
            return;
        }
        bid.yes.note(from, at);
        if bid.yes.len() + 1 >= turn.config.majority() && !bid.own {
            bid.own = true;
            self.ballot = Ballot { generation: term, vote: Some(turn.config.me) };
            turn.out.changed = true;
            turn.out.held.push(Held::Own(self.partition, term));
        }
    }

    /// The lease counts from the newest request that a majority has granted.
    fn count(&mut self, turn: &mut Turn<'_>) {
        let Some(lease) = &mut self.lease else { return };
        let counted = lease.heard.of_majority(turn.config, lease.sent);
        let proved = counted.map(|at| at + among::lease(turn.config.session));
        let Some(proved) = proved.filter(|proved| *proved > turn.now) else { return };
        if lease.claims {
            lease.until = lease.until.max(proved);
            return;
        }
        (lease.until, lease.claims) = (proved, true);
        self.claims = self.claims.next();
        claims::begin(self, turn);
    }

    fn refused(&mut self, turn: &mut Turn<'_>, term: Generation) {
        self.seen = self.seen.max(term);
        let newer = self.lease.as_ref().filter(|lease| lease.term < term);
        match newer.map(|lease| lease.claims) {
            Some(true) if self.bid.is_none() => self.stand(turn),
            Some(false) => self.lose(turn),
            Some(true) | None => {}
        }
        if let Some(bid) = self.bid.as_mut().filter(|bid| bid.yes.is_empty()) {
            // It may be free a moment after this one.
            bid.again = bid.again.min(turn.now + turn.config.step());
        }
    }

    /// The one that has its vote does not want it: the first in order stands at once.
    fn released(&mut self, turn: &mut Turn<'_>, from: Peer, term: Generation) {
        let bound = self.bound.is_some_and(|(peer, _)| peer == from);
        if bound && term == self.ballot.generation {
            self.bound = None;
            let first = order::rank(turn.config, self.partition, self.former) == 0;
            let wait = self.stagger(turn.config);
            self.stands = if first { turn.now } else { turn.now + wait };
        }
    }

    /// Its lease is lost to it.
    fn lose(&mut self, turn: &mut Turn<'_>) {
        self.lease = None;
        self.stands = turn.now + turn.config.step() + self.stagger(turn.config);
    }

    /// Ends its bid, and lets the others know.
    fn give_up(&mut self, turn: &mut Turn<'_>) {
        if let Some(bid) = self.bid.take() {
            turn.broadcast(self.says(bid.term, Kind::Released));
        }
    }

    fn says(&self, term: Generation, kind: Kind) -> Message {
        Message { partition: self.partition, generation: term, kind }
    }

    fn stagger(&mut self, config: &Config) -> Duration {
        self.draws = self.draws.wrapping_add(1);
        let rank = order::rank(config, self.partition, self.former);
        order::stagger(config, self.partition, rank, self.draws)
    }
}
