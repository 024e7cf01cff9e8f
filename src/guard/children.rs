//! The processes that a run has started. Their CPU time counts as the run's own.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The processes of one run, including its guard. The caller that finds a process gone removes it.
#[derive(Debug, Default)]
pub struct Children(Mutex<BTreeSet<u32>>);

impl Children {
    /// Adds a process.
    pub fn add(&self, pid: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    }

    /// Removes a process that has ended.
    pub fn remove(&self, pid: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
    }

    /// All processes.
    #[must_use]
    pub fn all(&self) -> BTreeSet<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
