//! Gaps and overlaps as spans, each with a link to the fault that caused it.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::scene::{Scene, error, number, text, truth};
use super::{ids, names};
use crate::ids::{GroupName, RoleIndex, TrialNumber};
use crate::time::Span as Length;
use crate::timeline::{Cause, Finding, Findings, Timeline};
use crate::topology::{Objective, Plan};

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nobody served.
    Gap,
    /// Two or more claimed.
    Overlap,
}

/// A finding, with whose it is.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) kind: Kind,
    /// Nobody can tell whether there was one.
    pub(super) unknown: bool,
    /// None: of all groups together.
    pub(super) group: Option<GroupName>,
    finding: Finding,
}

/// All findings, by trial.
pub(super) fn sorted(timeline: &Timeline) -> BTreeMap<TrialNumber, Vec<Found>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut take = |group: Option<&GroupName>, findings: &Findings| {
        for (kind, unknown, found) in [
            (Kind::Gap, false, &findings.gaps),
            (Kind::Gap, true, &findings.unknown_gaps),
            (Kind::Overlap, false, &findings.overlaps),
            (Kind::Overlap, true, &findings.unknown_overlaps),
        ] {
            for finding in found {
                let (group, finding) = (group.cloned(), finding.clone());
                let found = Found { kind, unknown, group, finding };
                all.entry(found.finding.trial).or_default().push(found);
            }
        }
    };
    timeline.groups.iter().for_each(|(name, line)| take(Some(name), &line.findings));
    take(None, &timeline.joint);
    all
}

impl Found {
    pub(super) fn span(&self, scene: &Scene, plan: &Plan, objective: &Objective) -> Span {
        let Finding { role, trial, span: during, cause, uncertainty, censored } = &self.finding;
        let name = match self.kind {
            Kind::Gap => names::GAP,
            Kind::Overlap => names::OVERLAP,
        };
        let key = ids::finding(name, self.group.as_ref(), *role, during.from);
        let mut span = scene.span(*trial, name, &key, *during);
        let scope = if self.group.is_some() { "group" } else { "joint" };
        span.attributes = vec![
            text(names::ROLE, role_name(plan, *role)),
            text(names::SCOPED, scope),
            number(names::TRIAL_NUMBER, trial.0),
            truth(names::UNKNOWN, self.unknown),
            truth(names::CENSORED, *censored),
            number(names::UNCERTAINTY_NS, uncertainty.as_nanos()),
        ];
        span.attributes.extend(self.group.as_ref().map(|one| text(names::GROUP, one.as_str())));
        let (kind, by) = match cause {
            Cause::Fault(id) => {
                span.links = vec![scene.link(id.trial, &ids::fault(id), "caused_by")];
                ("fault", Some(id.to_string()))
            }
            Cause::Restart(life) => ("restart", Some(life.to_string())),
            Cause::Nothing => ("none", None),
        };
        span.attributes.push(text(names::CAUSE, kind));
        span.attributes.extend(by.map(|by| text(names::CAUSE_BY, &by)));
        span.status = self.status(objective);
        span
    }

    /// An error where a gap breaks the objective, or outlasts its trial: both fail the verdict.
    /// Overlaps and what is unknown break no objective.
    fn status(&self, objective: &Objective) -> Option<Status> {
        let known = Some(Status::default());
        if self.kind == Kind::Overlap || self.unknown {
            return known;
        }
        let (whose, most) = match self.group {
            Some(_) => ("group_gap", objective.group_gap),
            None => ("joint_gap", objective.joint_gap),
        };
        let length = self.finding.span.length();
        match most {
            Some(most) if length > most.get() => {
                error(format!("{}, and {whose} allows {most}", Length(length)))
            }
            Some(_) | None if self.finding.censored => {
                error("still open when its trial ended".to_owned())
            }
            Some(_) | None => known,
        }
    }
}

/// The name of a role.
pub(super) fn role_name(plan: &Plan, role: RoleIndex) -> &str {
    let role = usize::try_from(role.0).ok().and_then(|place| plan.roles.get(place));
    role.map_or("", |name| name.as_str())
}
