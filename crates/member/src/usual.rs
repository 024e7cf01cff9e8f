//! Durations that fit each other, for settings that are not given.

use std::time::Duration;

use tandem_facts::observation::Mode;

/// `S`.
pub const SESSION: Duration = Duration::from_secs(1);
/// A shorter heartbeat loads the coordinator more than it gains.
const HEARTBEAT_LEAST: Duration = Duration::from_millis(30);
const BEACON_MOST: Duration = Duration::from_millis(100);
/// In the exclusive mode a claim ends at least this part of a session before its member can be
/// expelled: the clocks of two hosts run at different rates, by less than that.
const MARGIN: u32 = 100;

/// `h`: ten heartbeats a session, but not more than one each 30 ms.
#[must_use]
pub fn heartbeat(session: Duration) -> Duration {
    (session / 10).max(HEARTBEAT_LEAST)
}

/// The longest wait in one poll. librdkafka sends heartbeats when its main loop wakes: half the
/// interval keeps them on time.
#[must_use]
pub fn wake(heartbeat: Duration) -> Duration {
    (heartbeat / 2).clamp(Duration::from_millis(10), Duration::from_millis(50))
}

/// `T`, in the fast mode `Q`.
#[must_use]
pub fn threshold(mode: Mode, session: Duration) -> Duration {
    match mode {
        // A claim outlives the session of a dead member, the rebalance, and the first message of
        // its successor.
        Mode::NonExclusive => session.saturating_mul(3),
        // A leader that hears nothing knows it before its group gives it up.
        Mode::Fast => session / 2,
        Mode::Exclusive => session * 4 / 5,
    }
}

/// The longest `T` of the exclusive mode.
#[must_use]
pub fn exclusive_threshold_most(session: Duration) -> Duration {
    session.saturating_sub(session / MARGIN)
}

/// `tau`: at least three beacons a threshold, and one each 100 ms.
#[must_use]
pub fn beacon(threshold: Duration) -> Duration {
    BEACON_MOST.min(threshold / 3)
}
