//! A member that Tandem did not start.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::GroupName;

/// A member that Tandem did not start: the plan does not name it, and its process is seen by
/// another one beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct External {
    /// The group that it is a member of.
    pub group: GroupName,
    /// The clock that stamps its facts.
    pub clock: ClockDomain,
    /// Whether that is the clock of the run. If not, its instants are those of another clock.
    pub same_clock: bool,
    /// Where it is another clock that was compared with that of the run: the instants of the life
    /// are given on the clock of the run, and each may be off by so much in either direction.
    /// Without it nothing is known of a life with another clock, and its own facts are not
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<u64>,
}

impl External {
    /// How far the instants of the life may be off; none if they mean nothing here.
    #[must_use]
    pub fn error(&self) -> Option<Duration> {
        match self.same_clock {
            true => Some(Duration::ZERO),
            false => self.error_ns.map(Duration::from_nanos),
        }
    }
}

/// Where instants can be compared directly: all processes of one boot and one time namespace share
/// the clock CLOCK_BOOTTIME.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ClockDomain {
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// The inode of `/proc/self/ns/time`; 0 where the kernel has no time namespaces.
    pub time_namespace: u64,
}

impl fmt::Display for ClockDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "boot {}, time namespace {}", self.boot, self.time_namespace)
    }
}
