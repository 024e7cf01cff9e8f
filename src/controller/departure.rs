//! Leaves a group for a member whose process has died (`on_death: leave`, `stand-in`).

use std::time::Duration;

use tandem_member::{Config, leave_for};

use super::Clusters;
use crate::guard::end_marked;
use crate::ids::Life;
use crate::topology::{OnDeath, PlannedGroup};

/// A group that does not hear of the leave within this waits for the session anyway.
const WITHIN: Duration = Duration::from_secs(5);

/// Leaves for the dead members of one group.
#[derive(Clone)]
pub(super) struct Departures {
    /// How to reach the group, not through the edges of a member; `None` if sessions expire.
    config: Option<Config>,
}

impl Departures {
    pub(super) fn of(group: &PlannedGroup, config: &Config, clusters: &Clusters) -> Self {
        let leaves = match group.pace.on_death {
            OnDeath::Leave | OnDeath::StandIn => true,
            OnDeath::Expire => false,
        };
        let direct = || Config { cluster: clusters.of_members(&group.cluster), ..config.clone() };
        Self { config: leaves.then(direct) }
    }

    /// Leaves for `life`, which is dead, on a thread of its own. `member_id` is the id by which the
    /// group knew it last, if it was in the group. `work` marks its programs: before all of them
    /// have ended, no other member may lead.
    pub(super) fn leave_for(&self, life: &Life, member_id: Option<String>, work: Option<String>) {
        let group = self.config.clone().zip(member_id);
        if group.is_none() && work.is_none() {
            return;
        }
        let own = life.clone();
        let leave = move || {
            if let Some(Err(error)) = work.as_deref().map(end_marked) {
                let error = crate::error::chain(&error);
                tracing::error!(life = %own, error, "Programs of a dead member do not end.");
                return;
            }
            let Some((config, member_id)) = group else { return };
            let config = Config { life: own.clone(), ..config };
            match leave_for(&config, &member_id, WITHIN) {
                Ok(()) => tracing::debug!(life = %own, "The group was left for a dead member."),
                Err(error) => {
                    let error = crate::error::chain(&error);
                    tracing::warn!(life = %own, error, "Nothing left the group for the dead.");
                }
            }
        };
        let thread = std::thread::Builder::new().name("departure".to_owned());
        if let Err(error) = thread.spawn(leave) {
            tracing::warn!(%life, %error, "Nothing left the group for a dead member.");
        }
    }
}
