//! What a fault may cost: the bounds that a plan prints and a measurement must respect.

use std::time::Duration;

use super::terms::FIRST_MESSAGE;
use super::{Mode, Terms};
use crate::roster::{Bound, Bounds, Range};

/// How far apart members may reach their brokers again: the longest wait of a client between two
/// attempts, 200 ms, which it draws up to half as long again.
pub const RECONNECT: Duration = Duration::from_millis(300);
/// A broker refuses to let members join while it reads what it knew of their group, and librdkafka
/// tries again a second after it was refused.
const JOIN_AGAIN: Duration = Duration::from_secs(1);
/// What a member that was stopped may still believe while it drains what it missed.
const DRAIN: Duration = Duration::from_millis(200);

/// The bounds of a group with these terms, where no pause is longer than `longest_pause`; it is
/// unlimited where nothing is said.
#[must_use]
pub fn bounds(terms: &Terms, longest_pause: Option<Duration>) -> Bounds {
    let threshold = terms.threshold;
    let (moved, joined) = match terms.mode {
        Mode::NonExclusive => (threshold, (terms.handover() + terms.age).saturating_sub(threshold)),
        // Each rebalance revokes, and a revocation ends the claim before the member joins again.
        Mode::Fast => (Duration::ZERO, terms.handover()),
    };
    let moved = to(moved);
    Bounds {
        kill: Bound { gap: Range::new(terms.soonest(), terms.takeover()), overlap: moved },
        leave: Bound { gap: to(terms.handover()), overlap: moved },
        isolation: Bound {
            gap: to(terms.seamless_threshold().saturating_sub(threshold)),
            overlap: to((threshold + terms.clock)
                .saturating_sub(terms.soonest())
                .saturating_sub(terms.grace)),
        },
        pause: pause(terms, longest_pause.unwrap_or(Duration::MAX)),
        restart: Bound { gap: to(joined), overlap: moved },
        broker: outage_bound(terms, terms.failover, Recall::Reads),
    }
}

/// What it costs a group that its brokers are down for `down`, where the broker that takes over
/// knows as much of the group as `recall` says. Clients find that broker only `L` later; members
/// may come back under new names, and wait for the sessions of their old ones. Meanwhile they
/// believe what they believed, for `T` from what they last heard. All come back, and what moved to
/// the first moves on to the last.
#[must_use]
pub fn outage_bound(terms: &Terms, down: Duration, recall: Recall) -> Bound {
    let (back, apart) = match recall {
        // A broker that forgets has one address, is found there, and knows no old names.
        Recall::Nothing => (terms.handover(), RECONNECT),
        Recall::All => (terms.search + terms.takeover(), RECONNECT),
        Recall::Reads => {
            let found = terms.search + JOIN_AGAIN;
            (found + terms.takeover(), found)
        }
    };
    let seamless = down + back + terms.age + terms.clock;
    Bound {
        gap: to(seamless.saturating_sub(terms.threshold)),
        overlap: to(terms.threshold + terms.handover() + apart),
    }
}

/// What a broker that is back knows of the groups that it coordinated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// Nothing: an embedded one is a new one.
    Nothing,
    /// All: it was only stopped.
    All,
    /// What it reads from its disk, or another's; meanwhile nobody joins.
    Reads,
}

/// A member that is stopped for `d` serves nothing meanwhile. When it wakes it still believes what
/// it believed, and the messages that waited for it renew that once more. In the fast mode only a
/// message that it sends after it woke does so, until its next heartbeat finds it expelled.
fn pause(terms: &Terms, d: Duration) -> Bound {
    let threshold = terms.threshold;
    let asleep = d.min(threshold).saturating_sub(terms.soonest()).saturating_sub(terms.grace);
    let (back, renewed) = match terms.mode {
        Mode::NonExclusive => (d, threshold),
        Mode::Fast => (d.saturating_add(FIRST_MESSAGE), Duration::ZERO),
    };
    Bound {
        gap: Range::new(d.min(terms.soonest()), back.min(terms.takeover())),
        overlap: to(asleep + renewed + terms.silence() + DRAIN),
    }
}

fn to(high: Duration) -> Range {
    Range::new(Duration::ZERO, high)
}
