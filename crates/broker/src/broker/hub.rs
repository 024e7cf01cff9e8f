//! The one lock, and the alarm of the coordinator behind it.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::budget::Budget;
use super::settings::Settings;
use super::state::State;
use tandem_facts::time::{Mono, Wall};

/// How often retention is looked after.
const SWEEP: std::time::Duration = std::time::Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Hub {
    inner: Mutex<Inner>,
    earlier: Notify,
    /// What all connections together may hold.
    pub(super) budget: Budget,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// What the alarm task sleeps until.
    armed: Option<Mono>,
}

impl Hub {
    pub(super) fn new(settings: Settings) -> Self {
        let budget = Budget::new(settings.transit_bytes_max, settings.room_within);
        let inner = Inner { state: State::new(settings), armed: None };
        Self { inner: Mutex::new(inner), earlier: Notify::new(), budget }
    }

    /// Works on the state, hands out what the work made ready, and sets the alarm.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        // A handler that panicked leaves a state that is as good as any request can make it.
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

    /// Fires the coordinator's timers, and sweeps the logs once a second. Never returns.
    pub(super) async fn watch(&self) {
        let mut swept = Mono::now();
        loop {
            let now = Mono::now();
            if now.since(swept) >= SWEEP {
                swept = now;
                self.with(|state| state.retain(Wall::now()));
            }
            let due = self.fire(now).map_or(swept + SWEEP, |due| due.min(swept + SWEEP));
            // Both may be dropped at any time: the next round looks at the clock, not at them.
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
