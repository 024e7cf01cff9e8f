//! How a member handles answers.

use super::{ConsumerMember, Flight, Kind, Phase};
use crate::membership::request::{Beaten, Share};
use crate::membership::{Broker, RequestId, Response};
use std::time::Duration;
use tandem_facts::time::Mono;

impl ConsumerMember {
    /// A broker answered. An answer to a request that the member gave up is no news.
    ///
    /// A member that was stopped finds answers that came in time: they count before the timeouts.
    pub fn handle_response(&mut self, now: Mono, id: RequestId, response: Response) {
        if self.flight.as_ref().is_some_and(|flight| flight.id == id)
            && let Some(flight) = self.flight.take()
        {
            self.answered(now, flight, response);
        }
        self.handle_timeout(now);
    }

    /// The connection on which a request was sent is lost, or could not be made: the broker may
    /// have got the request or not.
    pub fn handle_failure(&mut self, now: Mono, id: RequestId) {
        self.handle_timeout(now);
        if self.flight.as_ref().is_some_and(|flight| flight.id == id) {
            self.fail(now, false);
        }
        self.end_if_gone(now);
    }

    fn answered(&mut self, now: Mono, flight: Flight, response: Response) {
        let current = flight.member_id == self.member_id
            && !matches!(self.phase, Phase::Leaving { .. } | Phase::Ended);
        match (flight.kind.clone(), response) {
            (Kind::Find, Response::Coordinator(broker)) => {
                self.begin_tenure(now, broker);
                (self.due, self.beat_due, self.commit_due) = (now, now, now);
            }
            (Kind::Leave, response) => self.departed(now, flight.member_id, &response),
            (Kind::Find, Response::Refused { refusal, .. }) => self.refused(now, refusal),
            // It speaks of a member that this one is not any more.
            (
                Kind::Beat { .. }
                | Kind::Offsets
                | Kind::Leaders
                | Kind::Members
                | Kind::Commit(_)
                | Kind::Session { .. },
                _,
            ) if !current => {}
            (Kind::Beat { whole: false, .. }, Response::Beaten(reply)) if self.whole => {
                self.overtaken(now, flight.sent, &reply);
            }
            (Kind::Beat { owned, .. }, Response::Beaten(reply)) => {
                self.beaten(now, flight.sent, owned, reply);
            }
            (Kind::Beat { epoch, owned, .. }, Response::Refused { refusal, .. }) => {
                self.refused_beat(now, epoch, owned.is_some(), refusal);
            }
            (Kind::Offsets, Response::Offsets(last)) => self.read(now, &last),
            (Kind::Leaders, Response::Leaders(led)) => self.led(flight.sent, led),
            (Kind::Members, Response::Members(count)) => self.left_behind(now, count),
            (Kind::Members, Response::Refused { refusal, .. }) => self.unknown(now, refusal),
            (Kind::Commit(fences), Response::Done) => {
                self.backoff.succeeded();
                self.committed = Some(flight.sent);
                self.adopt(now, &fences);
            }
            (Kind::Session { beaten }, Response::Session(session)) => {
                self.assure(beaten, session);
            }
            (
                Kind::Offsets | Kind::Leaders | Kind::Commit(_) | Kind::Session { .. },
                Response::Refused { refusal, .. },
            ) => self.refused_sign(now, refusal),
            // No answer to what was asked: the connection is no good.
            (_, _) => {
                self.flight = Some(flight);
                self.fail(now, true);
            }
        }
    }

    /// A heartbeat was answered that left before the member lost what it held. It says that the
    /// group counts the member in, and a whole one what the member may hold.
    fn overtaken(&mut self, now: Mono, sent: Mono, reply: &Beaten) {
        self.counted_in(now, sent, reply);
        self.beat_due = now;
    }

    fn counted_in(&mut self, now: Mono, sent: Mono, reply: &Beaten) {
        self.contact = self.contact.max(sent);
        self.backoff.succeeded();
        self.obscure = 0;
        (self.phase, self.epoch, self.interval) = (Phase::Joined, reply.epoch, reply.interval);
        self.due = now;
    }

    /// A heartbeat was answered without an error.
    fn beaten(&mut self, now: Mono, sent: Mono, owned: Option<Share>, reply: Beaten) {
        self.counted_in(now, sent, &reply);
        self.beat_due = sent + reply.interval.max(Duration::from_millis(1));
        self.whole = false;
        if let Some(owned) = owned {
            self.releasing.retain(|it| owned.contains(it));
            self.acknowledged = Some(owned);
        }
        let names_share = reply.assignment.is_some();
        if let Some(mut given) = reply.assignment {
            given.retain(|it| it.partition.0 < self.config.group.width.get());
            if self.ghost && self.config.group.renews_id && given != self.given {
                return self.rejoin(now, now, false);
            }
            self.given = given;
        }
        self.reconcile(now);
        if self.proves() && names_share && self.releasing.is_empty() {
            self.beaten = Some(sent);
        }
    }

    /// A broker is the coordinator from now on. What another one answered proves what it did, and
    /// nothing together with what this one answers.
    fn begin_tenure(&mut self, now: Mono, broker: Broker) {
        if self.tenure.as_ref() != Some(&broker) {
            self.proved = self.since();
            (self.beaten, self.assured, self.committed) = (None, None, None);
            self.session_due = now;
            self.tenure = Some(broker.clone());
        }
        self.coordinator = Some(broker);
    }

    /// The latest instant at which the group counted the member in, as far as that is proved.
    pub(super) fn since(&self) -> Option<Mono> {
        let both = self.assured.zip(self.committed);
        self.proved.max(both.map(|(beaten, committed)| beaten.min(committed)))
    }

    /// The group's session was this after the heartbeat of that instant had been answered.
    fn assure(&mut self, beaten: Option<Mono>, session: Duration) {
        self.backoff.succeeded();
        if session >= self.config.group.session {
            // One that was lost since then proves nothing any more.
            self.assured = beaten.filter(|_| self.beaten.is_some());
        } else {
            (self.beaten, self.assured, self.proved) = (None, None, None);
        }
    }
}
