//! The bully election (Garcia-Molina, 1982): of the members that live, the one with the greatest id
//! leads. Ids differ from partition to partition, so that the roles are spread.
//!
//! - A member that hears nothing of its leader for a session holds an election: it asks all with
//!   greater ids. If none answers within a heartbeat, it leads, and lets all know.
//! - One that is asked by a lesser one answers, and holds an election of its own, unless it does.
//! - A member that comes back, and finds that a lesser one leads, holds an election, and takes
//!   over.
//! - The leader lets all know each heartbeat. One with a lesser id that hears it follows.
//!
//! Corrected: the text assumes that whoever answers goes on to lead. One that dies meanwhile would
//! leave all others waiting, so they hold another election two heartbeats later. And it assumes
//! that a member that does not run is noticed by itself: here a leader that has not run for a
//! session claims nothing any more, and holds an election.
//!
//! It promises less than a vote. Members that do not reach each other elect one leader on each
//! side, which lead on until they do; there is no number that would tell the later one, so there is
//! no fence. A leader that returns leads a moment before the lesser one hears of it.

use std::time::Duration;

use super::among::{self, Ballot, Elects, Generation, Means, Steps, claims, order, plain_words};
pub use super::among::{Config, Peer};
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// A member that elects so.
pub type Member = among::Member<Instance>;
/// A message about one partition.
pub type Message = among::Message<Kind>;
type Turn<'a> = among::Turn<'a, Kind>;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// I hold an election, and my id is less than yours.
    Election,
    /// I live, and my id is greater than yours.
    Answer,
    /// I lead.
    Coordinator,
    /// I led, and lead no more, for I leave.
    Resigned,
}
plain_words!(Kind: Election, Answer, Coordinator, Resigned);

#[derive(Debug, Clone, Copy)]
enum State {
    /// It knows of no leader, and holds an election at `until`.
    Waits { until: Mono },
    /// It has asked those with greater ids.
    Elects { answered: bool, until: Mono },
    /// It has heard the leader, whose id is greater, at `heard`.
    Follows { leader: Peer, heard: Mono },
    /// It says so at `next`, and claims until `until`.
    Leads { next: Mono, until: Mono },
}

/// The election of one partition.
#[derive(Debug, Clone)]
pub struct Instance {
    partition: PartitionId,
    state: State,
    /// The length of a session, and the number of claims so far.
    session: Duration,
    claims: Term,
}

impl Elects for Instance {
    type Word = Kind;
    const VOTES: bool = false;
    const EXCLUSIVE: bool = false;
    const BY: &'static str = "their ids";
    const ENDS: &'static str = "after its member last ran, or at the word of a greater one";

    /// All hold an election when their time is over. The greatest that lives leads a heartbeat
    /// later, or at once if it knows that the others are gone.
    fn steps(means: &Means) -> Steps {
        Steps {
            stands: means.wake,
            elected: means.heartbeat + means.wake + means.rtt,
            leads: means.wake + means.rtt,
        }
    }

    /// It listens for a session.
    fn begin(now: Mono, _: Mono, config: &Config, partition: PartitionId, _: Ballot) -> Self {
        let session = config.session;
        let state = State::Waits { until: now + session };
        Self { partition, state, session, claims: Term(0) }
    }

    fn is_led(&self) -> bool {
        match self.state {
            State::Follows { .. } | State::Leads { .. } => true,
            State::Waits { .. } | State::Elects { .. } => false,
        }
    }

    fn due(&self) -> Mono {
        match self.state {
            State::Waits { until } | State::Elects { until, .. } => until,
            State::Follows { heard, .. } => heard + self.session,
            State::Leads { next, until } => next.min(until),
        }
    }

    fn claim(&self) -> Option<Horizon> {
        let State::Leads { until, .. } = self.state else { return None };
        Some(Horizon { partition: self.partition, term: self.claims, until })
    }

    fn expire(&mut self, turn: &mut Turn<'_>) {
        if claims::lapse(self, turn) {
            self.state = State::Waits { until: turn.now };
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) {
        if turn.now < self.due() {
            return;
        }
        match self.state {
            State::Elects { answered: false, .. } => self.lead(turn),
            State::Waits { .. } | State::Follows { .. } | State::Elects { .. } => {
                self.hold_election(turn, None);
            }
            State::Leads { .. } => self.say_so(turn),
        }
    }

    fn hear(&mut self, turn: &mut Turn<'_>, from: Peer, message: Message) {
        let greater = self.id(turn, from) > self.id(turn, turn.config.me);
        match message.kind {
            // It asks upwards alone.
            Kind::Election if greater => {}
            Kind::Election => self.answer(turn, from),
            Kind::Answer if greater => {
                if let State::Elects { answered, until } = &mut self.state {
                    (*answered, *until) = (true, turn.now + turn.config.heartbeat * 2);
                }
            }
            Kind::Coordinator if greater => {
                self.step_down(turn, Ending::Revoked);
                self.state = State::Follows { leader: from, heard: turn.now };
            }
            Kind::Coordinator => match self.state {
                State::Leads { .. } => turn.out.send(from, self.says(Kind::Coordinator)),
                State::Waits { .. } => self.hold_election(turn, None),
                // Its own leader, or its own election, is greater.
                State::Follows { .. } | State::Elects { .. } => {}
            },
            Kind::Resigned => match self.state {
                State::Follows { leader, .. } if leader == from => {
                    self.hold_election(turn, Some(from));
                }
                State::Follows { .. }
                | State::Waits { .. }
                | State::Elects { .. }
                | State::Leads { .. } => {}
            },
            Kind::Answer => {}
        }
    }

    fn resign(&mut self, turn: &mut Turn<'_>) {
        if self.claim().is_some() {
            self.step_down(turn, Ending::Left);
            turn.broadcast(self.says(Kind::Resigned));
        }
    }
}

impl Instance {
    fn id(&self, turn: &Turn<'_>, peer: Peer) -> u32 {
        order::id(turn.config, self.partition, peer)
    }

    /// Asks all with greater ids, but not the one that is `gone`.
    fn hold_election(&mut self, turn: &mut Turn<'_>, gone: Option<Peer>) {
        let own = self.id(turn, turn.config.me);
        let greater = |peer: &Peer| self.id(turn, *peer) > own && Some(*peer) != gone;
        let greater: Vec<Peer> = turn.config.others().filter(greater).collect();
        if greater.is_empty() {
            return self.lead(turn);
        }
        for peer in greater {
            turn.out.send(peer, self.says(Kind::Election));
        }
        let until = turn.now + turn.config.heartbeat;
        self.state = State::Elects { answered: false, until };
    }

    /// A lesser one holds an election.
    fn answer(&mut self, turn: &mut Turn<'_>, from: Peer) {
        turn.out.send(from, self.says(Kind::Answer));
        match self.state {
            State::Leads { .. } => turn.out.send(from, self.says(Kind::Coordinator)),
            State::Waits { .. } | State::Follows { .. } => self.hold_election(turn, None),
            State::Elects { .. } => {}
        }
    }

    fn lead(&mut self, turn: &mut Turn<'_>) {
        self.claims = self.claims.next();
        self.say_so(turn);
        claims::begin(self, turn);
    }

    /// It runs, so it claims for a session more.
    fn say_so(&mut self, turn: &mut Turn<'_>) {
        let (next, until) = (turn.now + turn.config.heartbeat, turn.now + self.session);
        self.state = State::Leads { next, until };
        turn.broadcast(self.says(Kind::Coordinator));
    }

    /// Ends its claim.
    fn step_down(&mut self, turn: &mut Turn<'_>, why: Ending) {
        if claims::end(self, turn, turn.now, why) {
            self.state = State::Waits { until: turn.now + self.session };
        }
    }

    fn says(&self, kind: Kind) -> Message {
        Message { partition: self.partition, generation: Generation::default(), kind }
    }
}
