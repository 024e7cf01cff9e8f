//! One member: both of its cores, what stands between them, and what befalls it.

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_neli::membership::{
    GroupEvent, GroupMember, Outgoing, Proof, Refusal, Request, RequestId, Response,
};
use tandem_neli::{Heard, Membership, Neli, Statement};

use super::setting::{Rule, Setting, WIDTH};

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
    pub(super) core: GroupMember,
    pub(super) neli: Neli,
    /// Requests that are about to be carried to a broker.
    pub(super) outbox: Vec<Outgoing>,
    /// What it has stated about itself, and no member has heard yet.
    pub(super) said: Vec<Statement>,
    number: u64,
    /// What came while the process was stopped.
    inbox: Vec<(RequestId, Outcome)>,
    rule: Rule,
    /// Requests that a mistaken rule counts once they are answered.
    counted: Vec<(RequestId, Sign, Mono)>,
    beaten: Option<Mono>,
    committed: Option<Mono>,
    /// The last proof that it had.
    last: Option<Mono>,
    /// What the generation before assigned.
    before: Vec<PartitionId>,
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
            core: GroupMember::new(now, setting.group()),
            neli: setting.neli(now, number),
            outbox: Vec::new(),
            said: Vec::new(),
            number,
            inbox: Vec::new(),
            rule: setting.rule,
            counted: Vec::new(),
            beaten: None,
            committed: None,
            last: None,
            before: Vec::new(),
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
        let done = outcome == Some(Response::Done);
        match outcome {
            Some(response) => self.core.handle_response(now, id, response),
            None => self.core.handle_failure(now, id),
        }
        let counted = self.counted.iter().position(|it| it.0 == id);
        if let Some((_, sign, sent)) = counted.map(|at| self.counted.remove(at))
            && done
            && self.core.is_stable()
        {
            let at = if self.rule == Rule::FromTheAnswer { now } else { sent };
            match sign {
                Sign::Heartbeat => self.beaten = Some(at),
                Sign::Commit => self.committed = Some(at),
            }
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
        self.neli.handle_timeout(now);
        loop {
            let mut changed = false;
            while let Some(event) = self.core.poll_event() {
                changed = true;
                self.changed(now, &event);
            }
            self.lead(now);
            while self.core.poll_abandoned().is_some() {}
            let Some(outgoing) = self.core.poll_request(now) else {
                if changed { continue } else { break }
            };
            self.count(now, &outgoing);
            let heartbeat = matches!(outgoing.request, Request::Heartbeat { .. });
            let lost = self.state == State::Cut || (self.state == State::NoHeartbeats && heartbeat);
            if !lost {
                self.outbox.push(outgoing);
            }
        }
    }

    fn changed(&mut self, now: Mono, event: &GroupEvent) {
        match event {
            GroupEvent::Group(Membership::Revoked(_)) if self.rule == Rule::OverARejoin => {}
            GroupEvent::Group(change) => {
                (self.beaten, self.committed) = (None, None);
                self.counted.clear();
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

    /// It hears its ledger on all that it holds, unless it is cut off.
    fn lead(&mut self, now: Mono) {
        let proof = self.proof();
        self.neli.handle_proof(now, proof);
        if self.state != State::Cut {
            let every = self.rule == Rule::AssignmentBefore;
            let held: Vec<PartitionId> = self.core.held().collect();
            let all = (0..WIDTH.get()).map(PartitionId);
            for partition in all.filter(|k| every || held.contains(k)) {
                self.neli.handle_heard(now, Heard { partition, sent: None });
            }
        }
        while self.neli.poll_event().is_some() {}
        while let Some(partition) = self.neli.poll_beacon() {
            self.said.extend(self.neli.statement(partition));
        }
        if self.state == State::Cut {
            self.said.clear();
        }
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
            Rule::Proved | Rule::HeartbeatsAlone | Rule::OverARejoin | Rule::AssignmentBefore => {
                proof
            }
            Rule::FromTheAnswer => Some(self.beaten?.min(self.committed?)),
            Rule::CommitsAlone => self.committed,
            Rule::ProofBefore => {
                self.last = proof.or(self.last);
                self.last
            }
        }
    }

    fn count(&mut self, now: Mono, outgoing: &Outgoing) {
        let counts = match self.rule {
            Rule::FromTheAnswer | Rule::CommitsAlone => true,
            Rule::Proved
            | Rule::HeartbeatsAlone
            | Rule::OverARejoin
            | Rule::ProofBefore
            | Rule::AssignmentBefore => false,
        };
        let sign = match outgoing.request {
            Request::Heartbeat { .. } => Sign::Heartbeat,
            Request::Commit { .. } => Sign::Commit,
            Request::FindCoordinator
            | Request::Join(_)
            | Request::Sync(_)
            | Request::Offsets { .. }
            | Request::Leaders { .. }
            | Request::Leave { .. } => return,
        };
        if counts && self.core.is_stable() {
            self.counted.retain(|(_, known, _)| *known != sign);
            self.counted.push((outgoing.id, sign, now));
        }
    }
}
