//! A member of which only its election knows what it says: for the thread that drives it.

use super::{Elects, Frame, Generation, Member, Message, Peer, Votes};
use crate::Event;
use tandem_facts::observation::Horizon;
use tandem_facts::time::Mono;

/// [`Member`], with its messages as bytes.
pub trait Core {
    /// See [`Member::handle_timeout`].
    fn handle_timeout(&mut self, now: Mono);
    /// See [`Member::handle_message`]. Bytes of no message are dropped.
    fn handle_frame(&mut self, now: Mono, from: Peer, frame: Frame);
    /// See [`Member::handle_saved`].
    fn handle_saved(&mut self, now: Mono, number: u64);
    /// See [`Member::handle_leave`].
    fn handle_leave(&mut self, now: Mono);
    /// See [`Member::is_gone`].
    fn is_gone(&self) -> bool;
    /// See [`Member::has_joined`].
    fn has_joined(&self) -> bool;
    /// See [`Member::poll_timeout`].
    fn poll_timeout(&self) -> Option<Mono>;
    /// See [`Member::poll_message`].
    fn poll_frame(&mut self) -> Option<(Peer, Frame)>;
    /// See [`Member::poll_save`].
    fn poll_save(&mut self) -> Option<(u64, Votes)>;
    /// See [`Member::poll_event`].
    fn poll_event(&mut self) -> Option<Event>;
    /// See [`Member::claims`] and [`Member::fence`].
    fn claims(&self) -> Vec<(Horizon, Option<Generation>)>;
}

impl<E: Elects> Core for Member<E> {
    fn handle_timeout(&mut self, now: Mono) {
        self.handle_timeout(now);
    }

    fn handle_frame(&mut self, now: Mono, from: Peer, frame: Frame) {
        match Message::decode(frame) {
            Some(message) => self.handle_message(now, from, message),
            None => self.handle_timeout(now),
        }
    }

    fn handle_saved(&mut self, now: Mono, number: u64) {
        self.handle_saved(now, number);
    }

    fn handle_leave(&mut self, now: Mono) {
        self.handle_leave(now);
    }

    fn is_gone(&self) -> bool {
        self.is_gone()
    }

    fn has_joined(&self) -> bool {
        self.has_joined()
    }

    fn poll_timeout(&self) -> Option<Mono> {
        self.poll_timeout()
    }

    fn poll_frame(&mut self) -> Option<(Peer, Frame)> {
        self.poll_message().map(|(to, message)| (to, message.encode()))
    }

    fn poll_save(&mut self) -> Option<(u64, Votes)> {
        self.poll_save()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.poll_event()
    }

    fn claims(&self) -> Vec<(Horizon, Option<Generation>)> {
        self.claims().map(|claim| (claim, self.fence(claim.partition))).collect()
    }
}
