//! Terms as spans: which member claimed which role, from when until when, and the terms before.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::trace::v1::Span;

use super::finding::{apart, whose};
use super::run_context::{RunContext, number, text, truth};
use super::{ids, names};
use crate::ids::{GroupName, Life, PartitionId, RoleIndex, Term, TrialNumber};
use crate::roles::RoleClass;
use crate::timeline::{Interval, IntervalSet, Lane, Timeline, Trial, View};
use crate::topology::Plan;

/// The link from a term to the one before it.
const FOLLOWS: &str = "follows";
/// The link from a span to the earlier part of the same term.
pub(super) const CONTINUES: &str = "continues";

/// One term for one role, within one trial or window.
#[derive(Debug, Clone)]
pub(super) struct Tenure {
    group: GroupName,
    roles: RoleClass,
    partition: PartitionId,
    life: Life,
    term: Term,
    claim: Interval,
    unknown: IntervalSet,
    earlier: Option<Earlier>,
}

/// An earlier term.
#[derive(Debug, Clone)]
struct Earlier {
    trial: TrialNumber,
    life: Life,
    term: Term,
    relation: &'static str,
}

/// The terms in earlier traces: for each partition, those of the last trace that has any.
#[derive(Debug, Clone, Default)]
pub(super) struct Past(BTreeMap<(GroupName, PartitionId), Stood>);

/// The number of the trace, and the terms in it.
type Stood = (TrialNumber, Vec<(Life, Term)>);

impl Past {
    /// Records the terms of the trace with this number, the latest so far.
    pub(super) fn keep(&mut self, number: TrialNumber, tenures: &[Tenure]) {
        for tenure in tenures {
            let place = (tenure.group.clone(), tenure.partition);
            let (latest, terms) = self.0.entry(place).or_insert((number, Vec::new()));
            if *latest != number {
                (*latest, *terms) = (number, Vec::new());
            }
            let term = (tenure.life.clone(), tenure.term);
            // There is one tenure per role, and several roles may share a partition.
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
    }

    fn of(&self, group: &GroupName, partition: PartitionId) -> Vec<Earlier> {
        let Some((trial, terms)) = self.0.get(&(group.clone(), partition)) else {
            return Vec::new();
        };
        let earlier = |(life, term): &(Life, Term)| Earlier {
            trial: *trial,
            life: life.clone(),
            term: *term,
            relation: FOLLOWS,
        };
        terms.iter().map(earlier).collect()
    }
}

/// All terms by trial; a term that spans several trials is in each. `past` holds the terms of
/// earlier traces.
pub(super) fn sorted(
    plan: &Plan,
    timeline: &Timeline,
    past: &Past,
) -> BTreeMap<TrialNumber, Vec<Tenure>> {
    let mut all: BTreeMap<_, Vec<Tenure>> = BTreeMap::new();
    for (name, line) in &timeline.groups {
        let Some(group) = plan.groups.get(name) else { continue };
        for (partition, lane) in line.lanes.iter() {
            let on = |roles: &RoleClass| group.partition(roles.first) == *partition;
            let class = plan.classes_of(group).find(on);
            let roles = class.map_or_else(Vec::new, |roles| apart(plan, roles));
            let past = past.of(name, *partition);
            let trials = &timeline.record.trials;
            for (trial, tenure) in tenures(name, (*partition, lane), trials, &past) {
                let list = all.entry(trial).or_default();
                list.extend(roles.iter().map(|&roles| Tenure { roles, ..tenure.clone() }));
            }
        }
    }
    all
}

/// The terms on one partition with the trials that they meet, in the order of their beginnings.
fn tenures(
    group: &GroupName,
    (partition, lane): (PartitionId, &Lane),
    trials: &[Trial],
    past: &[Earlier],
) -> Vec<(TrialNumber, Tenure)> {
    let mut terms: Vec<_> = lane.terms.iter().collect();
    terms.sort_by(|one, other| (one.2, &one.0, one.1).cmp(&(other.2, &other.0, other.1)));
    let views: BTreeMap<&Life, &View> =
        lane.claimed.iter().map(|(life, view)| (life, view)).collect();
    let mut all = Vec::new();
    // The earlier term is followed if no other term came between.
    let mut before: Option<Vec<Earlier>> = past.last().map(|last| vec![last.clone()]);
    for (life, term, claim) in terms {
        let known = past.iter().filter(|one| one.life == *life && one.term == *term);
        let mut seen: Vec<Earlier> =
            known.map(|one| Earlier { relation: CONTINUES, ..one.clone() }).collect();
        let near = trials.partition_point(|trial| trial.window.until <= claim.from);
        let met = trials.iter().skip(near).take_while(|trial| trial.window.from < claim.until);
        let sure = views.get(life).map(|view| &view.sure);
        for trial in met {
            let within = IntervalSet::from(claim.intersect(trial.window));
            let last = before.iter().flatten().rev().find(|one| one.trial <= trial.number);
            let earlier = seen.last().cloned().or_else(|| last.cloned());
            let tenure = Tenure {
                group: group.clone(),
                roles: RoleClass::of(RoleIndex(0)),
                partition,
                life: life.clone(),
                term: *term,
                claim: *claim,
                unknown: sure.map_or_else(|| within.clone(), |sure| within.subtract(sure)),
                earlier,
            };
            all.push((trial.number, tenure));
            let (life, term) = (life.clone(), *term);
            seen.push(Earlier { trial: trial.number, life, term, relation: CONTINUES });
        }
        if !seen.is_empty() {
            seen.iter_mut().for_each(|one| one.relation = FOLLOWS);
            before = Some(seen);
        }
    }
    all
}

impl Tenure {
    pub(super) fn span(&self, context: &RunContext, plan: &Plan, trial: &Trial) -> Span {
        let key = |life: &Life, term: Term| ids::term(&self.group, self.roles.first, life, term);
        let during = self.claim.intersect(trial.window);
        let own = key(&self.life, self.term);
        let mut span = context.span(trial.number, names::LEADERSHIP, &own, during);
        span.attributes = whose(plan, self.roles);
        span.attributes.extend([
            text(names::GROUP, self.group.as_str()),
            text(names::MEMBER, self.life.member.as_str()),
            number(names::INCARNATION, self.life.incarnation.0),
            number(names::TERM, self.term.0),
            number(names::PARTITION, self.partition.0),
            context.numbered(trial.number),
            truth(names::BEGAN_BEFORE, self.claim.from < trial.window.from),
            truth(names::GOES_ON, self.claim.until > trial.window.until),
            number(names::UNKNOWN_NS, self.unknown.total().as_nanos()),
        ]);
        let link = |one: &Earlier| context.link(one.trial, &key(&one.life, one.term), one.relation);
        span.links = self.earlier.iter().map(link).collect();
        span
    }
}
