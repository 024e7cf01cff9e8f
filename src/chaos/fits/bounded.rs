//! Whether the bounds that an experiment compares with are known.

use crate::chaos::Experiment;
use crate::topology::Plan;
use crate::verdict::{Assertion, BoundOf, Brief, Limit, Limits, Subject};
use crate::yaml::{Cursor, Problem};

/// The claims that compare with an unknown bound.
pub(super) fn fits(experiment: &Experiment, plan: &Plan, place: Cursor<'_>) -> Vec<Problem> {
    let brief = crate::chaos::brief(experiment, plan);
    let claims = experiment.assertions.iter().enumerate();
    let unknown = claims.filter(|(_, claim)| !known(claim, &brief));
    unknown.map(|(index, claim)| problem(claim, place.index(index))).collect()
}

fn known(claim: &Assertion, brief: &Brief) -> bool {
    let has = |limits: &Limits, of: BoundOf| match of {
        BoundOf::Gap => limits.gap.is_some(),
        BoundOf::Overlap => limits.overlap.is_some(),
    };
    match claim.limit {
        Limit::Count(_) | Limit::Duration(_) => true,
        Limit::JointBound(of) => has(&brief.joint, of),
        Limit::GroupBound(of) => match &claim.subject {
            Subject::Group(name) => brief.limits.get(name).is_none_or(|limits| has(limits, of)),
            Subject::EachGroup | Subject::Joint => {
                brief.limits.values().all(|limits| has(limits, of))
            }
        },
    }
}

fn problem(claim: &Assertion, place: Cursor<'_>) -> Problem {
    let what = match claim.limit {
        Limit::JointBound(BoundOf::Overlap) | Limit::GroupBound(BoundOf::Overlap) => "overlap",
        Limit::JointBound(BoundOf::Gap)
        | Limit::GroupBound(BoundOf::Gap)
        | Limit::Count(_)
        | Limit::Duration(_) => "gap",
    };
    let message = format!("there is no known bound for the {what} that this method can cause");
    Problem::at(place.origin(), message).hint("compare with a duration")
}
