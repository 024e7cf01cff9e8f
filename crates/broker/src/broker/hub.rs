//! The broker's lock, and the timer of the coordinator behind it.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::budget::Budget;
use super::kept::Kept;
use super::settings::BrokerSettings;
use super::state::State;
use tandem_facts::time::{Mono, Wall};

/// The interval at which retention is applied.
const SWEEP: std::time::Duration = std::time::Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Hub {
    inner: Mutex<Inner>,
    earlier: Notify,
    /// The memory budget of all connections.
    pub(super) budget: Budget,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// The instant until which the timer task sleeps.
    armed: Option<Mono>,
}

impl Hub {
    pub(super) fn new(settings: BrokerSettings, kept: Kept) -> Self {
        let budget = Budget::new(settings.transit_bytes_max, settings.room_within);
        let inner = Inner { state: State::new(settings, kept), armed: None };
        Self { inner: Mutex::new(inner), earlier: Notify::new(), budget }
    }

    /// Runs `work` on the state, delivers the answers that it made ready, and sets the timer.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        // After a panic in a handler the state is as valid as after any request.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = work(&mut inner.state);
        inner.state.deliver();
        let due = inner.state.coordinator.poll_timeout();
        if due.is_some_and(|due| inner.armed.is_none_or(|armed| due < armed)) {
            inner.armed = due;
            self.earlier.notify_one();
        }
        answer
    }

    /// Fires the coordinator's timers, and applies retention once a second. Never returns.
    pub(super) async fn watch(&self) {
        let mut swept = Mono::now();
        loop {
            let now = Mono::now();
            if now.since(swept) >= SWEEP {
                swept = now;
                self.with(|state| state.retain(Wall::now()));
            }
            let due = self.fire(now).map_or(swept + SWEEP, |due| due.min(swept + SWEEP));
            // Both arms are cancel-safe: the next round checks the clock.
            tokio::select! {
                () = self.earlier.notified() => {}
                () = tokio::time::sleep(due.since(Mono::now())) => {}
            }
        }
    }

    fn fire(&self, now: Mono) -> Option<Mono> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.state.coordinator.handle_timeout(now);
        inner.state.deliver();
        inner.armed = inner.state.coordinator.poll_timeout();
        inner.armed
    }
}
