//! What the sidecar answers, as types: the page of its schema is made of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hold::Holder;
use crate::ids::{GroupName, MemberId, RoleName};
use crate::time::Mono;
use tandem_member::Claim;

/// The member leads the role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Leading {
    /// The role.
    pub role: RoleName,
    /// The group.
    pub group: GroupName,
    /// The member.
    pub member: MemberId,
    /// For how many milliseconds the claim lasts, counted from before the request was sent. Start a
    /// clock, then ask: the claim has not ended while the clock shows less.
    pub remaining_ms: u64,
    /// Whether nothing ends the claim sooner, so that no other member of the group leads before
    /// then. True in exclusive mode.
    pub promised: bool,
    /// In exclusive mode: a number above that of every earlier leader of the role. A store that
    /// refuses lower ones than it has seen refuses the writes of a leader that does not know of its
    /// end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<i64>,
}

/// The member does not lead the role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotLeading {
    /// The role.
    pub role: RoleName,
    /// The group.
    pub group: GroupName,
    /// The address that the leader advertises (`--advertise`), as this member heard it last: a
    /// hint, since the leader may have changed. Absent where none is known or advertised, and in
    /// exclusive and fast mode, where members state nothing of themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
}

/// Whether the program can do the work of a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a health, as in {\"well\": false}")]
pub struct HealthBody {
    /// If not, the member leaves its group, and joins again when it is well.
    pub well: bool,
}

/// Why a request failed, or why the member is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// A sentence.
    pub error: String,
}

/// One event of `GET /v1/events`, as its data. Its name is the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventBody {
    /// The member starts to lead these roles, or led them when the stream began.
    Claimed(Roles),
    /// The member no longer leads these roles.
    Lapsed(Roles),
    /// The member cannot reach its brokers.
    Unconnected(Problem),
    /// The member reaches its brokers again.
    Connected {},
    /// The member has left its group.
    Left {},
    /// The reader was too slow, and so many events were dropped.
    Missed {
        /// Their number.
        count: u64,
    },
}

/// The roles on one partition. They share their leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    /// The partition.
    pub partition: u32,
    /// The first hundred roles on it.
    pub roles: Vec<RoleName>,
    /// The number of roles on it.
    pub role_count: u32,
}

impl Leading {
    /// The claim, as it is now: later than the request arrived.
    pub(super) fn of(holder: &Holder, role: RoleName, claim: Claim) -> Self {
        let left = claim.remaining(Mono::now()).as_millis();
        Self {
            role,
            group: holder.group.clone(),
            member: holder.life.member.clone(),
            remaining_ms: u64::try_from(left).unwrap_or(u64::MAX),
            promised: holder.exclusive,
            fence: claim.fence,
        }
    }
}

impl EventBody {
    /// The name of the event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Claimed(_) => "claimed",
            Self::Lapsed(_) => "lapsed",
            Self::Unconnected(_) => "unconnected",
            Self::Connected {} => "connected",
            Self::Left {} => "left",
            Self::Missed { .. } => "missed",
        }
    }
}
