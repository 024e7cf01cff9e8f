//! When lives served last, by what they say themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use super::recent::retain_latest_of;
use crate::timeline::life::TICKLESS_NS_MAX;
use tandem_facts::ids::{Life, PartitionId};
use tandem_facts::observation::{Horizon, MemberEvent, What};
use tandem_facts::time::Mono;

/// A life that served nothing for longer than this before it died had another reason not to.
pub(super) const SILENT_MAX: Duration = Duration::from_secs(1);

/// The last ticks of the lives of one group, and the partitions that they were for.
#[derive(Debug, Clone, Default)]
pub(super) struct LastTicks(BTreeMap<Life, Option<(Mono, Vec<PartitionId>)>>);

impl LastTicks {
    /// Takes a fact that `life` wrote, in the order of `seq`.
    pub(super) fn hear(&mut self, life: &Life, what: &What) {
        let What::Member(event) = what else { return };
        let last = match event {
            MemberEvent::Ticks { until, partitions, .. } => Some((*until, partitions.clone())),
            // It stopped to serve something, and a life that goes on to serve says so soon.
            MemberEvent::Renewed { claims } if self.keeps(life, claims) => return,
            MemberEvent::Renewed { .. }
            | MemberEvent::Lapsed { .. }
            | MemberEvent::Revoked { .. }
            | MemberEvent::Lost { .. }
            | MemberEvent::Hole { .. }
            | MemberEvent::Leaving => None,
            MemberEvent::Assigned { .. }
            | MemberEvent::Claimed { .. }
            | MemberEvent::Clock { .. }
            | MemberEvent::Late { .. }
            | MemberEvent::Unconnected { .. }
            | MemberEvent::Connected
            | MemberEvent::Refused { .. } => return,
        };
        // Nearly all facts are of a life that is known, and need no copy of its name.
        match self.0.get_mut(life) {
            Some(known) => *known = last,
            None => drop(self.0.insert(life.clone(), last)),
        }
    }

    /// Whether these claims are on all that the life served last.
    fn keeps(&self, life: &Life, claims: &[Horizon]) -> bool {
        let named = |on: &PartitionId| claims.iter().any(|one| one.partition == *on);
        let last = self.0.get(life).and_then(Option::as_ref);
        last.is_none_or(|(_, served)| served.iter().all(named))
    }

    /// Since when the life served nothing more before it died, although it had not stopped to: the
    /// host did not let it, for longer than counts as service.
    pub(super) fn silent_since(&self, life: &Life, died: Mono) -> Option<Mono> {
        let last = self.0.get(life)?.as_ref()?.0;
        let silence = died.since(last);
        let counts = silence > Duration::from_nanos(TICKLESS_NS_MAX) && silence <= SILENT_MAX;
        counts.then_some(last)
    }

    /// Forgets all but the latest lives of each member.
    pub(super) fn retain_latest(&mut self) {
        retain_latest_of(&mut self.0);
    }
}
