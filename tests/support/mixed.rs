//! What must hold of `p2`, the group of a mixed topology that does not elect by NELI.

use tandem::observation::Fact;

use super::experiment::Experiment;

/// The leader of a role of `p2`, for a step.
pub const LEADER: &str = "target: {leader_of: any, group: p2}";

/// An experiment of this name, in a file of that: a step three times, all within the bounds.
pub fn three_times(file: &str, name: &str, step: &str) -> Experiment {
    let text = format!(
        "version: 1\nname: {name}\ntrials: 3\ndisturbed: {{stall: 50ms}}\nmethod:\n  \
         - {{id: f, at: 500ms, jitter: 300ms, {step}}}\nobjective: {{joint_gap: 0s}}\nassert:\n  \
         - group.gap.max <= bound.group.gap\n  - group.overlap.max <= bound.group.overlap\n"
    );
    Experiment::of(file, &text)
}

/// The facts of the lives of `p2`.
pub fn of_p2(facts: &[Fact]) -> Vec<Fact> {
    let of = |fact: &&Fact| {
        fact.life.as_ref().is_some_and(|life| life.member.as_str().starts_with("p2-"))
    };
    facts.iter().filter(of).cloned().collect()
}
