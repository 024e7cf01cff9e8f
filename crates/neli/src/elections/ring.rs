//! The election on a ring (Chang and Roberts, 1979): members pass ids on to the next one in their
//! order, after the last to the first, and the greatest that comes home leads. Ids differ from
//! partition to partition, so that the roles are spread.
//!
//! - A member that hears nothing of its leader for a session holds an election: it sends its id.
//! - It passes a greater id on, replaces a lesser one by its own, but only the first, and drops the
//!   others. So one of several elections that are held at once survives.
//! - One whose own id comes home leads. Each heartbeat the news goes round once, and all follow.
//!
//! Corrected: the text assumes that no member dies. Here each hop is acknowledged. One that does
//! not answer within half a heartbeat is *missed*: the next one after it gets the message as well,
//! until it is heard again. A message never goes past the place of its origin, so that of a dead
//! one does not go round for ever: the last before that place holds an election in a newer *round*,
//! as does a member that has waited in vain. Those of older rounds are dropped, or else a member
//! that has taken part in one would drop the ids of the next.
//!
//! A member that comes back takes nothing from others. Where two lead that have not reached each
//! other, the lesser id gives way to a newer round, and the greater one holds an election in one
//! that is newer still; both lead until it is over. Members that do not reach each other elect a
//! leader on each side, and both sides count their rounds alike: there is no fence.

mod kind;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Duration;

use super::among::{self, Ballot, Elects, Generation, Means, Steps, claims, order};
pub use super::among::{Config, Peer};
pub use kind::Kind;
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// A member that elects so.
pub type Member = among::Member<Instance>;
/// A message about one partition, in a round.
pub type Message = among::Message<Kind>;
type Turn<'a> = among::Turn<'a, Kind>;

/// How far a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To another member.
    On,
    /// Its origin is the only one left.
    Home,
}

/// A message on its next hop.
#[derive(Debug, Clone, Copy)]
struct Hop {
    message: Message,
    origin: Peer,
    to: Peer,
    /// When `to` is missed.
    until: Mono,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// It knows of no leader, and holds an election at `until`.
    Waits { until: Mono },
    /// It has heard of its leader at `heard`.
    Follows { leader: Peer, heard: Mono },
    /// It says so at `next`, and claims until `until`.
    Leads { next: Mono, until: Mono },
}

/// The election of one partition.
#[derive(Debug, Clone)]
pub struct Instance {
    partition: PartitionId,
    state: State,
    /// The newest round of which it knows, and until when it waits for its end; none if it takes no
    /// part.
    round: Generation,
    takes_part: Option<Mono>,
    /// The newest leader of which it knows: its round and its id.
    newest: (Generation, u32),
    /// Who has not answered since it was heard last.
    missed: BTreeSet<Peer>,
    /// An id, and the news of a leader, on their way.
    election: Option<Hop>,
    elected: Option<Hop>,
    /// The length of a session, and the number of claims so far.
    session: Duration,
    claims: Term,
}

impl Elects for Instance {
    type Word = Kind;
    const VOTES: bool = false;
    const EXCLUSIVE: bool = false;
    const TAKES_OVER: bool = false;
    const BY: &'static str = "their ids, which go round a ring";
    const ENDS: &'static str = "after its member last ran, or when another is elected";

    /// The news of a leader reaches the last a round later than the first. An id goes to the
    /// greatest that lives, and then round; each of the dead, as many as a majority outlives,
    /// holds it up once.
    fn steps(means: &Means) -> Steps {
        let (members, dead) = (u32::from(means.members), u32::from(means.members.max(3) - 1) / 2);
        Steps {
            stands: means.wake + means.rtt * members / 2,
            elected: (means.step() + means.wake) * dead + means.rtt * members,
            leads: means.wake + means.rtt,
        }
    }

    /// It listens for a session.
    fn begin(now: Mono, _: Mono, config: &Config, partition: PartitionId, _: Ballot) -> Self {
        Self {
            partition,
            state: State::Waits { until: now + config.session },
            round: Generation::default(),
            takes_part: None,
            newest: (Generation::default(), 0),
            missed: BTreeSet::new(),
            election: None,
            elected: None,
            session: config.session,
            claims: Term(0),
        }
    }

    fn is_led(&self) -> bool {
        match self.state {
            State::Follows { .. } | State::Leads { .. } => true,
            State::Waits { .. } => false,
        }
    }

    fn due(&self) -> Mono {
        let hops = [self.election, self.elected].into_iter().flatten().map(|hop| hop.until);
        let state = match self.state {
            State::Leads { next, until } => Some(next.min(until)),
            // Its round ends before.
            State::Waits { .. } | State::Follows { .. } if self.takes_part.is_some() => None,
            State::Waits { until } => Some(until),
            State::Follows { heard, .. } => Some(heard + self.session),
        };
        hops.chain(self.takes_part).chain(state).min().unwrap_or(Mono(u64::MAX))
    }

    fn claim(&self) -> Option<Horizon> {
        let State::Leads { until, .. } = self.state else { return None };
        Some(Horizon { partition: self.partition, term: self.claims, until })
    }

    /// It has not run for a session: what it has not read yet may say who leads.
    fn expire(&mut self, turn: &mut Turn<'_>) {
        if claims::lapse(self, turn) {
            self.state = State::Waits { until: turn.now + self.session };
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now;
        if let Some(hop) = self.election.take_if(|hop| hop.until <= now) {
            self.miss(turn, hop);
        }
        if let Some(hop) = self.elected.take_if(|hop| hop.until <= now) {
            self.miss(turn, hop);
        }
        self.takes_part.take_if(|until| *until <= now);
        match self.state {
            State::Leads { next, .. } if next <= now => self.say_so(turn),
            State::Waits { .. } | State::Follows { .. } if self.takes_part.is_some() => {}
            State::Waits { until } if until <= now => self.hold_election(turn),
            State::Follows { heard, .. } if heard + self.session <= now => self.hold_election(turn),
            State::Leads { .. } | State::Waits { .. } | State::Follows { .. } => {}
        }
    }

    fn hear(&mut self, turn: &mut Turn<'_>, from: Peer, message: Message) {
        self.missed.remove(&from);
        let round = message.generation;
        match message.kind {
            Kind::Election(stranger) | Kind::Elected(stranger)
                if stranger.0 >= turn.config.members => {}
            Kind::Election(origin) => {
                turn.out.send(from, self.says(round, Kind::TookElection(origin)));
                self.hear_election(turn, origin, message);
            }
            Kind::Elected(origin) => {
                turn.out.send(from, self.says(round, Kind::TookElected(origin)));
                self.hear_elected(turn, origin, message);
            }
            Kind::TookElection(origin) => took(&mut self.election, from, origin, round),
            Kind::TookElected(origin) => took(&mut self.elected, from, origin, round),
            Kind::Left => {
                self.missed.insert(from);
                if matches!(self.state, State::Follows { leader, .. } if leader == from) {
                    self.hold_election(turn);
                }
            }
        }
    }

    /// The ring closes without it.
    fn resign(&mut self, turn: &mut Turn<'_>) {
        self.step_down(turn, Ending::Left);
        turn.broadcast(self.says(self.round, Kind::Left));
    }
}

/// The next one has the message.
fn took(slot: &mut Option<Hop>, from: Peer, origin: Peer, round: Generation) {
    let is_it =
        |hop: &mut Hop| (hop.to, hop.origin, hop.message.generation) == (from, origin, round);
    slot.take_if(is_it);
}

impl Instance {
    fn id(&self, turn: &Turn<'_>, peer: Peer) -> u32 {
        order::id(turn.config, self.partition, peer)
    }

    /// Begins a round.
    fn hold_election(&mut self, turn: &mut Turn<'_>) {
        self.round = self.round.max(self.newest.0).next();
        if self.claim().is_none() {
            self.state = State::Waits { until: turn.now };
        }
        self.send_own(turn);
    }

    /// Sends its own id round.
    fn send_own(&mut self, turn: &mut Turn<'_>) {
        self.take_part(turn);
        let me = turn.config.me;
        if self.pass(turn, me, self.says(self.round, Kind::Election(me))) == Way::Home {
            self.lead(turn);
        }
    }

    /// Each of the dead may hold a round up.
    fn take_part(&mut self, turn: &Turn<'_>) {
        let Config { heartbeat, members, .. } = *turn.config;
        let until = turn.now + heartbeat + turn.config.step() * u32::from(members);
        self.takes_part = Some(until);
    }

    fn hear_election(&mut self, turn: &mut Turn<'_>, origin: Peer, message: Message) {
        let round = message.generation;
        if round < self.round || round <= self.newest.0 {
            return;
        }
        if round > self.round {
            (self.round, self.takes_part) = (round, None);
        }
        let (own, its) = (self.id(turn, turn.config.me), self.id(turn, origin));
        match (its.cmp(&own), self.takes_part) {
            (Ordering::Greater, _) => {
                self.take_part(turn);
                self.pass(turn, origin, message);
            }
            (Ordering::Less, None) => self.send_own(turn),
            (Ordering::Equal, Some(_)) => self.lead(turn),
            // It has sent its own, or a greater one; or this one is of an earlier life.
            (Ordering::Less, Some(_)) | (Ordering::Equal, None) => {}
        }
    }

    fn hear_elected(&mut self, turn: &mut Turn<'_>, origin: Peer, message: Message) {
        let (me, its) = (turn.config.me, (message.generation, self.id(turn, origin)));
        if origin == me || its < self.newest {
            return;
        }
        if self.claim().is_some() && its.1 < self.id(turn, me) {
            self.round = self.round.max(its.0);
            if self.takes_part.is_none() {
                self.hold_election(turn);
            }
            return;
        }
        self.step_down(turn, Ending::Revoked);
        if its.0 >= self.round {
            (self.takes_part, self.election) = (None, None);
        }
        (self.round, self.newest) = (self.round.max(its.0), its);
        self.state = State::Follows { leader: origin, heard: turn.now };
        self.pass(turn, origin, message);
    }

    /// Passes a message on to the next one that is not missed, and to those before it, which may be
    /// back. It ends at its origin.
    fn pass(&mut self, turn: &mut Turn<'_>, origin: Peer, message: Message) -> Way {
        let (me, count) = (turn.config.me, turn.config.members);
        let after = (me.0.saturating_add(1)..count).chain(0..me.0).map(Peer);
        for to in after {
            turn.out.send(to, message);
            if to == origin || !self.missed.contains(&to) {
                let until = turn.now + turn.config.step();
                let hop = Some(Hop { message, origin, to, until });
                match message.kind {
                    Kind::Elected(_) => self.elected = hop,
                    Kind::Election(_) => self.election = hop,
                    Kind::TookElection(_) | Kind::TookElected(_) | Kind::Left => {}
                }
                return Way::On;
            }
        }
        Way::Home
    }

    /// The next one does not answer.
    fn miss(&mut self, turn: &mut Turn<'_>, hop: Hop) {
        let Hop { message, origin, to, .. } = hop;
        self.missed.insert(to);
        let takes_part = self.takes_part.is_some() && message.generation == self.round;
        match message.kind {
            // Of the leader all know.
            Kind::Elected(_) if to == origin => {}
            Kind::Elected(_) => drop(self.pass(turn, origin, message)),
            Kind::Election(_) if !takes_part => {}
            // It would have led: a new round, without it.
            Kind::Election(_) if to == origin => self.hold_election(turn),
            Kind::Election(_) => {
                if self.pass(turn, origin, message) == Way::Home {
                    self.lead(turn);
                }
            }
            Kind::TookElection(_) | Kind::TookElected(_) | Kind::Left => {}
        }
    }

    /// Its own id has come home.
    fn lead(&mut self, turn: &mut Turn<'_>) {
        (self.takes_part, self.election) = (None, None);
        self.newest = (self.round, self.id(turn, turn.config.me));
        if self.claim().is_some() {
            return self.say_so(turn);
        }
        self.claims = self.claims.next();
        self.say_so(turn);
        claims::begin(self, turn);
    }

    /// It runs, so it claims for a session more.
    fn say_so(&mut self, turn: &mut Turn<'_>) {
        let (next, until) = (turn.now + turn.config.heartbeat, turn.now + self.session);
        self.state = State::Leads { next, until };
        let me = turn.config.me;
        self.pass(turn, me, self.says(self.newest.0, Kind::Elected(me)));
    }

    /// Ends its claim.
    fn step_down(&mut self, turn: &mut Turn<'_>, why: Ending) {
        if claims::end(self, turn, turn.now, why) {
            self.state = State::Waits { until: turn.now + self.session };
        }
    }

    fn says(&self, round: Generation, kind: Kind) -> Message {
        Message { partition: self.partition, generation: round, kind }
    }
}
