//! Facts to intervals: who led what and when, as far as anybody can know.
//!
//! ```text
//!   facts --> one LifeLine a life --> assigned, claimed, served --> one Lane a partition
//!         --> Record, causes                                        how many at once
//!                                                                       |
//!                         gaps, overlaps, takeovers, unknown  <---------+  trial by trial
//! ```
//!
//! A **gap** is a maximal interval in which nobody can have served; where nobody surely did, and
//! somebody may have, it is *unknown* whether there is one. An **overlap** is a maximal interval in
//! which two or more surely claimed; where two may have, and not surely, it is unknown. What a
//! member could not tell (its channel was full or broke, a fact is missing) is unknown for all
//! partitions of that member and time: with nobody beside it, that hides a gap; with somebody, an
//! overlap.
//!
//! Each trial is judged by itself: intervals are cut to its window, and one that is still open at
//! its end is *censored*. What happens between trials is not judged.
//!
//! [`TimelineBuilder`] takes the facts of a run one by one, as its journal is read.
//! [`Timeline::of_stretch`] judges a stretch of a run that goes on, from the facts around it.
//! The `live` fold finds gaps and overlaps while a run goes on, from the same lives.

mod builder;
mod coverage;
mod finding;
mod gather;
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
pub use coverage::{Count, Coverage};
pub use finding::{Finding, Findings};
pub use hindrances::{Hindrance, Hindrances, worst};
pub use interval::{Interval, IntervalSet};
pub use lane::{Lane, Lanes};
pub use lateness::{Lateness, Processors};
pub use life::LifeLine;
pub use outage::Outage;
pub use recent::Recent;
pub use record::{Incident, Record, Trial};
pub use trouble::Cause;
pub use views::View;

use crate::roster::Roster;
use tandem_facts::ids::{GroupName, TrialNumber};
use tandem_facts::observation::Fact;
use tandem_facts::time::Mono;

/// Everything that the facts of a run say about who led what.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The run itself: trials, faults, stalls, end.
    pub record: Record,
    /// Each group by itself.
    pub groups: BTreeMap<GroupName, GroupLine>,
    /// All groups together.
    pub joint: Findings,
    /// In how many groups each role was surely led at every instant of the trials.
    pub leaders_min: Option<i64>,
    /// The same of each trial.
    pub leaders: BTreeMap<TrialNumber, i64>,
    /// When brokers were lost, and members could not reach theirs.
    pub outages: Vec<Outage>,
    /// The longest time without a tick, at an edge of a service, that was counted as served.
    pub tickless: Duration,
}

/// One group.
#[derive(Debug, Clone)]
pub struct GroupLine {
    /// What was found.
    pub findings: Findings,
    /// Who held, claimed and served each partition that bears a role.
    pub lanes: Arc<Lanes>,
    /// From each fault or restart until the group was settled again.
    pub disturbed: Arc<IntervalSet>,
}

/// A stretch of a run that goes on, to be judged as one trial. Whatever is said of it is final
/// where the live fold has settled it.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// It, as a trial.
    pub trial: Trial,
    /// Everything that was stamped before this was heard: whoever fell silent before it, and should
    /// have spoken, is unknown.
    pub known: Mono,
    /// When facts were missed, of whomever: nothing is known of anybody then. The numbers of the
    /// controller's facts do not say it here, for nobody keeps all of them.
    pub missed: IntervalSet,
}

impl Timeline {
    /// Computes it. The order of the facts does not matter.
    #[must_use]
    pub fn compute(roster: impl Into<Roster>, facts: &[Fact]) -> Self {
        let mut sorted: Vec<&Fact> = facts.iter().collect();
        sorted.sort_by_key(|fact| fact.seq);
        let mut builder = TimelineBuilder::new(roster);
        sorted.into_iter().for_each(|fact| builder.observe(fact));
        builder.finish()
    }

    /// Computes what the facts so far say of a stretch of time.
    #[must_use]
    pub fn of_stretch(roster: &Roster, facts: &[impl Borrow<Fact>], stretch: &Stretch) -> Self {
        let outages = outage::outages(facts.iter().map(Borrow::borrow));
        Self::of(roster, gather::gather_stretch(roster, facts, stretch), outages)
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
            let lanes: Lanes =
                bearing.iter().map(|(on, _)| (*on, Lane::new(*on, lives()))).collect();
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
