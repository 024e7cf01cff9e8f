//! What the timeline finds, in the words of its naive twin, so that both can be compared.

use tandem::ids::GroupName;
use tandem::observation::Fact;
use tandem::timeline::{Finding, Timeline};
use tandem::topology::Plan;

use super::naive::Gap;

/// What [`super::naive::gaps`] must find as well.
pub fn gaps(plan: &Plan, facts: &[Fact]) -> Vec<Gap> {
    let timeline = Timeline::compute(plan, facts);
    let mut all = Vec::new();
    let mut add = |group: Option<&GroupName>, found: &[Finding], sure: bool| {
        for gap in found {
            all.extend(gap.roles.roles().map(|role| Gap {
                group: group.cloned(),
                role: usize::try_from(role.0).unwrap(),
                trial: gap.trial,
                from: gap.span.from,
                until: gap.span.until,
                sure,
            }));
        }
    };
    for (name, line) in &timeline.groups {
        add(Some(name), &line.findings.gaps, true);
        add(Some(name), &line.findings.unknown_gaps, false);
    }
    add(None, &timeline.joint.gaps, true);
    add(None, &timeline.joint.unknown_gaps, false);
    all.sort();
    all
}
