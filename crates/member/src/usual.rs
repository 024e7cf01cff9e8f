//! Durations that fit each other, and a folder, for settings that are not given.

use std::path::PathBuf;
use std::time::Duration;

use tandem_facts::observation::Mode;

/// `S`.
pub const SESSION: Duration = Duration::from_secs(1);
/// A shorter heartbeat loads the coordinator more than it gains.
const HEARTBEAT_LEAST: Duration = Duration::from_millis(30);
const BEACON_MOST: Duration = Duration::from_millis(100);
/// A shorter silence is no sign of anything.
pub(crate) const SUSPECT_LEAST: Duration = Duration::from_millis(20);
/// What brokers add to a takeover: they notice late that a session has expired, answer, and deliver
/// the first message, twice.
const BROKERS: Duration = Duration::from_millis(250);
/// In the exclusive mode a claim ends at least this part of a session before its member can be
/// expelled: the clocks of two hosts run at different rates, by less than that.
const MARGIN: u32 = 100;

/// `h`: ten heartbeats a session, but not more than one each 30 ms.
#[must_use]
pub fn heartbeat(session: Duration) -> Duration {
    (session / 10).max(HEARTBEAT_LEAST)
}

/// The longest wait in one poll. librdkafka sends heartbeats when its main loop wakes: half the
/// interval keeps them on time, and a twentieth is no more than a long interval needs.
#[must_use]
pub fn wake(heartbeat: Duration) -> Duration {
    let most = (heartbeat / 20).max(Duration::from_millis(50));
    (heartbeat / 2).clamp(Duration::from_millis(10), most)
}

/// `T`, in the fast mode `Q`.
#[must_use]
pub fn threshold(mode: Mode, session: Duration) -> Duration {
    match mode {
        // A claim outlives the session of a dead member, the rebalance, and the first message of
        // its successor.
        Mode::NonExclusive => session.saturating_mul(3),
        // A leader that hears nothing knows it before its group gives it up. The paper's is
        // "significantly lower" than the session.
        Mode::Fast | Mode::ExclusivePaper => session / 2,
        Mode::Exclusive => session * 4 / 5,
    }
}

/// The longest `T` of the exclusive mode.
#[must_use]
pub fn exclusive_threshold_most(session: Duration) -> Duration {
    session.saturating_sub(session / MARGIN)
}

/// How long a stand-in leads if no newer owner does: a session, and two rebalances, of which each
/// begins with a heartbeat and two polls.
#[must_use]
pub fn stand_in(session: Duration, heartbeat: Duration) -> Duration {
    session + 2 * (heartbeat + 2 * wake(heartbeat)) + BROKERS
}

/// `tau`: at least three beacons a threshold, and one each 100 ms.
#[must_use]
pub fn beacon(threshold: Duration) -> Duration {
    BEACON_MOST.min(threshold / 3)
}

/// The folder in which the members of a host keep the highest fence of each exclusive group:
/// `tandem/fences` in `$XDG_STATE_HOME`, or in `~/.local/state`.
#[must_use]
pub fn fences() -> PathBuf {
    tandem_host::state_home().join("tandem/fences")
}
