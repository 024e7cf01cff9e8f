//! What the plan promises: leaders, gaps, and in which groups one leader at most.

use std::fmt;

use super::super::Plan;

/// The section.
pub(super) fn section(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    writeln!(f, "\npromised")?;
    writeln!(f, "  {} leader of each role in each group", plan.objective.leaders_per_group)?;
    exclusive(f, plan)?;
    if let Some(gap) = plan.objective.joint_gap {
        writeln!(f, "  no role without a leader in all groups at once for longer than {gap}")?;
    }
    if let Some(gap) = plan.objective.group_gap {
        writeln!(f, "  no role without a leader in one group for longer than {gap}")?;
    }
    let groups = plan.groups.len();
    if groups > 1 {
        writeln!(
            f,
            "  one leader at all times with faults in up to {} of the {groups} groups: for k \
             leaders despite f faults, use k + f groups",
            groups - 1
        )?;
    }
    Ok(())
}

/// Which groups promise one leader at most, and which do not.
fn exclusive(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    let names = |exclusive: bool| {
        let groups = plan.groups.iter();
        let all = groups.filter(|(_, it)| it.pace.mode.forbids_overlap() == exclusive);
        let names: Vec<&str> = all.map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    let (exclusive, others) = (names(true), names(false));
    if exclusive.is_empty() {
        return Ok(());
    }
    write!(f, "  at most one leader of each role in {exclusive}: two fail the run")?;
    if !others.is_empty() {
        write!(f, "; no such promise in {others}")?;
    }
    writeln!(f)
}
