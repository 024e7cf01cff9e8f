//! What was found in the trials: intervals, each with its role, trial, cause and uncertainty.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lane::{Sight, uncertainty};
use super::{Cause, GroupLine, Interval, IntervalSet, Lane, Lanes, Trial, View};
use crate::roster::{Roster, RosterGroup};
use tandem_facts::ids::{GroupName, PartitionId, RoleIndex, TrialNumber};
use tandem_facts::time::Mono;

/// One interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whose.
    pub role: RoleIndex,
    /// In which trial.
    pub trial: TrialNumber,
    /// From when to when, cut to the trial. A takeover without a gap has no length.
    pub span: Interval,
    /// Why it began.
    pub cause: Cause,
    /// How far from the truth its length may be, as a sum over both ends.
    pub uncertainty: Duration,
    /// It was still open when its trial ended: it is at least as long as this.
    pub censored: bool,
}

/// All intervals of one group, or of all together. Samples are per role: roles that share a
/// partition each have their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Nobody served.
    pub gaps: Vec<Finding>,
    /// Two or more claimed.
    pub overlaps: Vec<Finding>,
    /// Service passed from one life to another; of groups only.
    pub takeovers: Vec<Finding>,
    /// Nobody may have served.
    pub unknown_gaps: Vec<Finding>,
    /// Two or more may have claimed.
    pub unknown_overlaps: Vec<Finding>,
}

/// Where and when something was seen.
struct Place<'a, F> {
    role: RoleIndex,
    trial: &'a Trial,
    cause: &'a F,
}

impl Findings {
    pub(super) fn of_group(
        group: &RosterGroup,
        lanes: &Lanes,
        trials: &[Trial],
        cause: impl Fn(Mono) -> Cause,
    ) -> Self {
        let mut all = Self::default();
        for trial in trials {
            // What a lane shows is the same for all roles on it, and looked at once.
            let look = |(on, lane): (&PartitionId, &Lane)| {
                let place = Place { role: RoleIndex(0), trial, cause: &cause };
                let mut one = Self::default();
                one.add(&place, &lane.look(trial.window), &[lane]);
                (*on, one)
            };
            let lanes: BTreeMap<PartitionId, Self> = lanes.iter().map(look).collect();
            for (role, partition) in (0..).map(RoleIndex).zip(&group.role_partitions) {
                lanes.get(partition).into_iter().for_each(|one| all.extend(role, one));
            }
        }
        all
    }

    /// All groups together, and in how many of them each role was surely led at every instant of
    /// each trial.
    pub(super) fn of_all(
        roster: &Roster,
        groups: &BTreeMap<GroupName, GroupLine>,
        trials: &[Trial],
        cause: impl Fn(Mono) -> Cause,
    ) -> (Self, BTreeMap<TrialNumber, i64>) {
        let (mut all, mut leaders) = (Self::default(), BTreeMap::new());
        // Roles that share their partitions in every group share everything.
        let mut known: BTreeMap<Vec<PartitionId>, Self> = BTreeMap::new();
        for (place, role) in (0..roster.roles.len()).zip((0..).map(RoleIndex)) {
            let on: Vec<(&GroupName, PartitionId)> = roster
                .groups
                .iter()
                .filter_map(|(name, group)| Some((name, *group.role_partitions.get(place)?)))
                .collect();
            let shared = on.iter().map(|(_, partition)| *partition).collect();
            let found = known.entry(shared).or_insert_with(|| {
                let lane =
                    |(name, on): &(&GroupName, PartitionId)| groups.get(*name)?.lanes.get(on);
                let lanes: Vec<&Lane> = on.iter().filter_map(lane).collect();
                let services = Lane::services_of(&lanes);
                let mut found = Self::default();
                for trial in trials {
                    let sight = Lane::look_jointly(&lanes, &services, trial.window);
                    found.add(&Place { role, trial, cause: &cause }, &sight, &lanes);
                    if let Some(least) = Lane::leaders_min(&lanes, trial.window) {
                        let known = leaders.entry(trial.number).or_insert(least);
                        *known = least.min(*known);
                    }
                }
                found
            });
            all.extend(role, found);
        }
        (all, leaders)
    }

    /// Whether anything is unknown.
    #[must_use]
    pub fn unknown(&self) -> IntervalSet {
        let all = self.unknown_gaps.iter().chain(&self.unknown_overlaps);
        all.map(|finding| finding.span).collect()
    }

    /// Takes what another role found, as found by `role`.
    fn extend(&mut self, role: RoleIndex, of: &Self) {
        let each = |ours: &mut Vec<Finding>, theirs: &[Finding]| {
            ours.extend(theirs.iter().map(|one| Finding { role, ..one.clone() }));
        };
        each(&mut self.gaps, &of.gaps);
        each(&mut self.overlaps, &of.overlaps);
        each(&mut self.takeovers, &of.takeovers);
        each(&mut self.unknown_gaps, &of.unknown_gaps);
        each(&mut self.unknown_overlaps, &of.unknown_overlaps);
    }

    fn add<F: Fn(Mono) -> Cause>(&mut self, place: &Place<'_, F>, sight: &Sight, lanes: &[&Lane]) {
        let served = || lanes.iter().flat_map(|lane| &lane.served).map(|(_, view)| view);
        let claimed = || lanes.iter().flat_map(|lane| &lane.claimed).map(|(_, view)| view);
        let none = IntervalSet::default();
        let gaps = place.findings(sight.gaps.iter(), served, &sight.unknown_gaps);
        let overlaps = place.findings(sight.overlaps.iter(), claimed, &sight.unknown_overlaps);
        let takeovers = sight.takeovers.iter().copied();
        self.gaps.extend(gaps);
        self.overlaps.extend(overlaps);
        self.takeovers.extend(place.findings(takeovers, served, &sight.unknown_gaps));
        self.unknown_gaps.extend(place.findings(sight.unknown_gaps.iter(), served, &none));
        let unknown = sight.unknown_overlaps.iter();
        self.unknown_overlaps.extend(place.findings(unknown, claimed, &none));
    }
}

impl<F: Fn(Mono) -> Cause> Place<'_, F> {
    fn findings<'a, V: Iterator<Item = &'a View>>(
        &self,
        spans: impl Iterator<Item = Interval>,
        views: impl Fn() -> V,
        unknown: &IntervalSet,
    ) -> Vec<Finding> {
        let finding = |span: Interval| Finding {
            role: self.role,
            trial: self.trial.number,
            span,
            cause: (self.cause)(span.from),
            uncertainty: uncertainty(span, views(), unknown),
            censored: span.until == self.trial.window.until,
        };
        spans.map(finding).collect()
    }
}
