//! The data for the page's script: compact JSON, times in nanoseconds since the run's zero.
//!
//! All findings are in it, exactly. Service is in microseconds, and is thinned out first for a
//! large run; see [`Thinning`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Subject;
use super::chart::{Chart, Group, Sublane};
use super::disturbed::disturbed_trials;
use super::drawing::place;
use super::thin::Thinning;
use crate::ids::{Life, TrialNumber};
use crate::roles::Roles;
use crate::time::Mono;
use crate::timeline::{Cause, Finding, Interval};

#[derive(Serialize)]
struct Data<'a> {
    window: [u64; 2],
    roles: &'a Roles,
    groups: Vec<GroupData<'a>>,
    /// Number, from, until, whether it is drawn (0 if it was thinned out), and whether the host
    /// disturbed it.
    trials: Vec<(TrialNumber, u64, u64, u8, u8)>,
    faults: Vec<FaultData<'a>>,
    stalls: Vec<[u64; 2]>,
    causes: Vec<String>,
    folds: Vec<FoldData>,
}

#[derive(Serialize)]
struct GroupData<'a> {
    name: &'a str,
    /// Every life, and the index of its member in the group.
    lives: Vec<(String, usize)>,
    /// By partition.
    lanes: BTreeMap<u32, LaneData>,
}

/// Each finding is six numbers: from, length, uncertainty, trial, cause, whether still open.
#[derive(Serialize)]
struct LaneData {
    /// Three numbers each: microseconds since the end of the one before, length in microseconds,
    /// life.
    #[serde(rename = "s")]
    served: Vec<i64>,
    #[serde(rename = "g")]
    gaps: Vec<u64>,
    #[serde(rename = "o")]
    overlaps: Vec<u64>,
    #[serde(rename = "u")]
    unknown: Vec<u64>,
}

#[derive(Serialize)]
struct FoldData {
    /// The first role, the step between roles, and their number.
    roles: [u32; 3],
    on: Vec<u32>,
    #[serde(rename = "g")]
    gaps: Vec<u64>,
    #[serde(rename = "u")]
    unknown: Vec<u64>,
}

#[derive(Serialize)]
struct FaultData<'a> {
    id: String,
    kind: &'a str,
    targets: &'a [String],
    asked: u64,
    force: Option<u64>,
    healed: Option<u64>,
    failed: Option<&'a str>,
}

/// Gives each cause a number; 0 is none.
struct Causes(BTreeMap<String, u64>);

/// The JSON.
pub(super) fn data(subject: &Subject<'_>, chart: &Chart<'_>, thinning: &Thinning) -> String {
    let record = &subject.timeline.record;
    let ns = |at: Mono| at.since(subject.zero).as_nanos().try_into().unwrap_or(u64::MAX);
    let span = |of: Interval| [ns(of.from), ns(of.until)];
    let mut writer = Writer { zero: subject.zero, thinning, causes: Causes(BTreeMap::new()) };
    let groups = chart.groups.iter().map(|group| writer.group(group)).collect();
    let folds = chart.folds.iter().map(|fold| FoldData {
        roles: [fold.roles.first.0, fold.roles.step.get(), fold.roles.count],
        on: fold.partitions.iter().map(|partition| partition.0).collect(),
        gaps: writer.findings(&fold.joint.gaps),
        unknown: writer.findings(&fold.joint.unknown),
    });
    let folds = folds.collect();
    let off = disturbed_trials(subject.report);
    let trial = |trial: &crate::timeline::Trial| {
        let ([from, until], number) = (span(trial.window), trial.number);
        let (shows, off) = (thinning.shows(number), off.contains(&number));
        (number, from, until, u8::from(shows), u8::from(off))
    };
    let data = Data {
        window: span(chart.window),
        roles: &subject.plan.roles,
        groups,
        trials: record.trials.iter().map(trial).collect(),
        faults: record
            .incidents
            .iter()
            .map(|(id, one)| FaultData {
                id: id.to_string(),
                kind: &one.kind,
                targets: &one.targets,
                asked: ns(one.asked),
                force: one.in_force.map(ns),
                healed: one.healed.map(ns),
                failed: one.failed.as_deref(),
            })
            .collect(),
        stalls: thinning.stalls().iter().map(|stall| span(*stall)).collect(),
        causes: writer.causes.list(),
        folds,
    };
    // Serialization cannot fail: maps have number keys, values are plain.
    super::html::embed(&serde_json::to_string(&data).unwrap_or_else(|_| "null".to_owned()))
}

struct Writer<'a> {
    zero: Mono,
    thinning: &'a Thinning,
    causes: Causes,
}

impl Writer<'_> {
    fn ns(&self, at: Mono) -> u64 {
        at.since(self.zero).as_nanos().try_into().unwrap_or(u64::MAX)
    }

    fn group<'a>(&mut self, group: &Group<'a>) -> GroupData<'a> {
        let lives = group.lanes.values().flat_map(|one| &one.lane.served).map(|(life, _)| life);
        let lives: BTreeSet<&Life> = lives.collect();
        let places: BTreeMap<&Life, usize> = lives.iter().copied().zip(0..).collect();
        let member = |life: &&Life| (life.to_string(), place(group.planned, &life.member));
        GroupData {
            name: group.name.as_str(),
            lives: lives.iter().map(member).collect(),
            lanes: group.lanes.iter().map(|(on, lane)| (on.0, self.lane(lane, &places))).collect(),
        }
    }

    fn lane(&mut self, of: &Sublane<'_>, places: &BTreeMap<&Life, usize>) -> LaneData {
        LaneData {
            served: self.served(of, places),
            gaps: self.findings(&of.marks.gaps),
            overlaps: self.findings(&of.marks.overlaps),
            unknown: self.findings(&of.marks.unknown),
        }
    }

    fn served(&self, of: &Sublane<'_>, places: &BTreeMap<&Life, usize>) -> Vec<i64> {
        let kept = self.thinning.services(of);
        let mut all: Vec<(Interval, usize)> = Vec::new();
        for (life, view) in &of.lane.served {
            let Some(place) = places.get(life) else { continue };
            all.extend(view.sure.intersect(&kept).iter().map(|span| (span, *place)));
        }
        all.sort_unstable();
        let us = |at: Mono| i64::try_from(self.ns(at) / 1_000).unwrap_or(i64::MAX);
        let mut last = 0;
        let mut numbers = Vec::with_capacity(all.len() * 3);
        for (span, place) in all {
            let (from, until) = (us(span.from), us(span.until));
            numbers.extend([from - last, until - from, i64::try_from(place).unwrap_or(0)]);
            last = until;
        }
        numbers
    }

    fn findings(&mut self, found: &[&Finding]) -> Vec<u64> {
        let mut numbers = Vec::new();
        for one in found.iter().filter(|one| self.thinning.shows(one.trial)) {
            let ns = |of: std::time::Duration| u64::try_from(of.as_nanos()).unwrap_or(u64::MAX);
            numbers.extend([
                self.ns(one.span.from),
                ns(one.span.length()),
                ns(one.uncertainty),
                u64::from(one.trial.0),
                self.causes.number(&one.cause),
                u64::from(one.censored),
            ]);
        }
        numbers
    }
}

impl Causes {
    fn number(&mut self, cause: &Cause) -> u64 {
        let Some(text) = cause.describe() else { return 0 };
        let next = u64::try_from(self.0.len()).unwrap_or(0) + 1;
        *self.0.entry(text).or_insert(next)
    }

    fn list(self) -> Vec<String> {
        let mut all: Vec<_> = self.0.into_iter().map(|(text, number)| (number, text)).collect();
        all.sort_unstable();
        std::iter::once(String::new()).chain(all.into_iter().map(|(_, text)| text)).collect()
    }
}
