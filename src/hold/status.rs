//! What the events of a member say of its state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tandem_member::Event;

/// Counters, and whether the member is in its group.
#[derive(Debug)]
pub(super) struct Status {
    /// Claims that have begun.
    pub(super) claimed: AtomicU64,
    /// Claims that have ended.
    pub(super) lapsed: AtomicU64,
    unready: Mutex<Option<String>>,
}

impl Status {
    pub(super) fn new() -> Self {
        let unready = Some("the member has not joined its group yet".to_owned());
        Self { claimed: AtomicU64::new(0), lapsed: AtomicU64::new(0), unready: Mutex::new(unready) }
    }

    /// Why the member cannot lead now, if it cannot.
    pub(super) fn unready(&self) -> Option<String> {
        self.unready.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note(&self, event: &Event) {
        let unready = match event {
            Event::Assigned(_) | Event::Connected => None,
            Event::Unconnected(why) => Some(format!("the brokers cannot be reached: {why}")),
            Event::Left => Some("the member has left its group".to_owned()),
            Event::Claimed { .. } => {
                self.claimed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Event::Lapsed { .. } => {
                self.lapsed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Event::Revoked(_) | Event::Lost(_) | Event::Renewed(_) | Event::Clock(_) => return,
        };
        *self.unready.lock().unwrap_or_else(PoisonError::into_inner) = unready;
    }
}
