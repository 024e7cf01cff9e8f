//! What there is to draw: one lane a partition and group, and the roles that share lanes.
//!
//! Roles on the same partitions of all groups have the same intervals, so they are folded: a
//! thousand roles on sixty-four partitions are sixty-four rows.

use std::collections::BTreeMap;

use super::Subject;
use crate::ids::{GroupName, PartitionId, RoleIndex, RoleName};
use crate::timeline::{Finding, Findings, GroupLine, Interval, Lane};
use crate::topology::PlannedGroup;

/// Everything that is drawn.
pub(super) struct Scene<'a> {
    /// From the beginning of the first trial to the end of the last.
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
    pub(super) roles: Vec<&'a RoleName>,
    /// One a group.
    pub(super) partitions: Vec<PartitionId>,
    pub(super) joint: Marks<'a>,
}

/// What was found on a lane.
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

impl<'a> Scene<'a> {
    pub(super) fn of(subject: &Subject<'a>) -> Self {
        let (plan, timeline) = (subject.plan, subject.timeline);
        let trials = &timeline.record.trials;
        let from = trials.first().map_or(subject.zero, |trial| trial.window.from);
        let until = trials.iter().map(|trial| trial.window.until).max().unwrap_or(from);
        let groups = plan.groups.iter().filter_map(|(name, planned)| {
            let line = timeline.groups.get(name)?;
            let mut marks = by_role(&line.findings);
            let mut lanes = BTreeMap::new();
            for (role, partition) in (0..).map(RoleIndex).zip(&planned.role_partitions) {
                let Some(lane) = line.lanes.get(partition) else { continue };
                let marks = marks.remove(&role).unwrap_or_default();
                lanes.entry(*partition).or_insert(Sublane { lane, marks });
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

    /// Whether anything was found on the lanes of a fold.
    pub(super) fn is_quiet(&self, fold: &Fold<'_>) -> bool {
        let lanes = self.groups.iter().zip(&fold.partitions);
        let found = lanes.filter_map(|(group, partition)| group.lanes.get(partition));
        found.map(|lane| lane.marks.count()).sum::<usize>() + fold.joint.count() == 0
    }
}

impl Fold<'_> {
    /// `eurusd and 15 more`.
    pub(super) fn title(&self) -> String {
        let first = self.roles.first().map_or_else(String::new, ToString::to_string);
        match self.roles.len() {
            0 | 1 => first,
            all => format!("{first} and {} more", all - 1),
        }
    }
}

fn folds<'a>(subject: &Subject<'a>, groups: &[Group<'a>]) -> Vec<Fold<'a>> {
    let mut joint = by_role(&subject.timeline.joint);
    let mut known: BTreeMap<Vec<PartitionId>, usize> = BTreeMap::new();
    let mut folds: Vec<Fold<'a>> = Vec::new();
    for (place, name) in subject.plan.roles.iter().enumerate() {
        let on = groups.iter().filter_map(|group| group.planned.role_partitions.get(place));
        let partitions: Vec<_> = on.copied().collect();
        if let Some(fold) = known.get(&partitions).and_then(|at| folds.get_mut(*at)) {
            fold.roles.push(name);
            continue;
        }
        known.insert(partitions.clone(), folds.len());
        let role = RoleIndex(u32::try_from(place).unwrap_or(u32::MAX));
        let joint = joint.remove(&role).unwrap_or_default();
        folds.push(Fold { roles: vec![name], partitions, joint });
    }
    folds
}

fn by_role(found: &Findings) -> BTreeMap<RoleIndex, Marks<'_>> {
    let mut roles: BTreeMap<RoleIndex, Marks<'_>> = BTreeMap::new();
    for gap in &found.gaps {
        roles.entry(gap.role).or_default().gaps.push(gap);
    }
    for overlap in &found.overlaps {
        roles.entry(overlap.role).or_default().overlaps.push(overlap);
    }
    for unknown in found.unknown_gaps.iter().chain(&found.unknown_overlaps) {
        roles.entry(unknown.role).or_default().unknown.push(unknown);
    }
    for marks in roles.values_mut() {
        marks.unknown.sort_by_key(|one| one.span);
    }
    roles
}
