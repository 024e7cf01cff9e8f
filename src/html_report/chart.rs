//! The content of the lanes: one lane per partition and group, and the roles that share lanes.
//!
//! Roles on the same partitions in all groups have the same intervals, so they are folded: a
//! thousand roles on sixty-four partitions are sixty-four rows.

use std::collections::BTreeMap;

use super::Subject;
use crate::ids::{GroupName, PartitionId, RoleIndex, RoleName};
use crate::roles::RoleClass;
use crate::timeline::{Finding, Findings, GroupLine, Interval, Lane};
use crate::topology::PlannedGroup;

/// Everything that is drawn.
pub(super) struct Chart<'a> {
    /// The time from the beginning of the first trial to the end of the last.
    pub(super) window: Interval,
    pub(super) groups: Vec<Group<'a>>,
    pub(super) folds: Vec<Fold<'a>>,
}

/// One group.
pub(super) struct Group<'a> {
    pub(super) name: &'a GroupName,
    pub(super) planned: &'a PlannedGroup,
    pub(super) line: &'a GroupLine,
    pub(super) lanes: BTreeMap<PartitionId, Sublane<'a>>,
}

/// One partition of one group.
pub(super) struct Sublane<'a> {
    pub(super) lane: &'a Lane,
    pub(super) marks: Marks<'a>,
}

/// Roles that share their partitions in every group.
pub(super) struct Fold<'a> {
    pub(super) roles: RoleClass,
    /// The name of the first role.
    name: RoleName,
    /// One per group.
    pub(super) partitions: Vec<PartitionId>,
    pub(super) joint: Marks<'a>,
}

/// The findings of a lane.
#[derive(Default)]
pub(super) struct Marks<'a> {
    pub(super) gaps: Vec<&'a Finding>,
    pub(super) overlaps: Vec<&'a Finding>,
    pub(super) unknown: Vec<&'a Finding>,
}

impl Marks<'_> {
    pub(super) fn count(&self) -> usize {
        self.gaps.len() + self.overlaps.len() + self.unknown.len()
    }
}

impl<'a> Chart<'a> {
    pub(super) fn of(subject: &Subject<'a>) -> Self {
        let (plan, timeline) = (subject.plan, subject.timeline);
        let trials = &timeline.record.trials;
        let from = trials.first().map_or(subject.zero, |trial| trial.window.from);
        let until = trials.iter().map(|trial| trial.window.until).max().unwrap_or(from);
        let groups = plan.groups.iter().filter_map(|(name, planned)| {
            let line = timeline.groups.get(name)?;
            let mut marks = by_first(&line.findings);
            let mut lanes = BTreeMap::new();
            for roles in plan.classes_of(planned) {
                let partition = planned.partition(roles.first);
                let Some(lane) = line.lanes.get(&partition) else { continue };
                let marks = marks.remove(&roles.first).unwrap_or_default();
                lanes.insert(partition, Sublane { lane, marks });
            }
            Some(Group { name, planned, line, lanes })
        });
        let groups: Vec<_> = groups.collect();
        let folds = folds(subject, &groups);
        Self { window: Interval::new(from, until), groups, folds }
    }

    /// The lanes of a fold, with their groups.
    pub(super) fn lanes<'s>(
        &'s self,
        fold: &'s Fold<'a>,
    ) -> impl Iterator<Item = (&'s Group<'a>, &'s Sublane<'a>)> {
        let pairs = self.groups.iter().zip(&fold.partitions);
        pairs.filter_map(|(group, partition)| Some((group, group.lanes.get(partition)?)))
    }

    /// Whether the lanes of a fold have no findings.
    pub(super) fn is_quiet(&self, fold: &Fold<'_>) -> bool {
        let lanes = self.groups.iter().zip(&fold.partitions);
        let found = lanes.filter_map(|(group, partition)| group.lanes.get(partition));
        found.map(|lane| lane.marks.count()).sum::<usize>() + fold.joint.count() == 0
    }
}

impl Fold<'_> {
    /// `eurusd and 15 more`.
    pub(super) fn title(&self) -> String {
        match self.roles.count {
            0 | 1 => self.name.to_string(),
            all => format!("{} and {} more", self.name, all - 1),
        }
    }
}

fn folds<'a>(subject: &Subject<'a>, groups: &[Group<'a>]) -> Vec<Fold<'a>> {
    let mut joint = by_first(&subject.timeline.joint);
    let fold = |roles: RoleClass| {
        let name = subject.plan.roles.name(roles.first)?;
        let partitions = groups.iter().map(|group| group.planned.partition(roles.first)).collect();
        let joint = joint.remove(&roles.first).unwrap_or_default();
        Some(Fold { roles, name, partitions, joint })
    };
    subject.plan.classes().filter_map(fold).collect()
}

/// The findings of each class, by its first role.
fn by_first(found: &Findings) -> BTreeMap<RoleIndex, Marks<'_>> {
    let mut roles: BTreeMap<RoleIndex, Marks<'_>> = BTreeMap::new();
    for gap in &found.gaps {
        roles.entry(gap.roles.first).or_default().gaps.push(gap);
    }
    for overlap in &found.overlaps {
        roles.entry(overlap.roles.first).or_default().overlaps.push(overlap);
    }
    for unknown in found.unknown_gaps.iter().chain(&found.unknown_overlaps) {
        roles.entry(unknown.roles.first).or_default().unknown.push(unknown);
    }
    for marks in roles.values_mut() {
        marks.unknown.sort_by_key(|one| one.span);
    }
    roles
}
