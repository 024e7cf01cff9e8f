//! Gaps and overlaps as spans, each with a link to the fault that caused it.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::run_context::{RunContext, error, known, number, text, truth};
use super::{ids, names};
use crate::ids::{GroupName, RoleIndex, TrialNumber};
use crate::roles::RoleClass;
use crate::time::Span as Length;
use crate::timeline::{Cause, Finding, Findings, Interval, Timeline};
use crate::topology::{Objective, Plan};

/// What kind of finding a span shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No member served.
    Gap,
    /// Two or more claimed.
    Overlap,
}

/// A finding, with its group and roles.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) kind: Kind,
    /// Whether there was a gap or an overlap is unknown.
    pub(super) unknown: bool,
    /// The group; `None` for all groups together.
    pub(super) group: Option<GroupName>,
    finding: Finding,
    /// How a window cuts it; `None` in a trial, which is judged as a whole.
    cut: Option<Cut>,
}

/// The part of a finding outside its window.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// How long it lasted before the window, if it began before.
    before: Option<Length>,
    goes_on: bool,
}

/// Gaps that continue past the end of a window, with their group, role, and length until then.
#[derive(Debug, Clone, Default)]
pub(super) struct Open(BTreeMap<(Option<GroupName>, RoleIndex), Duration>);

/// The most roles that have spans of their own; beyond it, roles that share their partitions share
/// a span.
const EACH_MAX: u32 = 10_000;

/// The role classes with spans of their own: each role, or all together.
pub(super) fn apart(plan: &Plan, roles: RoleClass) -> Vec<RoleClass> {
    match plan.roles.len() {
        0..=EACH_MAX => roles.roles().map(RoleClass::of).collect(),
        _ => vec![roles],
    }
}

/// The attributes that name a span's roles.
pub(super) fn whose(plan: &Plan, roles: RoleClass) -> Vec<KeyValue> {
    let name = plan.roles.name(roles.first).map_or_else(String::new, String::from);
    let count = (roles.count > 1).then(|| number(names::ROLE_COUNT, roles.count));
    [text(names::ROLE, &name)].into_iter().chain(count).collect()
}

/// All findings, by trial.
pub(super) fn sorted(plan: &Plan, timeline: &Timeline) -> BTreeMap<TrialNumber, Vec<Found>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut take = |group: Option<&GroupName>, findings: &Findings| {
        for (kind, unknown, found) in [
            (Kind::Gap, false, &findings.gaps),
            (Kind::Gap, true, &findings.unknown_gaps),
            (Kind::Overlap, false, &findings.overlaps),
            (Kind::Overlap, true, &findings.unknown_overlaps),
        ] {
            for finding in found {
                let list: &mut Vec<_> = all.entry(finding.trial).or_default();
                list.extend(apart(plan, finding.roles).into_iter().map(|roles| {
                    let (group, finding) = (group.cloned(), Finding { roles, ..finding.clone() });
                    Found { kind, unknown, group, finding, cut: None }
                }));
            }
        }
    };
    timeline.groups.iter().for_each(|(name, line)| take(Some(name), &line.findings));
    take(None, &timeline.joint);
    all
}

/// The findings within `window`, which may be the last of its run. Findings that reach its borders
/// must have been searched for slightly beyond them. `open` holds the gaps left open by earlier
/// windows, and receives those left open by this one.
pub(super) fn within(
    found: Vec<Found>,
    window: Interval,
    is_last: bool,
    open: &mut Open,
) -> Vec<Found> {
    let earlier = std::mem::take(open);
    let cut = |mut one: Found| {
        let whole = one.finding.span;
        let span = whole.intersect(window);
        if span.is_empty() {
            return None;
        }
        let (came, goes_on) = (whole.from < window.from, whole.until > window.until);
        let key = (one.group.clone(), one.finding.roles.first);
        let is_gap = one.kind == Kind::Gap && !one.unknown;
        let lasted = earlier.0.get(&key).copied().filter(|_| is_gap && came);
        if is_gap && goes_on {
            let until_now = lasted.unwrap_or_default().saturating_add(span.length());
            open.0.insert(key, until_now);
        }
        one.finding.span = span;
        one.finding.censored = goes_on && is_last;
        one.cut = Some(Cut { before: came.then(|| Length(lasted.unwrap_or_default())), goes_on });
        Some(one)
    };
    found.into_iter().filter_map(cut).collect()
}

impl Found {
    /// How many roles the finding is about.
    pub(super) fn roles(&self) -> u64 {
        u64::from(self.finding.roles.count)
    }

    pub(super) fn span(&self, context: &RunContext, plan: &Plan, objective: &Objective) -> Span {
        let Finding { roles, trial, span: during, cause, uncertainty, censored, .. } =
            &self.finding;
        let name = match self.kind {
            Kind::Gap => names::GAP,
            Kind::Overlap => names::OVERLAP,
        };
        let key = ids::finding(name, self.group.as_ref(), roles.first, during.from);
        let mut span = context.span(*trial, name, &key, *during);
        let scope = if self.group.is_some() { "group" } else { "joint" };
        span.attributes = whose(plan, *roles);
        span.attributes.extend([
            text(names::SCOPED, scope),
            context.numbered(*trial),
            truth(names::UNKNOWN, self.unknown),
            truth(names::CENSORED, *censored),
            number(names::UNCERTAINTY_NS, uncertainty.as_nanos()),
        ]);
        span.attributes.extend(self.group.as_ref().map(|one| text(names::GROUP, one.as_str())));
        if let Some(cut) = self.cut {
            span.attributes.push(truth(names::BEGAN_BEFORE, cut.before.is_some()));
            span.attributes.push(truth(names::GOES_ON, cut.goes_on));
        }
        if let Cause::Fault(id) = cause {
            span.links = vec![context.link(id.trial, &ids::fault(id), "caused_by")];
        }
        let (kind, by) = cause.kind();
        span.attributes.push(text(names::CAUSE, kind.word()));
        span.attributes.extend(by.map(|by| text(names::CAUSE_BY, &by)));
        span.status = self.status(objective);
        span
    }

    /// An error if a gap breaks the objective, or outlasts its trial: both fail the verdict. Its
    /// length in earlier windows counts. Overlaps and unknown times break no objective.
    pub(super) fn status(&self, objective: &Objective) -> Option<Status> {
        if self.kind == Kind::Overlap || self.unknown {
            return known();
        }
        let (whose, most) = match self.group {
            Some(_) => ("group_gap", objective.group_gap),
            None => ("joint_gap", objective.joint_gap),
        };
        let before = self.cut.and_then(|cut| cut.before).map_or(Duration::ZERO, Length::get);
        let length = self.finding.span.length().saturating_add(before);
        match most {
            Some(most) if length > most.get() => {
                error(format!("{}, and {whose} allows {most}", Length(length)))
            }
            Some(_) | None if self.finding.censored => {
                error("still open when its trial ended".to_owned())
            }
            Some(_) | None => known(),
        }
    }
}
