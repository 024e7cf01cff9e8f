//! The brokers: the coordinator, what it would load elsewhere, and who waits for an answer.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{Asker, GROUP, TOPIC, ask, reply};
use tandem_broker::groups::consumer::{ConsumerState, GroupOverrides, TopicId};
use tandem_broker::groups::{Coordinator, Heartbeat, State, Token};
use tandem_facts::time::Mono;
use tandem_neli::membership::{
    Assignor, Broker, Outgoing, Refusal, Request, RequestId, Response, Sync,
};

use super::core::NAMES;
use super::setting::{LOWERED, Protocol, SESSION, WIDTH, coordinator};

/// The id of the first coordinator.
const FIRST: i32 = 1_001;

#[derive(Debug, Clone)]
pub(super) struct Hub {
    pub(super) core: Coordinator,
    /// How far its clock is behind that of the members.
    pub(super) lag: Duration,
    pub(super) broker: i32,
    /// Whether it reads the group from its log: it answers every heartbeat, and nothing else.
    pub(super) loads: bool,
    /// What it has written to the log, as of an instant of its own clock.
    pub(super) log: Option<(Coordinator, Mono)>,
    /// Requests that it has not answered yet.
    waiting: BTreeSet<Token>,
    /// How many ids it has given.
    names: u32,
    protocol: Protocol,
    /// Of a group of the newer protocol: whether each member holds what it shall.
    pub(super) is_settled: bool,
}

impl Hub {
    pub(super) fn new(now: Mono, protocol: Protocol) -> Self {
        let mut core = Coordinator::new(coordinator());
        if protocol == Protocol::Consumer {
            core.handle_topic(now, TOPIC, TopicId(7), i32::try_from(WIDTH.get()).unwrap());
        }
        Self {
            core,
            lag: Duration::ZERO,
            broker: FIRST,
            loads: false,
            log: None,
            waiting: BTreeSet::new(),
            names: 0,
            protocol,
            is_settled: false,
        }
    }

    pub(super) fn now(&self, now: Mono) -> Mono {
        now - self.lag
    }

    pub(super) fn handle_timeout(&mut self, now: Mono) {
        if !self.loads {
            self.core.handle_timeout(self.now(now));
            self.look(now);
        }
    }

    /// A request reaches the broker to which it was sent; `None` where the answer has to wait.
    pub(super) fn ask(&mut self, now: Mono, seat: usize, outgoing: Outgoing) -> Option<Response> {
        let Outgoing { id, to, request } = outgoing;
        let refuse = |refusal| Some(Response::Refused { refusal, member_id: None });
        if request == Request::FindCoordinator {
            return Some(Response::Coordinator(self.address()));
        }
        if to.is_some_and(|to| to.id != self.broker) {
            return refuse(Refusal::NotCoordinator);
        }
        if self.loads {
            return match request {
                Request::Heartbeat { .. } => Some(Response::Done),
                Request::FindCoordinator
                | Request::Join(_)
                | Request::Sync(_)
                | Request::Commit { .. }
                | Request::Offsets { .. }
                | Request::Leaders { .. }
                | Request::Beat(_)
                | Request::Session
                | Request::Members
                | Request::Leave { .. } => refuse(Refusal::CoordinatorLoadInProgress),
            };
        }
        if matches!(&request, Request::Join(join) if join.member_id.is_empty()) {
            self.names += 1;
        }
        let asker = Asker {
            client_id: NAMES[seat].to_owned(),
            suffix: format!("{:05}", self.names),
            instance_id: None,
            session: SESSION,
            rebalance: SESSION,
        };
        let generation = if let Request::Sync(sync) = &request { sync.generation } else { -1 };
        let logs = generation >= 0 && !self.is_stable(now);
        let now = self.now(now);
        let token = token(seat, id);
        let answer = ask(&mut self.core, now, asker, token, request);
        if answer.is_none() {
            self.waiting.insert(token);
        }
        if logs && self.is_stable(now + self.lag) {
            self.write(now, generation);
        }
        self.look(now + self.lag);
        answer
    }

    fn look(&mut self, now: Mono) {
        if self.protocol == Protocol::Consumer {
            let now = self.now(now);
            let group = self.core.handle_describe_consumer(now, GROUP);
            self.is_settled = group.is_some_and(|group| group.state == ConsumerState::Stable);
        }
    }

    /// The session of the group is lowered. A member has it from its next heartbeat on.
    pub(super) fn lower(&mut self, now: Mono) {
        let overrides = GroupOverrides { session: Some(LOWERED), heartbeat: None };
        self.core.handle_overrides(self.now(now), GROUP, overrides).unwrap();
    }

    /// Another broker coordinates the group at once. One member alone does not know it.
    /// Under the classic protocol the commits of that member are as good as sessions, so it makes
    /// no difference there.
    pub(super) fn replaced(&mut self, now: Mono) {
        if self.protocol == Protocol::Consumer {
            self.broker += 1;
            self.core.handle_loaded(self.now(now));
        }
    }

    pub(super) fn address(&self) -> Broker {
        Broker { id: self.broker, host: "h".to_owned(), port: 9_092 }
    }

    /// Replies that have waited: to whom, to what, and what.
    pub(super) fn poll_reply(&mut self) -> Option<(usize, RequestId, Response)> {
        let found = self.core.poll_reply()?;
        self.waiting.remove(&found.token);
        let (seat, id) = asked(found.token);
        Some((seat, id, reply(found.body)))
    }

    /// Whether every member has its share.
    pub(super) fn is_stable(&mut self, now: Mono) -> bool {
        let now = self.now(now);
        self.core.handle_describe(now, GROUP).is_some_and(|group| group.state == State::Stable)
    }

    /// The group goes to the log with a new generation. Who loads it gives each member a session.
    fn write(&mut self, now: Mono, generation: i32) {
        let mut log = self.core.clone();
        for member in log.handle_describe(now, GROUP).into_iter().flat_map(|group| group.members) {
            let (group, member_id) = (GROUP.to_owned(), member.member_id);
            let beat = Heartbeat { group, member_id, instance_id: None, generation };
            log.handle_heartbeat(now, &beat).ok();
            // Nor does it know who has not asked for its share yet.
            let request = Request::Sync(Sync {
                member_id: beat.member_id,
                generation,
                protocol: Assignor::RoundRobin.name(),
                assignments: Vec::new(),
            });
            ask(&mut log, now, Asker::default(), token(0, RequestId(0)), request);
        }
        while log.poll_reply().is_some() {}
        self.log = Some((log, now));
    }

    /// Another broker is to coordinate the group. Who waits loses the connection.
    pub(super) fn depose(&mut self, now: Mono) -> Vec<(usize, RequestId)> {
        self.broker += 1;
        self.loads = true;
        if self.protocol == Protocol::Consumer {
            // All but sessions is in the log.
            self.core.handle_loaded(now);
            self.log = Some((self.core.clone(), now));
        }
        self.core = Coordinator::new(coordinator());
        std::mem::take(&mut self.waiting).into_iter().map(asked).collect()
    }

    /// It has loaded the group.
    pub(super) fn load(&mut self, now: Mono) {
        self.loads = false;
        if self.protocol == Protocol::Consumer {
            if let Some((core, _)) = self.log.take() {
                self.core = core;
                self.core.handle_loaded(now);
                self.look(now);
            }
        } else if let Some((core, at)) = &self.log {
            self.core = core.clone();
            self.lag = now.since(*at);
        }
    }
}

/// The token of a request names who waits.
fn token(seat: usize, id: RequestId) -> Token {
    Token(u64::try_from(seat + 1).unwrap() << 32 | id.0)
}

fn asked(token: Token) -> (usize, RequestId) {
    (usize::try_from(token.0 >> 32).unwrap() - 1, RequestId(token.0 & 0xffff_ffff))
}
