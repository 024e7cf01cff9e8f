//! Bounds on the cost of a fault to a group. A plan prints them, and a measurement must respect
//! them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_facts::time::Span;

/// The bounds of one group, by fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// A member dies (SIGKILL) or stops without leaving.
    pub kill: Bound,
    /// A member leaves the group and ends.
    pub leave: Bound,
    /// A member is cut off from the brokers, while its duty is still reachable. The overlap is that
    /// of its own roles; roles that move among other members overlap as after a death.
    pub isolation: Bound,
    /// A member is stopped for the longest such step, and continues.
    pub pause: Bound,
    /// A member joins, or joins again after a restart.
    pub restart: Bound,
    /// A member reaches its coordinator and hears nothing on a partition that it leads. The time is
    /// that after its claim has lapsed. None where it does not give way, so that nothing bounds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Bound>,
    /// A link between two living members ends, and each takes the other for dead, until its answer
    /// on the ledger says otherwise. None where members are not linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Bound>,
    /// The same while no member reaches the brokers: a stand-in ends with its term.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_and_brokers: Option<Bound>,
    /// The broker that coordinates the group dies; none if the cluster dies with it.
    pub broker: Bound,
}

/// As long as it lasts: of what nothing else ends. A year, the longest that a journal and a
/// topology may say.
pub const UNLIMITED: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Bounds on gaps in the served view, and on overlaps in the claimed view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// How long a role may have no leader.
    pub gap: Range,
    /// How long a role may have more than one leader.
    pub overlap: Range,
}

/// The least and the greatest possible duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The least.
    pub low: Span,
    /// The greatest.
    pub high: Span,
}

impl Range {
    /// The range from `low` to `high`.
    #[must_use]
    pub fn new(low: Duration, high: Duration) -> Self {
        Self { low: Span(low), high: Span(high) }
    }
}

impl Bounds {
    /// The bound for a group whose members are cut off from all brokers: the victims' roles overlap
    /// as in an isolation, and roles that move among other members as after a death.
    #[must_use]
    pub fn cut_off(&self) -> Bound {
        let (own, others) = (self.isolation.overlap, self.kill.overlap);
        let overlap = Range { low: own.low.min(others.low), high: own.high.max(others.high) };
        Bound { gap: self.isolation.gap, overlap }
    }
}
