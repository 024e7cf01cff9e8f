//! The events of a member, for any number of receivers.

use tandem_facts::time::Mono;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::Event;

/// The most events that a receiver may be behind; older ones are dropped for it.
pub(crate) const BEHIND_MAX: usize = 256;

/// The events of a member since [`Member::events`](crate::Member::events) was called, in order.
#[derive(Debug)]
pub struct Events {
    received: broadcast::Receiver<(Mono, Event)>,
}

/// What a receiver gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// An event, and when it happened.
    Event(Mono, Event),
    /// The receiver was more than 256 events behind, and so many were dropped.
    Missed(u64),
}

impl Events {
    pub(crate) const fn new(received: broadcast::Receiver<(Mono, Event)>) -> Self {
        Self { received }
    }

    /// Waits for the next event; none once the member has left. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Next> {
        match self.received.recv().await {
            Ok((at, event)) => Some(Next::Event(at, event)),
            Err(RecvError::Lagged(count)) => Some(Next::Missed(count)),
            Err(RecvError::Closed) => None,
        }
    }

    /// The same, for a thread outside of a tokio runtime.
    ///
    /// # Panics
    /// Within a runtime, whose thread it would block.
    pub fn wait(&mut self) -> Option<Next> {
        match self.received.blocking_recv() {
            Ok((at, event)) => Some(Next::Event(at, event)),
            Err(RecvError::Lagged(count)) => Some(Next::Missed(count)),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next event, if there is one already.
    pub fn take(&mut self) -> Option<Next> {
        match self.received.try_recv() {
            Ok((at, event)) => Some(Next::Event(at, event)),
            Err(TryRecvError::Lagged(count)) => Some(Next::Missed(count)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}
