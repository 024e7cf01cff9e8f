//! Facts to intervals: which lives led which roles when, as far as it can be known.
//!
//! ```text
//!   facts --> one LifeLine a life --> assigned, claimed, served --> one Lane a partition
//!         --> RunRecord, causes                                     how many at once
//!                                                                       |
//!                         gaps, overlaps, takeovers, unknown  <---------+  trial by trial
//! ```
//!
//! A **gap** is a maximal interval in which certainly no life served. Where no life certainly
//! served, but one may have, it is *unknown* whether there is a gap. An **overlap** is a maximal
//! interval in which two or more lives certainly claimed; where two may have, but not certainly, it
//! is unknown. When a member could not report (its channel was full or broke, or a fact is
//! missing), its state on all partitions is unknown. That hides a gap if no other life served, and
//! an overlap if another life claimed.
//!
//! A group may have members of which nothing is known. What no life holds, one of them may serve
//! and claim: so it is unknown, and no gap.
//!
//! Each trial is judged by itself: intervals are cut to its window, and an interval that is still
//! open at its end is *censored*. Time between trials is not judged.
//!
//! [`TimelineBuilder`] takes the facts of a run one by one, as its journal is read.
//! [`Timeline::of_stretch`] judges a stretch of a running run from the facts around it.
//! The `live` fold finds gaps and overlaps of a running run, from the same lives.

mod builder;
mod cause;
mod coverage;
mod finding;
mod gather;
mod going;
mod hindrances;
mod interval;
mod lane;
mod lateness;
mod life;
mod live;
mod outage;
mod recent;
mod record;
mod subset;
mod takeover;
mod trouble;
mod views;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use builder::TimelineBuilder;
pub use cause::{Cause, CauseKind};
pub use coverage::{Count, Coverage};
pub use finding::{Finding, Findings};
pub use going::{Going, GoingStep};
pub use hindrances::{Hindrance, Hindrances, worst};
pub use interval::{Interval, IntervalSet};
pub use lane::{Lane, Lanes};
pub use lateness::{Lateness, Processors};
pub use life::LifeLine;
pub use outage::Outage;
pub use recent::Recent;
pub use record::{Incident, RunRecord, Trial};
pub use trouble::RETURN;
pub(crate) use trouble::Troubles;
pub use views::View;

use crate::roster::Roster;
use tandem_facts::ids::{GroupName, TrialNumber};
use tandem_facts::observation::Fact;
use tandem_facts::time::Mono;

/// Everything that the facts of a run say about leadership.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The run itself: trials, faults, stalls, end.
    pub record: RunRecord,
    /// Each group.
    pub groups: BTreeMap<GroupName, GroupLine>,
    /// All groups together.
    pub joint: Findings,
    /// The least number of groups in which every role was certainly led at every instant of the
    /// trials.
    pub leaders_min: Option<i64>,
    /// The same for each trial.
    pub leaders: BTreeMap<TrialNumber, i64>,
    /// When brokers were lost, and when members could not reach theirs.
    pub outages: Vec<Outage>,
    /// The longest time without a tick, at an edge of a service, that counts as served.
    pub tickless: Duration,
}

/// One group.
#[derive(Debug, Clone)]
pub struct GroupLine {
    /// The findings.
    pub findings: Findings,
    /// Which lives held, claimed and served each partition that has roles.
    pub lanes: Arc<Lanes>,
    /// From each fault or restart until the group was settled again.
    pub disturbed: Arc<IntervalSet>,
}

/// A stretch of a running run, judged as one trial. The result is final where the live fold has
/// settled it.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// The stretch as a trial.
    pub trial: Trial,
    /// All facts stamped before this instant have arrived. The state of a life that fell silent
    /// before it, although it should have reported, is unknown.
    pub known: Mono,
    /// The times of missing facts of any author: the state of every life is unknown then. Gaps in
    /// the numbers of the controller's facts do not show these times, since not all of its facts
    /// are kept.
    pub missed: IntervalSet,
}

impl Timeline {
    /// Computes the timeline. The order of the facts does not matter.
    #[must_use]
    pub fn compute(roster: impl Into<Roster>, facts: &[Fact]) -> Self {
        let mut sorted: Vec<&Fact> = facts.iter().collect();
        sorted.sort_by_key(|fact| fact.seq);
        let mut roster = roster.into();
        facts.iter().for_each(|fact| roster.admit(fact));
        let mut builder = TimelineBuilder::new(roster);
        sorted.into_iter().for_each(|fact| builder.observe(fact));
        builder.finish()
    }

    /// Computes the timeline of a stretch from the facts so far.
    #[must_use]
    pub fn of_stretch(roster: &Roster, facts: &[impl Borrow<Fact>], stretch: &Stretch) -> Self {
        let outages = outage::outages(facts.iter().map(Borrow::borrow));
        let mut roster = roster.clone();
        facts.iter().for_each(|fact| roster.admit(fact.borrow()));
        Self::of(&roster, gather::gather_stretch(&roster, facts, stretch), outages)
    }

    fn of(roster: &Roster, gathered: gather::Gathered, outages: Vec<Outage>) -> Self {
        let gather::Gathered { lives, troubles, record } = gathered;
        let mut groups = BTreeMap::new();
        for (name, group) in &roster.groups {
            let lives = || lives.get(name).into_iter().flatten();
            let bearing: Vec<_> = roster
                .classes_of(group)
                .map(|roles| (group.partition(roles.first), roles))
                .collect();
            let lanes: Lanes = bearing
                .iter()
                .map(|(on, _)| (*on, Lane::new(*on, group.foreign, lives())))
                .collect();
            let cause = |at| troubles.cause(name, at);
            let findings = Findings::of_group(&bearing, &lanes, &record.trials, cause);
            let disturbed = Arc::new(troubles.disturbed(name));
            let lanes = Arc::new(lanes);
            groups.insert(name.clone(), GroupLine { findings, lanes, disturbed });
        }
        let cause = |at| troubles.joint_cause(at);
        let (joint, leaders) = Findings::of_all(roster, &groups, &record.trials, cause);
        let lanes = groups.values().flat_map(|group| group.lanes.values());
        let tickless = lanes.map(Lane::tickless).max().unwrap_or_default();
        let leaders_min = leaders.values().copied().min();
        Self { record, groups, joint, leaders_min, leaders, outages, tickless }
    }
}
