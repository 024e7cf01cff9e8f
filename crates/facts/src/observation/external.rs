//! A member that Tandem did not start.

use std::fmt;

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
    /// Whether that is the clock of the run. If not, its instants cannot be compared with others:
    /// everything about it is unknown, and its own facts are not recorded.
    pub same_clock: bool,
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
