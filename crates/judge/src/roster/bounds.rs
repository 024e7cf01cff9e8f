//! What a fault may cost a group at most: the bounds that a plan prints and a measurement must
//! respect.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_facts::time::Span;

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
    /// For how long a role may be without a leader.
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

impl Bounds {
    /// What it costs a group that members are cut off from all brokers: the victims' roles overlap
    /// as their isolation says, those that move among the others as at a death.
    #[must_use]
    pub fn cut_off(&self) -> Bound {
        let (own, others) = (self.isolation.overlap, self.kill.overlap);
        let overlap = Range { low: own.low.min(others.low), high: own.high.max(others.high) };
        Bound { gap: self.isolation.gap, overlap }
    }
}
