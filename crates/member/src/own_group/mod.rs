//! Group membership of our own: the core of `tandem_neli::membership`, driven over connections of
//! its own. librdkafka only reads and writes messages.
//!
//! The core runs on the thread that works, so a member that hangs sends no heartbeat: the group
//! takes its partitions away after a session, and not only after `max.poll.interval.ms`. The
//! threads here carry bytes and decide nothing.

mod departure;
mod errors;
mod line;
mod sasl;
#[cfg(test)]
mod scenes;
#[cfg(test)]
#[cfg(feature = "tls")]
mod scenes_tls;
#[cfg(feature = "tls")]
mod scram;
mod security;
mod socket;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

pub use departure::leave_for;
use errors::Errors;
use line::{Address, Answer, Broken, Line};
use security::Security;
use wire::Speaker;

use crate::Config;
use crate::kafka::KafkaError;
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Mode;
use tandem_facts::time::{Mono, Wall};
use tandem_neli::Membership;
use tandem_neli::membership::{
    Assignors, GroupConfig, GroupEvent, GroupMember, Outgoing, Proof, Refusal, RequestId,
};

/// The shortest time that other members wait for this one to join again; librdkafka's minimum, too.
const REBALANCE_LEAST: Duration = Duration::from_secs(10);
const BACKOFF: Duration = Duration::from_millis(20);
const BACKOFF_MOST: Duration = Duration::from_millis(200);
/// The interval between looks for an answer while the group rebalances or a proof is missing.
const HURRY: Duration = Duration::from_millis(5);
/// A refused member tries again after this: a right may have been granted meanwhile.
const REFUSED: Duration = Duration::from_secs(5);

/// The membership of one member, and its connections to brokers.
pub(crate) struct OwnGroup {
    config: GroupConfig,
    core: GroupMember,
    speaker: Arc<Speaker>,
    security: Arc<Security>,
    bootstrap: Vec<Address>,
    /// The index of the next bootstrap address.
    next: usize,
    lines: Vec<Line>,
    answers: Receiver<Answer>,
    to_answers: Sender<Answer>,
    /// When a refused member tries again.
    again: Option<Mono>,
    errors: Errors,
}

impl OwnGroup {
    /// A member that is about to find its coordinator.
    ///
    /// # Errors
    /// A client property is not supported, a secret or a file cannot be read, or the assignor is
    /// not known.
    pub(crate) fn new(now: Mono, config: &Config) -> Result<Self, KafkaError> {
        let security = Security::of(&config.cluster, config.session)?;
        let assignors = Assignors::parse(&config.assignor);
        let assignors = assignors.ok_or_else(|| KafkaError::OwnMembership {
            cluster: config.cluster.bootstrap.clone(),
            what: format!("assignor: {}", config.assignor),
            possible: "roundrobin, range or cooperative-sticky",
        })?;
        let proves = config.mode.is_exclusive();
        let group = GroupConfig {
            group: config.consumer_group.clone(),
            topic: config.topic.clone(),
            width: config.width,
            instance: None,
            assignors,
            session: config.session,
            heartbeat: config.heartbeat,
            rebalance: config.session.max(REBALANCE_LEAST),
            renews_id: proves,
            commit: proves.then(|| config.threshold / 4),
            wall_ms: Wall::now().0.saturating_sub_unsigned(now.0 / 1_000_000),
            // In the fast mode a member hears itself alone, and cannot know what it reaches.
            gives_way: (config.mode != Mode::Fast).then_some(config.threshold),
            hold: config.hold,
            backoff: BACKOFF,
            backoff_max: BACKOFF_MOST,
            // Only spreads retries, so equal seeds do no harm.
            seed: now.0,
        };
        let speaker = Speaker::new(config.life.to_string(), &group);
        let (to_answers, answers) = channel();
        Ok(Self {
            core: GroupMember::new(now, group.clone()),
            config: group,
            speaker: Arc::new(speaker),
            security: Arc::new(security),
            bootstrap: Address::list(&config.cluster.bootstrap),
            next: 0,
            lines: Vec::new(),
            answers,
            to_answers,
            again: None,
            errors: Errors::default(),
        })
    }

    /// Handles answers, sends due requests, and returns the changes of the assignment.
    pub(crate) fn turn(&mut self) -> Vec<Membership> {
        while let Ok(answer) = self.answers.try_recv() {
            self.take(answer);
        }
        let events = self.advance(Mono::now()).into_iter();
        let change = |event| match event {
            GroupEvent::Group(change) => Some(change),
            GroupEvent::Left | GroupEvent::Failed(_) | GroupEvent::GaveWay(_) => None,
        };
        events.filter_map(change).collect()
    }

    /// A message of `partition` reached the member.
    pub(crate) fn heard(&mut self, now: Mono, partition: PartitionId) {
        self.core.handle_heard(now, partition);
    }

    /// The member has published on all partitions since `since`.
    pub(crate) fn publishes(&mut self, since: Mono) {
        self.core.handle_publishing(since);
    }

    /// A message of the member got to `partition` at `at`.
    pub(crate) fn delivered(&mut self, at: Mono, partition: PartitionId) {
        self.core.handle_delivered(at, partition);
    }

    /// The program has been able to see the last changes of the assignment since `now`.
    pub(crate) fn curtailed(&mut self, now: Mono) {
        self.core.handle_curtailed(now);
    }

    /// The longest wait before the next [`turn`](Self::turn).
    pub(crate) fn patience(&self, now: Mono) -> Duration {
        let due = [self.core.poll_timeout(), self.again].into_iter().flatten().min();
        let wait = due.map_or(REFUSED, |due| due.since(now));
        if self.core.awaits_answers() { wait.min(HURRY) } else { wait }
    }

    /// All that the member holds.
    pub(crate) fn held(&self) -> Vec<PartitionId> {
        self.core.held().collect()
    }

    /// How often a broker or the group has refused this member so far, and why it is refused now,
    /// if it is.
    pub(crate) fn errors(&self) -> (u64, Option<String>) {
        self.errors.summary()
    }

    /// What last proved that the group counts the member in.
    pub(crate) fn proof(&self) -> Option<Proof> {
        self.core.proof()
    }

    /// A number for each partition that the member holds, above that of every earlier owner.
    pub(crate) fn fences(&self) -> BTreeMap<PartitionId, i64> {
        self.core.held().filter_map(|held| Some((held, self.core.fence(held)?))).collect()
    }

    /// Gives back what the member holds; with the next turns it leaves the group.
    pub(crate) fn begin_leave(&mut self) {
        self.core.handle_leave(Mono::now());
        self.again = None;
    }

    /// Leaves the group. Returns after the answer, and after `within` at the latest.
    pub(crate) fn leave(mut self, within: Duration) {
        let end = Mono::now() + within;
        self.begin_leave();
        loop {
            let now = Mono::now();
            drop(self.advance(now));
            let Some(due) = self.core.poll_timeout().map(|due| due.min(end)) else { return };
            if now >= end {
                return;
            }
            // Wait for an answer, or for the next timeout.
            let wait = due.since(now).max(Duration::from_millis(1));
            if let Ok(answer) = self.answers.recv_timeout(wait) {
                self.take(answer);
            }
        }
    }

    fn take(&mut self, answer: Answer) {
        let Answer { id, response } = answer;
        let now = Mono::now();
        if let Some(line) = self.lines.iter_mut().find(|line| line.carries(id)) {
            line.free();
        }
        match response {
            Ok(response) => {
                self.core.handle_response(now, id, response);
                if self.core.is_stable() {
                    self.errors.clear();
                }
            }
            Err(broken) => {
                self.errors.note(now, broken);
                self.lines.retain(|line| !line.is_down());
                self.next = self.next.wrapping_add(1);
                self.core.handle_failure(now, id);
            }
        }
    }

    fn advance(&mut self, now: Mono) -> Vec<GroupEvent> {
        self.core.handle_timeout(now);
        if self.again.is_some_and(|again| again <= now) {
            self.again = None;
            self.core = GroupMember::new(now, GroupConfig { seed: now.0, ..self.config.clone() });
        }
        let mut events = Vec::new();
        // A Join or Leave lets partitions go: the caller ends its claims first, and it leaves with
        // the next call.
        loop {
            if let Some(event) = self.core.poll_event() {
                match &event {
                    GroupEvent::Failed(refusal) => self.refused(now, *refusal),
                    GroupEvent::GaveWay(partitions) => gave_way(partitions),
                    GroupEvent::Group(_) | GroupEvent::Left => {}
                }
                events.push(event);
            } else if let Some(id) = self.core.poll_abandoned() {
                self.lines.retain_mut(|line| !line.carries(id) || line.forget(id));
            } else if events.is_empty()
                && let Some(outgoing) = self.core.poll_request(now)
            {
                self.send(outgoing);
            } else {
                return events;
            }
        }
    }

    fn refused(&mut self, now: Mono, refusal: Refusal) {
        tracing::error!(%refusal, "The group refuses this member; it tries again in {REFUSED:?}.");
        self.again = Some(now + REFUSED);
        let group = &self.config.group;
        self.errors.refuse(format!("consumer group {group} refuses this member: {refusal}"));
    }

    /// Hands a request to an idle connection to the right broker, or to a new one. A connection on
    /// which a Join or a Sync waits carries nothing else.
    fn send(&mut self, outgoing: Outgoing) {
        let Outgoing { id, to, request } = outgoing;
        let address = match to {
            Some(broker) => Address { host: broker.host, port: broker.port },
            None => self.some_broker(),
        };
        let idle = self.lines.iter().position(|line| line.is_idle_to(&address));
        let at = idle.unwrap_or_else(|| {
            self.lines.retain(|line| line.is_busy() || *line.address() == address);
            let (speaker, security) = (Arc::clone(&self.speaker), Arc::clone(&self.security));
            self.lines.push(Line::open(address, speaker, security, self.to_answers.clone()));
            self.lines.len() - 1
        });
        let sent = self.lines.get_mut(at).is_some_and(|line| line.send(id, request));
        if !sent {
            self.lines.remove(at);
            self.fail(id);
        }
    }

    /// Answers a request that could not be sent.
    fn fail(&self, id: RequestId) {
        let why = "the system refuses a thread".to_owned();
        let broken = Broken { address: String::new(), why, refused: false };
        // The receiver lives as long as this value.
        self.to_answers.send(Answer { id, response: Err(broken) }).ok();
    }

    fn some_broker(&self) -> Address {
        let at = self.next.checked_rem(self.bootstrap.len()).unwrap_or(0);
        self.bootstrap.get(at).cloned().unwrap_or_default()
    }
}

fn gave_way(partitions: &[PartitionId]) {
    let silent: Vec<String> = partitions.iter().map(ToString::to_string).collect();
    let partitions = silent.join(",");
    tracing::warn!(
        partitions,
        "The member hears nothing on partitions that have leaders: it gives way to others."
    );
}
