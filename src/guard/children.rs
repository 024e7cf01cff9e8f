//! The processes that a run has started: what they use of the processors is its own doing.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The processes of one run, its guard among them. One that has ended is forgotten by whoever finds
/// it gone.
#[derive(Debug, Default)]
pub struct Children(Mutex<BTreeSet<u32>>);

impl Children {
    /// One more.
    pub fn add(&self, pid: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    }

    /// One has ended.
    pub fn remove(&self, pid: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> BTreeSet<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
