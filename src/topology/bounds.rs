//! What a fault may cost: the bounds that a plan prints and a measurement must respect.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Terms;
use crate::time::Span;

/// The bounds of one group, by fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// A member dies (SIGKILL), or stops without leaving.
    pub kill: Bound,
    /// A member leaves the group, then ends.
    pub leave: Bound,
    /// A member is cut off from the brokers; its duty is still reachable. The overlap is that of
    /// its own roles; those that move among the others overlap as at a death.
    pub isolation: Bound,
    /// A member is stopped for the longest such step, and wakes.
    pub pause: Bound,
    /// A member joins, or comes back.
    pub restart: Bound,
    /// The broker that coordinates the group dies; nothing where that takes the cluster with it.
    pub broker: Bound,
}

/// Gaps in the served view, overlaps in the claimed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// For how long a role may be led by nobody.
    pub gap: Range,
    /// For how long by more than one.
    pub overlap: Range,
}

/// The least and the most, both possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The least.
    pub low: Span,
    /// The most.
    pub high: Span,
}

impl Range {
    /// From `low` to `high`.
    #[must_use]
    pub fn new(low: Duration, high: Duration) -> Self {
        Self { low: Span(low), high: Span(high) }
    }
}

/// How far apart members may reach their brokers again: the longest wait of a client between two
/// attempts, 200 ms, which it draws up to half as long again.
pub const RECONNECT: Duration = Duration::from_millis(300);
/// A broker refuses to let members join while it reads what it knew of their group, and librdkafka
/// tries again a second after it was refused.
const JOIN_AGAIN: Duration = Duration::from_secs(1);
/// What a member that was stopped may still believe while it drains what it missed.
const DRAIN: Duration = Duration::from_millis(200);

impl Bounds {
    /// The bounds of a group with these terms, where no pause is longer than `longest_pause`; it is
    /// unlimited where nothing is said.
    #[must_use]
    pub fn of(terms: &Terms, longest_pause: Option<Duration>) -> Self {
        let threshold = terms.threshold;
        let moved = to(threshold);
        Self {
            kill: Bound { gap: Range::new(terms.soonest(), terms.takeover()), overlap: moved },
            leave: Bound { gap: to(terms.handover()), overlap: moved },
            isolation: Bound {
                gap: to(terms.seamless_threshold().saturating_sub(threshold)),
                overlap: to((threshold + terms.clock)
                    .saturating_sub(terms.soonest())
                    .saturating_sub(terms.grace)),
            },
            pause: pause(terms, longest_pause.unwrap_or(Duration::MAX)),
            restart: Bound {
                gap: to((terms.handover() + terms.age).saturating_sub(threshold)),
                overlap: moved,
            },
            broker: Self::outage(terms, terms.failover, Recall::Reads),
        }
    }

    /// What it costs a group that members are cut off from all brokers: the victims' roles overlap
    /// as their isolation says, those that move among the others as at a death.
    #[must_use]
    pub fn cut_off(&self) -> Bound {
        let (own, others) = (self.isolation.overlap, self.kill.overlap);
        let overlap = Range { low: own.low.min(others.low), high: own.high.max(others.high) };
        Bound { gap: self.isolation.gap, overlap }
    }

    /// What it costs a group that nobody does the work of its brokers for `down`, and that whoever
    /// does it then knows that much of the group. Clients find that one only `L` later; members may
    /// come back under new names, and wait for the sessions of their old ones. Meanwhile they
    /// believe what they believed, for `T` from what they last heard. All come back, and what moved
    /// to the first moves on to the last.
    #[must_use]
    pub fn outage(terms: &Terms, down: Duration, recall: Recall) -> Bound {
        let (back, apart) = match recall {
            // Who forgets has one address, is found there, and knows no old names.
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
/// it believed, and the messages that waited for it renew that once more.
fn pause(terms: &Terms, d: Duration) -> Bound {
    let threshold = terms.threshold;
    let asleep = d.min(threshold).saturating_sub(terms.soonest()).saturating_sub(terms.grace);
    Bound {
        gap: Range::new(d.min(terms.soonest()), d.min(terms.takeover())),
        overlap: to(asleep + threshold + terms.silence() + DRAIN),
    }
}

fn to(high: Duration) -> Range {
    Range::new(Duration::ZERO, high)
}
