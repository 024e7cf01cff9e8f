//! What the events of a member say of its state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use tandem_member::{Event, Misfit};

/// Counters, and whether the member is in its group.
#[derive(Debug)]
pub(super) struct Status {
    /// Claims that have begun.
    pub(super) claimed: AtomicU64,
    /// Claims that have ended.
    pub(super) lapsed: AtomicU64,
    unready: Mutex<Option<String>>,
    member_id: Mutex<Option<String>>,
    /// Why the member has left its group for good, if it has.
    pub(super) refused: OnceLock<Misfit>,
}

impl Status {
    pub(super) fn new() -> Self {
        let unready = Some("the member has not joined its group yet".to_owned());
        let [claimed, lapsed] = [AtomicU64::new(0), AtomicU64::new(0)];
        let (unready, member_id) = (Mutex::new(unready), Mutex::default());
        Self { claimed, lapsed, unready, member_id, refused: OnceLock::new() }
    }

    /// Why the member cannot lead now, if it cannot.
    pub(super) fn unready(&self) -> Option<String> {
        self.unready.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The id by which the group knows the member, while it does.
    pub(super) fn member_id(&self) -> Option<String> {
        self.member_id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn known_as(&self, id: Option<&String>) {
        *self.member_id.lock().unwrap_or_else(PoisonError::into_inner) = id.cloned();
    }

    pub(super) fn note(&self, event: &Event) {
        let unready = match event {
            Event::Assigned(assignment) => {
                self.known_as(assignment.member_id.as_ref());
                None
            }
            Event::Connected => None,
            Event::Unconnected(why) => Some(format!("the brokers cannot be reached: {why}")),
            Event::Left => {
                self.known_as(None);
                Some("the member has left its group".to_owned())
            }
            Event::Refused(misfit) => {
                // Once.
                self.refused.set(misfit.clone()).ok();
                Some(misfit.to_string())
            }
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
