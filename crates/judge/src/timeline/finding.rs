//! The intervals found in the trials, each with its role, trial, cause and uncertainty.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lane::{Sight, beside, edges};
use super::{Cause, GroupLine, Interval, IntervalSet, Lane, Lanes, Trial, View};
use crate::roster::{Roster, RosterGroup};
use tandem_facts::ids::{GroupName, PartitionId, TrialNumber};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

/// One interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The roles that have this interval.
    pub roles: RoleClass,
    /// The trial.
    pub trial: TrialNumber,
    /// The interval, cut to the trial. A takeover without a gap has length 0.
    pub span: Interval,
    /// The cause.
    pub cause: Cause,
    /// The uncertainty of the length, as a sum over both ends.
    pub uncertainty: Duration,
    /// The part of it by which the interval may have been shorter.
    pub excess: Duration,
    /// Whether the interval was still open when its trial ended, so that it may be longer.
    pub censored: bool,
}

impl Finding {
    /// The length that the interval surely had: 0 if it may not have been at all.
    #[must_use]
    pub fn least(&self) -> Duration {
        self.span.length().saturating_sub(self.excess)
    }
}

/// All intervals of one group, or of all groups together. Samples are per role: a class of roles
/// counts once for each role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// No member served.
    pub gaps: Vec<Finding>,
    /// Two or more members claimed.
    pub overlaps: Vec<Finding>,
    /// Service passed from one life to another; for single groups only.
    pub takeovers: Vec<Finding>,
    /// It is unknown whether a member served.
    pub unknown_gaps: Vec<Finding>,
    /// It is unknown whether two or more members claimed.
    pub unknown_overlaps: Vec<Finding>,
}

/// The roles, trial and cause of an observation.
struct Place<'a, F> {
    roles: RoleClass,
    trial: &'a Trial,
    cause: &'a F,
}

impl Findings {
    /// The findings in one group, on these partitions.
    pub(super) fn of_group(
        bearing: &[(PartitionId, RoleClass)],
        lanes: &Lanes,
        trials: &[Trial],
        cause: impl Fn(Mono) -> Cause,
    ) -> Self {
        let mut all = Self::default();
        for trial in trials {
            for (lane, roles) in
                bearing.iter().filter_map(|(on, roles)| lanes.get(on).zip(Some(roles)))
            {
                let place = Place { roles: *roles, trial, cause: &cause };
                all.add(&place, &lane.look(trial.window), &[lane]);
            }
        }
        all
    }

    /// The findings in all groups together, and for each trial in how many groups each role was
    /// surely led at every instant.
    pub(super) fn of_all(
        roster: &Roster,
        groups: &BTreeMap<GroupName, GroupLine>,
        trials: &[Trial],
        cause: impl Fn(Mono) -> Cause,
    ) -> (Self, BTreeMap<TrialNumber, i64>) {
        let (mut all, mut leaders) = (Self::default(), BTreeMap::new());
        for roles in roster.classes() {
            let lane = |(name, group): (_, &RosterGroup)| {
                groups.get(name)?.lanes.get(&group.partition(roles.first))
            };
            let lanes: Vec<&Lane> = roster.groups.iter().filter_map(lane).collect();
            let services = Lane::services_of(&lanes);
            for trial in trials {
                let sight = Lane::look_jointly(&lanes, &services, trial.window);
                all.add(&Place { roles, trial, cause: &cause }, &sight, &lanes);
                if let Some(least) = Lane::leaders_min(&lanes, trial.window) {
                    let known = leaders.entry(trial.number).or_insert(least);
                    *known = least.min(*known);
                }
            }
        }
        (all, leaders)
    }

    /// The times in which anything is unknown.
    #[must_use]
    pub fn unknown(&self) -> IntervalSet {
        let all = self.unknown_gaps.iter().chain(&self.unknown_overlaps);
        all.map(|finding| finding.span).collect()
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
        let finding = |span: Interval| {
            let excess = edges(span, views());
            Finding {
                roles: self.roles,
                trial: self.trial.number,
                span,
                cause: (self.cause)(span.from),
                uncertainty: excess.saturating_add(beside(span, unknown)),
                excess,
                censored: span.until == self.trial.window.until,
            }
        };
        spans.map(finding).collect()
    }
}
