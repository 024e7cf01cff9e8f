//! Wakes the member's loop: it waits for messages of the ledger, and the mesh cannot wait for it.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Rung by any thread, heard by one. A ring without a waiting thread is heard by the next wait.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    /// Wakes the waiting thread.
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rings.notify_one();
    }

    /// Waits for a ring, for at most `within`.
    pub(crate) fn wait(&self, within: Duration) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.rings.wait_timeout_while(rung, within, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use tandem_facts::time::Mono;

    use super::*;

    #[test]
    fn a_ring_ends_the_wait_and_an_earlier_one_is_not_lost() {
        // No host takes as long for a ring.
        let unheard = Duration::from_secs(150);
        let bell = Arc::new(Bell::default());
        let began = Mono::now();
        bell.ring();
        bell.wait(unheard);
        let other = Arc::clone(&bell);
        let ringer = std::thread::spawn(move || other.ring());
        bell.wait(unheard);
        assert!(Mono::now().since(began) < unheard, "a wait ended by itself");
        ringer.join().unwrap();
        bell.wait(Duration::from_millis(1));
    }
}
