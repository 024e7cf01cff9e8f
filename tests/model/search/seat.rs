//! One member: both of its cores, what stands between them, and what befalls it.

use tandem_facts::ids::PartitionId;
use tandem_facts::time::{Mono, Wall};
use tandem_neli::membership::{
    GroupEvent, Outgoing, Proof, Refusal, Request, RequestId, Response, TopicPartition,
};
use tandem_neli::{Heard, Membership, Neli, Publishers, Statement};

use super::core::Core;
use super::fingerprint::wall_ms;
use super::setting::{Protocol, Rule, Setting, WIDTH};

/// What came of a request: an answer, or none, for the connection is lost.
pub(super) type Outcome = Option<Response>;

/// How a member's process and network fare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// It has not joined yet.
    Unborn,
    Well,
    Paused,
    Cut,
    NoHeartbeats,
    Deposed,
    /// It is dead, or has left.
    Gone,
    /// It gave up, which it never should.
    Failed,
}

#[derive(Debug, Clone, Hash)]
pub(super) struct Seat {
    pub(super) state: State,
    pub(super) core: Core,
    pub(super) neli: Neli,
    /// Requests that are about to be carried to a broker.
    pub(super) outbox: Vec<Outgoing>,
    /// What it has stated about itself, and no member has heard yet.
    pub(super) said: Vec<Statement>,
    number: u64,
    /// How far its wall clock is behind, in milliseconds.
    behind: i64,
    /// What came while the process was stopped.
    inbox: Vec<(RequestId, Outcome)>,
    rule: Rule,
    protocol: Protocol,
    publishers: Publishers,
    /// Requests that a mistaken rule counts once they are answered.
    counted: Vec<(RequestId, Sign, Mono)>,
    beaten: Option<Mono>,
    committed: Option<Mono>,
    /// The last proof that it had.
    last: Option<Mono>,
    /// What the generation before assigned.
    before: Vec<PartitionId>,
    /// What its last heartbeat of the newer protocol named, where a mistaken rule names less.
    named: Option<Vec<TopicPartition>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sign {
    Heartbeat,
    Commit,
}

impl Seat {
    pub(super) fn new(now: Mono, number: u64, setting: &Setting) -> Self {
        Self {
            state: State::Unborn,
            core: Core::new(now, number, setting),
            neli: setting.neli(now, number),
            outbox: Vec::new(),
            said: Vec::new(),
            number,
            behind: if number == 0 {
                i64::try_from(setting.behind.as_millis()).unwrap()
            } else {
                0
            },
            inbox: Vec::new(),
            rule: setting.rule,
            protocol: setting.protocol,
            publishers: setting.publishers,
            counted: Vec::new(),
            beaten: None,
            committed: None,
            last: None,
            before: Vec::new(),
            named: None,
        }
    }

    /// It joins.
    pub(super) fn begin(&mut self, now: Mono, setting: &Setting) {
        *self = Self { state: State::Well, ..Self::new(now, self.number, setting) };
        self.act(now);
    }

    pub(super) const fn lives(&self) -> bool {
        !matches!(self.state, State::Unborn | State::Gone | State::Failed)
    }

    pub(super) const fn acts(&self) -> bool {
        self.lives() && !matches!(self.state, State::Paused)
    }

    /// Whether it believes that it leads. A process that is stopped believes what its claim says.
    pub(super) fn leads(&self, now: Mono, partition: PartitionId) -> bool {
        self.lives() && self.neli.leads(now, partition)
    }

    pub(super) fn take(&mut self, now: Mono, id: RequestId, outcome: Outcome) {
        match self.state {
            State::Unborn | State::Gone | State::Failed | State::Cut => {}
            State::Paused => self.inbox.push((id, outcome)),
            State::Well | State::NoHeartbeats | State::Deposed => {
                self.hear(now, id, outcome);
                self.act(now);
            }
        }
    }

    /// It is as well as before; what came meanwhile counts before timeouts do.
    pub(super) fn recover(&mut self, now: Mono) {
        self.state = State::Well;
        for (id, outcome) in std::mem::take(&mut self.inbox) {
            self.hear(now, id, outcome);
        }
        self.act(now);
    }

    pub(super) fn leave(&mut self, now: Mono) {
        self.neli.handle_leave(now);
        self.core.handle_leave(now);
        self.act(now);
    }

    pub(super) fn die(&mut self) {
        self.state = State::Gone;
        self.inbox.clear();
    }

    fn hear(&mut self, now: Mono, id: RequestId, outcome: Outcome) {
        let outcome = self.heeded(id, outcome);
        let proves = outcome.as_ref().is_some_and(|response| self.is_proof(response));
        match outcome {
            Some(response) => self.core.handle_response(now, id, response),
            None => self.core.handle_failure(now, id),
        }
        let counted = self.counted.iter().position(|it| it.0 == id);
        if let Some((_, sign, sent)) = counted.map(|at| self.counted.remove(at))
            && proves
            && (self.core.is_stable() || self.rule == Rule::WhileRevoking)
        {
            let at = if self.rule == Rule::FromTheAnswer { now } else { sent };
            match sign {
                Sign::Heartbeat => self.beaten = Some(at),
                Sign::Commit => self.committed = Some(at),
            }
        }
    }

    /// Whether a mistaken member counts this answer.
    fn is_proof(&self, response: &Response) -> bool {
        match response {
            Response::Done => true,
            Response::Beaten(it) => it.assignment.is_some() || self.rule == Rule::AfterALostAnswer,
            Response::Coordinator(_)
            | Response::Joined(_)
            | Response::Synced(_)
            | Response::Offsets(_)
            | Response::Leaders(_)
            | Response::Session(_)
            | Response::Members(_)
            | Response::Refused { .. } => false,
        }
    }

    /// What it makes of an answer: who leans on commits alone ignores that the group rebalances.
    fn heeded(&self, id: RequestId, outcome: Outcome) -> Outcome {
        let heartbeat = self.counted.iter().any(|it| it.0 == id && it.1 == Sign::Heartbeat);
        let rebalances =
            Response::Refused { refusal: Refusal::RebalanceInProgress, member_id: None };
        let ignored = self.rule == Rule::CommitsAlone && heartbeat;
        if ignored && outcome == Some(rebalances) { Some(Response::Done) } else { outcome }
    }

    /// Does all that it does by itself at this instant, in the order of the member's own loop: its
    /// group's changes, its proof, its ledger; then requests leave.
    pub(super) fn act(&mut self, now: Mono) {
        if !self.acts() {
            return;
        }
        self.core.handle_timeout(now);
        self.neli.handle_clock(now, Wall(wall_ms(now) - self.behind));
        loop {
            let mut changed = false;
            while let Some(event) = self.core.poll_event() {
                changed = true;
                self.changed(now, &event);
            }
            self.lead(now);
            while self.core.poll_abandoned().is_some() {}
            let Some(mut outgoing) = self.core.poll_request(now) else {
                if changed { continue } else { break }
            };
            self.omit(&mut outgoing.request);
            self.count(now, &outgoing);
            let heartbeat =
                matches!(outgoing.request, Request::Heartbeat { .. } | Request::Beat(_));
            let lost = self.state == State::Cut || (self.state == State::NoHeartbeats && heartbeat);
            if !lost {
                self.outbox.push(outgoing);
            }
        }
    }

    /// A mistaken member names to its group only what it has not named before.
    fn omit(&mut self, request: &mut Request) {
        if let Request::Beat(beat) = request
            && self.rule == Rule::AfterALostAnswer
        {
            let owned = beat.owned.clone();
            if beat.epoch > 0 && self.named == owned && self.core.is_stable() {
                (beat.whole, beat.owned) = (false, None);
            }
            self.named = owned;
        }
    }

    fn changed(&mut self, now: Mono, event: &GroupEvent) {
        match event {
            GroupEvent::Group(Membership::Revoked(_)) if self.rule == Rule::OverARejoin => {}
            GroupEvent::Group(change) => {
                // A proof of the newer protocol outlives a change of what the member holds.
                let lost = matches!(change, Membership::Lost(_));
                if lost || self.protocol == Protocol::Classic {
                    (self.beaten, self.committed) = (None, None);
                    self.counted.clear();
                }
                let change = self.believed(change.clone());
                self.neli.handle_membership(now, &change);
            }
            GroupEvent::Left => self.die(),
            GroupEvent::Failed(_) => self.state = State::Failed,
            GroupEvent::GaveWay(_) => {}
        }
    }

    fn believed(&mut self, mut change: Membership) -> Membership {
        if let Membership::Assigned(assignment) = &mut change
            && self.rule == Rule::AssignmentBefore
        {
            let before = std::mem::replace(&mut self.before, assignment.partitions.clone());
            assignment.partitions.extend(before);
        }
        change
    }

    /// It hears its ledger on all that it holds, unless it is cut off; of owners on what it has
    /// published just now.
    fn lead(&mut self, now: Mono) {
        let proof = self.proof();
        self.neli.handle_proof(now, proof);
        let published = match self.publishers {
            Publishers::All => (0..WIDTH.get()).map(PartitionId).collect(),
            Publishers::Owners => self.publish(),
        };
        if self.state != State::Cut {
            let every = self.rule == Rule::AssignmentBefore;
            let held = self.core.held();
            for partition in published.into_iter().filter(|k| every || held.contains(k)) {
                let (heard, stamp) = (Heard { partition, sent: None }, Wall(wall_ms(now)));
                self.neli.handle_stamped(now, heard, stamp);
            }
        }
        while self.neli.poll_event().is_some() {}
        let _heard_by_none = self.publish();
        if self.state == State::Cut {
            self.said.clear();
        }
    }

    /// On which partitions its beacons are.
    fn publish(&mut self) -> Vec<PartitionId> {
        let mut on = Vec::new();
        while let Some(partition) = self.neli.poll_beacon() {
            self.said.extend(self.neli.statement(partition));
            on.push(partition);
        }
        on
    }

    /// It hears what others state.
    pub(super) fn heed(&mut self, now: Mono, statements: &[Statement]) {
        for statement in statements {
            self.neli.handle_statement(now, statement);
        }
        while self.neli.poll_event().is_some() {}
    }

    fn proof(&mut self) -> Option<Mono> {
        let proof = self.core.proof().map(|Proof { since, .. }| since);
        match self.rule {
            Rule::HeartbeatsAlone if self.protocol == Protocol::Consumer => self.beaten,
            Rule::Proved
            | Rule::HeartbeatsAlone
            | Rule::OverARejoin
            | Rule::AssignmentBefore
            | Rule::WithinTheHold
            | Rule::UnderOneId => proof,
            Rule::FromTheAnswer
            | Rule::WhileRevoking
            | Rule::AfterALostAnswer
            | Rule::AnySession
            | Rule::OfTwoCoordinators => Some(self.beaten?.min(self.committed?)),
            Rule::CommitsAlone => self.committed,
            Rule::ProofBefore => {
                self.last = proof.or(self.last);
                self.last
            }
        }
    }

    fn count(&mut self, now: Mono, outgoing: &Outgoing) {
        let sign = match outgoing.request {
            Request::Heartbeat { .. } | Request::Beat(_) => Sign::Heartbeat,
            Request::Commit { .. } => Sign::Commit,
            Request::FindCoordinator
            | Request::Join(_)
            | Request::Sync(_)
            | Request::Offsets { .. }
            | Request::Leaders { .. }
            | Request::Session
            | Request::Members
            | Request::Leave { .. } => return,
        };
        let newer = self.protocol == Protocol::Consumer;
        if self.rule.counts(self.protocol) && (newer || self.core.is_stable()) {
            self.counted.retain(|(_, known, _)| *known != sign);
            self.counted.push((outgoing.id, sign, now));
        }
    }
}
