//! Some trials of a run: those that count, or a single one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Findings, GroupLine, RunRecord, Timeline};
use tandem_facts::ids::{GroupName, TrialNumber};

impl Timeline {
    /// The run without these trials. The overlaps of these trials stay in the groups for which
    /// `bound` returns true, since nothing excuses them there.
    #[must_use]
    pub fn without(
        &self,
        left_out: &BTreeSet<TrialNumber>,
        bound: impl Fn(&GroupName) -> bool,
    ) -> Self {
        let counts = |trial: TrialNumber| !left_out.contains(&trial);
        let some = |found: &Findings, bound: bool| {
            let pick = |all: &[Finding], always: bool| {
                let kept = all.iter().filter(|one| always || counts(one.trial));
                kept.cloned().collect()
            };
            Findings {
                gaps: pick(&found.gaps, false),
                overlaps: pick(&found.overlaps, bound),
                takeovers: pick(&found.takeovers, false),
                unknown_gaps: pick(&found.unknown_gaps, false),
                unknown_overlaps: pick(&found.unknown_overlaps, bound),
            }
        };
        let group = |(name, line): (&GroupName, &GroupLine)| {
            let findings = some(&line.findings, bound(name));
            (name.clone(), GroupLine { findings, ..line.clone() })
        };
        let mut record = self.record.clone();
        record.trials.retain(|trial| counts(trial.number));
        record.incidents.retain(|fault, _| counts(fault.trial));
        let leaders = self.leaders.iter().filter(|(trial, _)| counts(**trial));
        let leaders: BTreeMap<_, _> = leaders.map(|(trial, least)| (*trial, *least)).collect();
        let any = self.groups.keys().any(&bound);
        Self {
            record,
            groups: self.groups.iter().map(group).collect(),
            joint: some(&self.joint, any),
            leaders_min: leaders.values().copied().min(),
            leaders,
            outages: self.outages.clone(),
            tickless: self.tickless,
        }
    }

    /// Each trial by itself with its events, and without the end of the run.
    #[must_use]
    pub fn by_trial(&self) -> BTreeMap<TrialNumber, Self> {
        let bare = |line: &GroupLine| GroupLine { findings: Findings::default(), ..line.clone() };
        let groups: BTreeMap<_, _> =
            self.groups.iter().map(|(name, line)| (name.clone(), bare(line))).collect();
        let alone = |trial: &super::Trial| {
            let leaders: BTreeMap<_, _> = self
                .leaders
                .get_key_value(&trial.number)
                .map(|(n, l)| (*n, *l))
                .into_iter()
                .collect();
            let one = Self {
                record: RunRecord {
                    trials: vec![*trial],
                    suspends: self.record.suspends.clone(),
                    unwritten: self.record.unwritten.clone(),
                    ..RunRecord::default()
                },
                groups: groups.clone(),
                joint: Findings::default(),
                leaders_min: leaders.values().copied().min(),
                leaders,
                outages: Vec::new(),
                tickless: self.tickless,
            };
            (trial.number, one)
        };
        let mut all: BTreeMap<TrialNumber, Self> = self.record.trials.iter().map(alone).collect();
        for (fault, incident) in &self.record.incidents {
            if let Some(one) = all.get_mut(&fault.trial) {
                one.record.incidents.insert(fault.clone(), incident.clone());
            }
        }
        hand_out(&self.joint, &mut all, |one| Some(&mut one.joint));
        for (name, line) in &self.groups {
            hand_out(&line.findings, &mut all, |one| Some(&mut one.groups.get_mut(name)?.findings));
        }
        all
    }
}

/// Assigns each finding to its trial.
fn hand_out(
    of: &Findings,
    trials: &mut BTreeMap<TrialNumber, Timeline>,
    place: impl Fn(&mut Timeline) -> Option<&mut Findings>,
) {
    let mut each = |found: &[Finding], list: fn(&mut Findings) -> &mut Vec<Finding>| {
        for one in found {
            if let Some(findings) = trials.get_mut(&one.trial).and_then(&place) {
                list(findings).push(one.clone());
            }
        }
    };
    each(&of.gaps, |it| &mut it.gaps);
    each(&of.overlaps, |it| &mut it.overlaps);
    each(&of.takeovers, |it| &mut it.takeovers);
    each(&of.unknown_gaps, |it| &mut it.unknown_gaps);
    each(&of.unknown_overlaps, |it| &mut it.unknown_overlaps);
}
