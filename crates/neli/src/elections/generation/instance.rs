//! The election of one partition at one member.
//!
//! ```text
//!              time-out            polled, then voted for
//!   follower ------------> candidate ------------------> leader
//!      ^                      |                             |
//!      +----------------------+-----------------------------+
//!        a heartbeat, a newer generation, a lease that is over
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Ballot, Config, Generation, Kind, Message, Peer};
use crate::elections::among::{self, Answers, Elects, Held, Means, Steps, claims, lease, order};
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// How far a candidate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It asks whether the others would vote for it in the next generation.
    Polls,
    /// It asks for their votes in its generation.
    Asks,
}

#[derive(Debug, Clone)]
enum State {
    Follower {
        /// The leader of its generation, if it has heard it.
        leader: Option<Peer>,
        /// When it stands.
        stands: Mono,
    },
    Candidate {
        phase: Phase,
        /// Who is for it; itself in the second phase only once its own vote is on the disk.
        yes: BTreeSet<Peer>,
        /// When it begins anew.
        again: Mono,
    },
    Leader {
        /// When it sends its next heartbeat, and when it sent the last.
        next: Mono,
        sent: Mono,
        /// When it sent the newest heartbeat that each other has answered.
        heard: Answers,
        /// When its lease is over; of one that claims nothing yet, when it gives up.
        until: Mono,
        claims: bool,
    },
}

/// What the election is handed.
type Turn<'a> = among::Turn<'a, Kind>;

/// The election of one partition.
#[derive(Debug, Clone)]
pub struct Instance {
    partition: PartitionId,
    ballot: Ballot,
    state: State,
    /// It gives no vote and does not stand before this: it has answered a heartbeat.
    promised: Mono,
    /// Nor before this: it has started again, and may have answered one of any generation.
    silent: Mono,
    /// Whether the leader of its generation has resigned.
    resigned: bool,
    /// Who led last, as far as it knows.
    former: Option<Peer>,
    /// The number of claims so far.
    term: Term,
    draws: u64,
}

impl Elects for Instance {
    type Word = Kind;
    const VOTES: bool = true;
    const EXCLUSIVE: bool = true;
    const BY: &'static str = "votes";
    const ENDS: &'static str = "after the last heartbeat that a majority answered";

    /// The first that is alive adds a little at random, and asks once more where another has heard
    /// the last heartbeat later. Then come a poll and a vote, which two members write to their
    /// disks one after the other; before them, the word of a leader that resigns; after them the
    /// first heartbeat and its answer.
    fn steps(means: &Means) -> Steps {
        Steps {
            stands: means.wake + means.step() / 2 + means.step() + means.order(),
            elected: 2 * means.save + 3 * means.rtt,
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
            state: State::Follower { leader: None, stands: now },
            promised: now,
            silent,
            resigned: false,
            former: None,
            term: Term(0),
            draws: 0,
        };
        let stands = now + config.session + new.stagger(config);
        new.state = State::Follower { leader: None, stands };
        new
    }

    fn ballot(&self) -> Ballot {
        self.ballot
    }

    fn fence(&self) -> Option<Generation> {
        Some(self.ballot.generation)
    }

    fn is_led(&self) -> bool {
        match &self.state {
            State::Follower { leader, .. } => leader.is_some(),
            State::Candidate { .. } => false,
            State::Leader { claims, .. } => *claims,
        }
    }

    fn due(&self) -> Mono {
        match &self.state {
            State::Follower { stands, .. } => (*stands).max(self.promised).max(self.silent),
            State::Candidate { again, .. } => *again,
            State::Leader { next, until, .. } => *next.min(until),
        }
    }

    fn claim(&self) -> Option<Horizon> {
        match self.state {
            State::Leader { until, claims: true, .. } => {
                Some(Horizon { partition: self.partition, term: self.term, until })
            }
            State::Leader { .. } | State::Follower { .. } | State::Candidate { .. } => None,
        }
    }

    fn expire(&mut self, turn: &mut Turn<'_>) {
        if let State::Leader { until, .. } = self.state
            && until <= turn.now
        {
            self.step_down(turn, until, Ending::Unproven);
        }
    }

    fn advance(&mut self, turn: &mut Turn<'_>) {
        let due = self.due() <= turn.now;
        match &mut self.state {
            State::Follower { .. } | State::Candidate { .. } if due => self.poll(turn),
            State::Leader { next, sent, .. } if *next <= turn.now => {
                (*next, *sent) = (turn.now + turn.config.heartbeat, turn.now);
                self.broadcast(turn, Kind::Heartbeat(turn.now));
            }
            State::Follower { .. } | State::Candidate { .. } | State::Leader { .. } => {}
        }
    }

    fn hear(&mut self, turn: &mut Turn<'_>, from: Peer, message: Message) {
        let own = self.ballot.generation;
        let Message { generation, kind, .. } = message;
        let bound = turn.now < self.promised.max(self.silent) || self.claim().is_some();
        match kind {
            Kind::Refused => self.refused(turn, generation),
            Kind::Favoured => self.favoured(turn, from, generation),
            Kind::Vote => self.voted(turn, from, generation),
            Kind::Heard(at) => self.heard(turn, from, generation, at),
            Kind::Resigned if generation < own => {}
            Kind::Resigned => self.is_free(turn, generation),
            Kind::Poll | Kind::Ask | Kind::Heartbeat(_) if generation < own => {
                self.answer(turn, from, Kind::Refused);
            }
            Kind::Poll if bound || generation == own => self.answer(turn, from, Kind::Refused),
            Kind::Poll => {
                self.give_time(turn);
                let (partition, kind) = (self.partition, Kind::Favoured);
                turn.out.send(from, Message { partition, generation, kind });
            }
            Kind::Ask if bound => self.answer(turn, from, Kind::Refused),
            Kind::Ask => self.asked(turn, from, generation),
            Kind::Heartbeat(at) => {
                self.follow(turn, from, generation);
                self.answer(turn, from, Kind::Heard(at));
            }
        }
    }

    /// It asks for the others' votes.
    fn voted_for_itself(&mut self, turn: &mut Turn<'_>, generation: Generation) {
        if generation == self.ballot.generation
            && let State::Candidate { phase: Phase::Asks, yes, .. } = &mut self.state
        {
            yes.insert(turn.config.me);
            self.broadcast(turn, Kind::Ask);
        }
    }

    fn resign(&mut self, turn: &mut Turn<'_>) {
        let leads = matches!(self.state, State::Leader { .. });
        self.step_down(turn, turn.now, Ending::Left);
        if leads {
            self.broadcast(turn, Kind::Resigned);
        }
    }
}

impl Instance {
    /// Asks whether the others would vote for it.
    fn poll(&mut self, turn: &mut Turn<'_>) {
        let wait = turn.config.step() * 2 + self.stagger(turn.config);
        let yes = BTreeSet::from([turn.config.me]);
        self.state = State::Candidate { phase: Phase::Polls, yes, again: turn.now + wait };
        if self.resigned {
            // Not all may know, and they would refuse.
            self.broadcast(turn, Kind::Resigned);
        }
        let next = self.ballot.generation.next();
        turn.broadcast(Message { partition: self.partition, generation: next, kind: Kind::Poll });
    }

    fn favoured(&mut self, turn: &mut Turn<'_>, from: Peer, generation: Generation) {
        let State::Candidate { phase: Phase::Polls, yes, .. } = &mut self.state else { return };
        if generation != self.ballot.generation.next() {
            return;
        }
        yes.insert(from);
        if yes.len() < turn.config.majority() {
            return;
        }
        let again = turn.now + turn.config.step() * 2 + self.stagger(turn.config);
        self.adopt(turn, Ballot { generation, vote: Some(turn.config.me) });
        turn.out.held.push(Held::Own(self.partition, generation));
        self.state = State::Candidate { phase: Phase::Asks, yes: BTreeSet::new(), again };
    }

    /// Another one wants its vote, which no promise forbids.
    fn asked(&mut self, turn: &mut Turn<'_>, from: Peer, generation: Generation) {
        if generation == self.ballot.generation && self.ballot.vote.is_some_and(|it| it != from) {
            return self.answer(turn, from, Kind::Refused);
        }
        if generation > self.ballot.generation {
            self.step_down(turn, turn.now, Ending::Revoked);
        }
        self.give_time(turn);
        self.adopt(turn, Ballot { generation, vote: Some(from) });
        let partition = self.partition;
        turn.out.held.push(Held::Vote(from, Message { partition, generation, kind: Kind::Vote }));
    }

    fn voted(&mut self, turn: &mut Turn<'_>, from: Peer, generation: Generation) {
        let State::Candidate { phase: Phase::Asks, yes, .. } = &mut self.state else { return };
        if generation != self.ballot.generation {
            return;
        }
        yes.insert(from);
        if yes.len() < turn.config.majority() {
            return;
        }
        self.former = Some(turn.config.me);
        // Its first heartbeats are due at once. If no majority answers, it gives up.
        let (heard, until) = (Answers::default(), turn.now + turn.config.session);
        self.state = State::Leader { next: turn.now, sent: turn.now, heard, until, claims: false };
    }

    /// The leader of this generation, not older than its own, is `from`.
    fn follow(&mut self, turn: &mut Turn<'_>, from: Peer, generation: Generation) {
        self.catch_up(turn, generation);
        self.former = Some(from);
        self.resigned = false;
        self.promised = self.promised.max(turn.now + turn.config.session);
        let stands = turn.now + turn.config.session + self.stagger(turn.config);
        self.state = State::Follower { leader: Some(from), stands };
    }

    /// A majority has heard its heartbeats: the lease counts from the newest that all of it have.
    fn heard(&mut self, turn: &mut Turn<'_>, from: Peer, generation: Generation, at: Mono) {
        let State::Leader { sent, heard, until, claims, .. } = &mut self.state else { return };
        if generation != self.ballot.generation || at > *sent {
            return;
        }
        heard.note(from, at);
        let counted = heard.of_majority(turn.config, *sent);
        let Some(proved) = counted.map(|at| at + lease(turn.config.session)) else { return };
        if *claims {
            *until = (*until).max(proved);
        } else if proved > turn.now {
            (*until, *claims) = (proved, true);
            self.term = self.term.next();
            let claim = Horizon { partition: self.partition, term: self.term, until: proved };
            turn.out.acquired(claim, turn.now);
        }
    }

    /// Another one refuses, for it is in this generation.
    fn refused(&mut self, turn: &mut Turn<'_>, generation: Generation) {
        if !self.catch_up(turn, generation)
            && let State::Candidate { phase: Phase::Polls, again, .. } = &mut self.state
        {
            // A promise may end a moment after its own.
            *again = (*again).min(turn.now + turn.config.step());
        }
    }

    /// The leader of this generation, not older than its own, has resigned: the first in order
    /// stands at once.
    fn is_free(&mut self, turn: &mut Turn<'_>, generation: Generation) {
        self.catch_up(turn, generation);
        if self.resigned {
            return;
        }
        if let State::Follower { .. } = self.state {
            (self.promised, self.resigned) = (turn.now, true);
            let rank = self.rank(turn.config);
            let wait = if rank == 0 { Duration::ZERO } else { self.stagger(turn.config) };
            self.state = State::Follower { leader: None, stands: turn.now + wait };
        }
    }

    /// Enters this generation if it is newer, as a follower. Returns whether it is.
    fn catch_up(&mut self, turn: &mut Turn<'_>, generation: Generation) -> bool {
        let newer = generation > self.ballot.generation;
        if newer {
            self.step_down(turn, turn.now, Ending::Revoked);
            self.adopt(turn, Ballot { generation, vote: None });
        }
        newer
    }

    /// Becomes a follower without a leader. A claim ends at `at`.
    fn step_down(&mut self, turn: &mut Turn<'_>, at: Mono, why: Ending) {
        claims::end(self, turn, at, why);
        let stands = turn.now + turn.config.step() + self.stagger(turn.config);
        self.state = State::Follower { leader: None, stands };
    }

    /// A candidate is at work: it has the time for two rounds.
    fn give_time(&mut self, turn: &mut Turn<'_>) {
        let least = turn.now + turn.config.step() * 2;
        match &mut self.state {
            State::Follower { stands, .. } => *stands = (*stands).max(least),
            State::Candidate { .. } | State::Leader { .. } => {}
        }
    }

    fn adopt(&mut self, turn: &mut Turn<'_>, ballot: Ballot) {
        if ballot.generation > self.ballot.generation {
            // A promise is made to a leader, and outlives its generation; a resignation does not.
            self.resigned = false;
        }
        self.ballot = ballot;
        turn.out.changed = true;
    }

    fn says(&self, kind: Kind) -> Message {
        Message { partition: self.partition, generation: self.ballot.generation, kind }
    }

    fn answer(&self, turn: &mut Turn<'_>, to: Peer, kind: Kind) {
        turn.out.send(to, self.says(kind));
    }

    fn broadcast(&self, turn: &mut Turn<'_>, kind: Kind) {
        turn.broadcast(self.says(kind));
    }

    fn rank(&self, config: &Config) -> u32 {
        order::rank(config, self.partition, self.former)
    }

    fn stagger(&mut self, config: &Config) -> Duration {
        self.draws = self.draws.wrapping_add(1);
        order::stagger(config, self.partition, self.rank(config), self.draws)
    }
}
