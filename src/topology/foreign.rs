//! `foreign` of a group: whether its consumer group may have members that the run did not start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ClusterFacts, Finding, PlannedGroup, Weight};
use crate::ids::GroupName;

/// Whether others may be in the consumer group of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Foreign {
    /// A run does not start while there are any.
    #[default]
    Refuse,
    /// What they hold is unknown, and never a gap.
    Allow,
}

impl Foreign {
    /// Whether there may be none.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        *self == Self::Refuse
    }
}

/// What is said of the others that are there, if there are any.
pub(super) fn finding(
    name: &GroupName,
    group: &PlannedGroup,
    facts: &ClusterFacts,
) -> Option<Finding> {
    let consumer_group = &group.consumer_group;
    // All members of a group without members of ours are strangers.
    let seen = facts.strangers.get(consumer_group).filter(|_| group.is_started())?;
    if seen.is_empty() {
        return None;
    }
    let names = seen.join(", ");
    Some(match group.foreign {
        Foreign::Refuse => Finding::new(
            Weight::Refused,
            format!(
                "consumer group {consumer_group} of group {name} has members that are not ours \
                 ({names}): stop them, set another `consumer_group`, or let them be there with \
                 `foreign: allow`"
            ),
        ),
        Foreign::Allow => Finding::new(
            Weight::Warned,
            format!(
                "consumer group {consumer_group} of group {name} has members that are not ours \
                 ({names}): what they hold is unknown"
            ),
        ),
    })
}
