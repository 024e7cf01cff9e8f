//! Redundancy: the number of leaders of each role in each group, outside of fault and recovery
//! windows.
//!
//! A window lasts from a fault or a restart of the group until the group was settled again. A
//! broker or a member that died by accident opens no window.

use super::Brief;
use super::distribution::float;
use super::ruling::{Ruling, Unit, Verdict};
use crate::timeline::{Count, GroupLine, IntervalSet, Timeline};
use tandem_facts::ids::GroupName;

/// The rulings on `leaders_per_group`, one per group.
pub(super) fn judge(brief: &Brief, timeline: &Timeline) -> Vec<Ruling> {
    let wanted = brief.objective.leaders_per_group;
    let rule = |(name, line): (&GroupName, &GroupLine)| rule(wanted, name, line, timeline);
    timeline.groups.iter().map(rule).collect()
}

fn rule(wanted: u32, name: &GroupName, line: &GroupLine, timeline: &Timeline) -> Ruling {
    let quiet: IntervalSet = timeline.record.trials.iter().map(|trial| trial.window).collect();
    let quiet = quiet.subtract(&line.disturbed);
    let steps = quiet
        .iter()
        .flat_map(|window| line.lanes.values().flat_map(move |lane| lane.services.steps(window)));
    let least = steps
        .map(|(_, count)| count)
        .reduce(|a, b| Count { min: a.min.min(b.min), max: a.max.min(b.max) });
    let is_played = timeline.record.is_played();
    let outcome = match least {
        Some(least) if least.max < i64::from(wanted) => Verdict::Fail,
        Some(least) if is_played && least.min >= i64::from(wanted) => Verdict::Pass,
        Some(_) | None => Verdict::Unknown,
    };
    let why = match (outcome, least) {
        (Verdict::Pass, _) => None,
        (Verdict::Fail, _) => Some(format!(
            "Group {name} had a role with fewer than {wanted} leaders outside fault and recovery \
             windows."
        )),
        (Verdict::Unknown, Some(_)) if is_played => Some(format!(
            "Group {name}: some time could not be observed, so leaders_per_group >= {wanted} \
             is unknown."
        )),
        (Verdict::Unknown, None) if is_played => {
            Some(format!("Group {name} was never seen outside fault and recovery windows."))
        }
        (Verdict::Unknown, _) => Some(format!(
            "Group {name}: no trial that counts was played to its end, so leaders_per_group >= \
             {wanted} is unknown."
        )),
    };
    let measured = least.map(|least| if outcome == Verdict::Fail { least.max } else { least.min });
    Ruling {
        text: format!("leaders_per_group >= {wanted} outside of faults"),
        group: Some(name.clone()),
        measured: measured.map(|count| float(u64::try_from(count).unwrap_or(0))),
        limit: f64::from(wanted),
        unit: Unit::Count,
        outcome,
        why,
    }
}
