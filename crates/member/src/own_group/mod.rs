//! Group membership of our own: the core of `tandem_neli::membership`, driven over connections of
//! its own. librdkafka only reads and writes messages.
//!
//! The core runs on the thread that works, so a member that hangs sends no heartbeat: the group
//! takes its partitions away after a session, and not only after `max.poll.interval.ms`. The
//! threads here carry bytes and decide nothing.

mod core;
mod departure;
mod errors;
mod keeper;
mod line;
mod sasl;
#[cfg(test)]
mod scenes;
#[cfg(all(test, feature = "tls"))]
mod scenes_bearer;
#[cfg(test)]
#[cfg(feature = "tls")]
mod scenes_tls;
#[cfg(feature = "tls")]
mod scram;
mod security;
mod settings;
mod socket;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod wire;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use core::Core;
pub use departure::leave_for;
use errors::Errors;
use keeper::Keeper;
use line::{Address, Answer, Broken, Line};
use security::Security;
pub use settings::{GroupTerms, set_group_terms};
use wire::Speaker;

use crate::Config;
use crate::kafka::{GroupProtocol, KafkaError};
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::Mode;
use tandem_facts::time::{Mono, Wall};
use tandem_neli::Membership;
use tandem_neli::membership::{
    Assignor, Assignors, GroupConfig, GroupEvent, Outgoing, Proof, Refusal, RequestId,
};

/// The shortest time that other members wait for this one to join again; librdkafka's minimum, too.
const REBALANCE_LEAST: Duration = Duration::from_secs(10);
/// The shortest time between two looks at the fences of the group, as long as none are needed.
const LEARNS_LEAST: Duration = Duration::from_secs(1);
const BACKOFF: Duration = Duration::from_millis(20);
const BACKOFF_MOST: Duration = Duration::from_millis(200);
/// The interval between looks for an answer while the group rebalances or a proof is missing.
const HURRY: Duration = Duration::from_millis(5);
/// A refused member tries again after this: a right may have been granted meanwhile.
const REFUSED: Duration = Duration::from_secs(5);

/// The membership of one member, and its connections to brokers.
pub(crate) struct OwnGroup {
    config: GroupConfig,
    protocol: GroupProtocol,
    /// What the id of this life begins with, where the member chooses its id.
    name: String,
    core: Core,
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
    keeper: Keeper,
}

impl OwnGroup {
    /// A member that is about to find its coordinator.
    ///
    /// # Errors
    /// A client property is not supported, a secret or a file cannot be read, or the assignor is
    /// not known.
    pub(crate) fn new(now: Mono, config: &Config) -> Result<Self, KafkaError> {
        let security = Security::of(&config.cluster, config.session)?;
        let assignors = assignors(config)?;
        let proves = config.mode.is_exclusive();
        let group = GroupConfig {
            group: config.consumer_group.clone(),
            topic: config.topic.clone(),
            width: config.width,
            instance: config.instance.clone(),
            assignors,
            session: config.session,
            heartbeat: config.heartbeat,
            rebalance: config.session.max(REBALANCE_LEAST),
            renews_id: proves,
            commit: proves.then(|| config.threshold / 4),
            learns: proves.then(|| config.session.max(LEARNS_LEAST)),
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
        let speaker = match config.protocol {
            GroupProtocol::Classic => speaker,
            GroupProtocol::Consumer => speaker.wanting(config.assignor.clone()),
        };
        let (to_answers, answers) = channel();
        // Random without a package: each hasher begins elsewhere.
        let random = RandomState::new().hash_one(&config.life);
        let name = format!("{}-{random:016x}", config.life);
        Ok(Self {
            core: Core::new(now, config.protocol, group.clone(), name.clone()),
            config: group,
            protocol: config.protocol,
            name,
            speaker: Arc::new(speaker),
            security: Arc::new(security),
            bootstrap: Address::list(&config.cluster.bootstrap),
            next: 0,
            lines: Vec::new(),
            answers,
            to_answers,
            again: None,
            errors: Errors::default(),
            keeper: Keeper::new(config.fences.as_deref(), &config.consumer_group),
        })
    }

    /// Handles answers, sends due requests, and returns the changes of the assignment.
    pub(crate) fn turn(&mut self) -> Vec<Membership> {
        while let Ok(answer) = self.answers.try_recv() {
            self.take(answer);
        }
        let now = Mono::now();
        if let Some((id, fences)) = self.keeper.poll(now) {
            self.core.handle_fences(now, id, &fences);
        }
        let events = self.advance(now).into_iter();
        if let Some((id, fences)) = self.core.poll_fences() {
            self.keeper.keep(now, id, fences);
        }
        if let Some(fence) = self.core.poll_learned() {
            self.keeper.learn(fence);
        }
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

    /// The ledger was set back. A member that proves its membership needs new fences: it joins
    /// again. Another one has none.
    pub(crate) fn set_back(&mut self) {
        if self.config.commit.is_some() {
            self.core.handle_set_back(Mono::now());
        }
    }

    /// The longest wait before the next [`turn`](Self::turn).
    pub(crate) fn patience(&self, now: Mono) -> Duration {
        let due = [self.core.poll_timeout(), self.again].into_iter().flatten().min();
        let wait = due.map_or(REFUSED, |due| due.since(now));
        if self.core.awaits_answers() { wait.min(HURRY) } else { wait }
    }

    /// All that the member holds.
    pub(crate) fn held(&self) -> Vec<PartitionId> {
        self.core.held()
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
        let held = self.core.held().into_iter();
        held.filter_map(|held| Some((held, self.core.fence(held)?))).collect()
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
            let config = GroupConfig { seed: now.0, ..self.config.clone() };
            // No id is ever used twice.
            let name = format!("{}-{}", self.name, now.0);
            self.core = Core::new(now, self.protocol, config, name);
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

/// The assignors of the classic protocol that the member offers. Those of the newer one are the
/// brokers'.
fn assignors(config: &Config) -> Result<Assignors, KafkaError> {
    let (known, possible) = match config.protocol {
        GroupProtocol::Classic => {
            (Assignors::parse(&config.assignor), "roundrobin, range or cooperative-sticky")
        }
        GroupProtocol::Consumer => {
            let known = ["uniform", "range"].contains(&config.assignor.as_str());
            (known.then(|| Assignor::Range.into()), "uniform or range")
        }
    };
    known.ok_or_else(|| KafkaError::OwnMembership {
        cluster: config.cluster.bootstrap.clone(),
        what: format!("assignor: {}", config.assignor),
        possible,
    })
}

fn gave_way(partitions: &[PartitionId]) {
    let silent: Vec<String> = partitions.iter().map(ToString::to_string).collect();
    let partitions = silent.join(",");
    tracing::warn!(
        partitions,
        "The member hears nothing on partitions that have leaders: it gives way to others."
    );
}
