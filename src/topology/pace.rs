//! The durations and the rules of a group, with defaults applied.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GroupProtocol, MembershipClient};
use crate::neli::Publishers;
use crate::roster::Mode;
use crate::time::Span;

/// The durations and the rules of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// When a claim holds, and what ends it.
    pub mode: Mode,
    /// `S`: the broker reassigns the partitions of a member that has been silent for this long.
    pub session: Span,
    /// `h`: how often a member sends a heartbeat to the broker.
    pub heartbeat: Span,
    /// The longest that a member waits in one poll; `h'` is `h` plus this.
    pub wake: Span,
    /// `tau`: how often a member publishes on every partition.
    pub beacon: Span,
    /// Who does so.
    #[serde(default, skip_serializing_if = "Beacons::is_all")]
    pub beacons: Beacons,
    /// `T`: how long a claim outlives the last message of its partition.
    pub threshold: Span,
    /// In the exclusive mode: how long a claim outlives a revocation.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub hold: Span,
    /// `e`, in the paper's exclusive mode: how far the clocks of members and brokers may differ.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub clock_error: Span,
    /// `G`, in the paper's exclusive mode: how long a new owner waits before it leads.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub grace: Span,
    /// How the group hands out partitions.
    pub assignor: Assignor,
    /// What speaks for a member in its group.
    #[serde(default)]
    pub membership: MembershipClient,
    /// Kafka's group protocol.
    #[serde(default, skip_serializing_if = "GroupProtocol::is_classic")]
    pub protocol: GroupProtocol,
    /// How long a group of the newer protocol waits before it shares out its partitions again.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub assignment: Span,
    /// Whether a member gives up a partition as soon as another states that it leads it.
    #[serde(default)]
    pub handover: bool,
    /// Whether members are static: the group keeps the place of one that has left for a session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub static_members: bool,
    /// What happens to a dead member's place in its group.
    #[serde(default)]
    pub on_death: OnDeath,
    /// A member that is silent on the mesh for this long is stood in for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<Span>,
    /// How long after a claim the program of the user serves; nothing without one.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub starts_within: Span,
    /// How long before the end of a claim that is not renewed that program is asked to end.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub stops_before: Span,
}

/// Who publishes on a partition each `beacon`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Beacons {
    /// All members, as first published.
    #[default]
    All,
    /// Those that hold or claim it. Every member publishes on the others each third of the
    /// threshold.
    Owners,
}

impl Beacons {
    /// Serde wants a reference.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::All => Self::Owners,
            Self::Owners => Self::All,
        }
    }
}

impl From<Beacons> for Publishers {
    fn from(beacons: Beacons) -> Self {
        match beacons {
            Beacons::All => Self::All,
            Beacons::Owners => Self::Owners,
        }
    }
}

/// A set of defaults. What a group sets itself goes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The best that Tandem knows for the mode.
    #[default]
    Tandem,
    /// The protocol as first published: librdkafka joins the group, and members do not hand over.
    Paper,
}

/// What happens to a member's place in its group when its process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnDeath {
    /// The group waits for the rest of its session.
    #[default]
    Expire,
    /// The controller leaves the group for it at once.
    Leave,
    /// The other members, which are linked to it, lead its partitions at once, until the group has
    /// given them to others. The controller leaves the group for it as well.
    StandIn,
}

/// `partition.assignment.strategy`, a property of the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignor {
    /// Partition after partition, member after member.
    Roundrobin,
    /// Contiguous runs.
    Range,
    /// Moves few partitions; a join takes a second.
    CooperativeSticky,
    /// Even shares, with few partitions moved; by the brokers, with `protocol: consumer`.
    Uniform,
}

impl Assignor {
    /// The name that clients know.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Roundrobin => "roundrobin",
            Self::Range => "range",
            Self::CooperativeSticky => "cooperative-sticky",
            Self::Uniform => "uniform",
        }
    }
}
