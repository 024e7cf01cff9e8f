//! The member's thread: it feeds the core, and carries out what the core says.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tandem_member::{Claims, Event};

use super::store::Store;
use super::{EtcdConfig, Input};
use crate::ids::PartitionId;
use crate::member::{Channel, what};
use crate::neli::elections::etcd::{Answer, Config, Etcd};
use crate::neli::{Assignment, Event as Change};
use crate::time::{Mono, Wall, WallClock};

/// The interval at which the member reports all its claims while there are any.
const RENEWAL: Duration = Duration::from_millis(100);
/// How long no request must succeed until the member says that it does not reach the store.
const SILENCE: Duration = Duration::from_millis(500);

/// One member, with its connection to the store.
pub(super) struct Driver {
    core: Etcd,
    store: Store,
    /// The length that it asks for.
    lease: Duration,
    claims: Arc<Claims>,
    channel: Arc<Mutex<Channel>>,
    /// Claims depend on monotonic time alone; a shifted clock is reported.
    clock: WallClock,
    renewed: Mono,
    /// The partitions that it reported as its own; none while it has no lease.
    assigned: Option<Vec<PartitionId>>,
    /// When the store last carried a request out, and whether it was said that it does not.
    succeeded: Mono,
    unconnected: bool,
}

impl Driver {
    pub(super) fn new(
        config: &EtcdConfig,
        store: Store,
        claims: Arc<Claims>,
        channel: Arc<Mutex<Channel>>,
    ) -> Self {
        let now = Mono::now();
        let EtcdConfig { width, lease, keep_alive, .. } = *config;
        Self {
            core: Etcd::new(now, Config { width, lease, keep_alive }),
            store,
            lease,
            claims,
            channel,
            clock: WallClock::TRUE,
            renewed: Mono::ZERO,
            assigned: None,
            succeeded: now,
            unconnected: false,
        }
    }

    /// Runs until the member has left.
    pub(super) fn live(mut self, inputs: &Receiver<Input>) {
        self.core.handle_timeout(Mono::now());
        self.drain();
        while !self.core.is_gone() {
            let now = Mono::now();
            let due = self.core.poll_timeout().map_or(RENEWAL, |due| due.since(now));
            let input = inputs.recv_timeout(due.min(RENEWAL));
            let now = Mono::now();
            match input {
                Ok(Input::Answer(number, answer, why)) => {
                    self.look_at_contact(now, &answer, why);
                    self.look_at_length(&answer);
                    self.core.handle_answer(now, number, answer);
                }
                Ok(Input::Watched(number, watched)) => {
                    self.core.handle_watched(now, number, watched);
                }
                Ok(Input::Clock(skew)) => {
                    self.clock = WallClock::shifted(skew, now);
                    self.report_clock(now);
                }
                Ok(Input::Leave) => {
                    self.core.handle_leave(now);
                    self.publish(now);
                    self.report(now, Event::Left);
                }
                Err(RecvTimeoutError::Timeout) => self.core.handle_timeout(now),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.drain();
        }
    }

    /// Carries out the outputs of the core. A claim that ended is published before a request
    /// leaves: the lease may be revoked by it.
    fn drain(&mut self) {
        let now = Mono::now();
        self.publish(now);
        while let Some((number, request)) = self.core.poll_request(Mono::now()) {
            tracing::debug!(number, ?request, "A request to etcd.");
            self.store.send(number, request);
        }
        if now.since(self.renewed) >= RENEWAL {
            self.renewed = now;
            let claims: Vec<_> = self.core.claims().collect();
            if !claims.is_empty() {
                self.report(now, Event::Renewed(claims));
            }
            if !self.clock.is_true() {
                self.report_clock(now);
            }
        }
    }

    fn publish(&mut self, now: Mono) {
        let fences: BTreeMap<_, _> = self
            .core
            .claims()
            .filter_map(|claim| Some((claim.partition, self.core.fence(claim.partition)?.0)))
            .collect();
        self.claims.publish(self.core.claims(), &fences);
        self.report_assigned(now);
        while let Some(change) = self.core.poll_event() {
            let event = match change {
                Change::Acquired { claim, from, stands_in_for } => Event::Claimed {
                    partition: claim.partition,
                    term: claim.term,
                    from,
                    until: claim.until,
                    stands_in_for,
                    fence: fences.get(&claim.partition).copied(),
                },
                Change::Ended { claim, why } => Event::Lapsed {
                    partition: claim.partition,
                    term: claim.term,
                    at: claim.until,
                    why,
                },
            };
            self.report(now, event);
        }
    }

    /// The bounds of a plan hold for the lease that was asked for.
    fn look_at_length(&self, answer: &Answer) {
        if let Answer::Granted(_, length) = answer
            && *length > self.lease
        {
            tracing::warn!(?length, asked = ?self.lease, "etcd grants no lease as short as asked.");
        }
    }

    /// Reports whose keys are its own, in the words of a group: assigned, and lost with the lease.
    fn report_assigned(&mut self, now: Mono) {
        let joined = self.core.has_joined();
        let own = || self.core.claims().map(|claim| claim.partition).collect::<Vec<_>>();
        let assigned = joined.then(own);
        if assigned == self.assigned {
            return;
        }
        let before = std::mem::replace(&mut self.assigned, assigned.clone());
        match assigned {
            Some(partitions) => {
                let (generation, member_id) = (None, None);
                self.report(now, Event::Assigned(Assignment { generation, member_id, partitions }));
            }
            None => self.report(now, Event::Lost(before.unwrap_or_default())),
        }
    }

    /// Reports when the store becomes unreachable, and when it is reachable again.
    fn look_at_contact(&mut self, now: Mono, answer: &Answer, why: Option<String>) {
        if *answer != Answer::Failed {
            self.succeeded = now;
            if std::mem::take(&mut self.unconnected) {
                self.report(now, Event::Connected);
            }
        } else if !self.unconnected && now.since(self.succeeded) >= SILENCE {
            self.unconnected = true;
            let why = why.unwrap_or_else(|| "etcd refuses requests".to_owned());
            self.report(now, Event::Unconnected(why));
        }
    }

    fn report_clock(&mut self, now: Mono) {
        let truth = Wall::now();
        let at = Mono::now().max(now);
        self.report(at, Event::Clock(self.clock.read(at, truth)));
    }

    fn report(&self, now: Mono, event: Event) {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(now, what(event));
    }
}
