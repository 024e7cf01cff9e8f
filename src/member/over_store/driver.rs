//! The member's thread: it feeds the core, and carries out what the core says.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tandem_member::Event;

use super::{Input, Store};
use crate::member::reporter::{Contact, Fenced, RENEWAL, Reporter};
use crate::neli::elections::over_store::OverStore;
use crate::time::Mono;

/// One member, with its connection to the store.
pub(super) struct Driver<S: Store> {
    core: S::Core,
    store: S,
    reporter: Reporter,
    contact: Contact,
}

impl<S: Store> Driver<S> {
    pub(super) fn new(
        now: Mono,
        core: S::Core,
        store: S,
        silence: Duration,
        reporter: Reporter,
    ) -> Self {
        Self { core, store, reporter, contact: Contact::new(now, silence) }
    }

    /// Runs until the member has left.
    pub(super) fn live(mut self, inputs: &Receiver<Input<S::Core>>) {
        self.core.handle_timeout(Mono::now());
        self.drain();
        while !self.core.is_gone() {
            let now = Mono::now();
            let due = self.core.poll_timeout().map_or(RENEWAL, |due| due.since(now));
            let input = inputs.recv_timeout(due.min(RENEWAL));
            let now = Mono::now();
            match input {
                Ok(Input::Answer(number, answer, why)) => {
                    tracing::debug!(store = S::NAME, number, ?answer, ?why, "An answer.");
                    let refused = || why.unwrap_or_else(|| format!("{} refuses requests", S::NAME));
                    self.contact.look(now, S::reached(&answer), &self.reporter, refused);
                    self.store.warn_of(&answer);
                    self.core.handle_answer(now, number, answer);
                }
                Ok(Input::Watched(number, watched)) => {
                    tracing::debug!(store = S::NAME, number, ?watched, "A watch reports.");
                    self.core.handle_watched(now, number, watched);
                }
                Ok(Input::Clock(skew)) => self.reporter.shift_clock(now, skew),
                Ok(Input::Leave) => {
                    self.core.handle_leave(now);
                    self.publish(now);
                    self.reporter.report(now, Event::Left);
                }
                Err(RecvTimeoutError::Timeout) => self.core.handle_timeout(now),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.drain();
        }
    }

    /// Carries out the outputs of the core. A claim that ended is published before a request
    /// leaves: the request may have the store forget the member.
    fn drain(&mut self) {
        let now = Mono::now();
        let claims = self.publish(now);
        while let Some((number, request)) = self.core.poll_request(Mono::now()) {
            tracing::debug!(store = S::NAME, number, ?request, "A request.");
            self.store.send(number, request);
        }
        self.reporter.renew(now, &claims);
    }

    fn publish(&mut self, now: Mono) -> Fenced {
        let core = &mut self.core;
        let claims =
            core.claims().map(|claim| (claim.partition, (claim, core.fence(claim.partition))));
        let claims: Fenced = claims.collect();
        let joined = core.has_joined();
        self.reporter.publish(now, &claims, joined, std::iter::from_fn(|| core.poll_event()));
        claims
    }
}
