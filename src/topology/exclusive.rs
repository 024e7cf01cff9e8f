//! What a group in exclusive mode needs, so that its proof holds.

use super::places::Places;
use super::{
    Address, Assignor, ClusterFacts, Finding, GroupSettings, MembershipClient, Mode, Pace, Plan,
    PlannedGroup, Weight,
};
use crate::ids::GroupName;
use crate::time::Span;
use crate::yaml::Problem;
use tandem_member::usual;

/// The settings of a group that contradict the exclusive mode, or that only it has.
pub(super) fn problems(
    settings: &GroupSettings,
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let at = |key: &str, message: String| Problem::at(places.setting(name, key), message);
    let mut problems = Vec::new();
    if pace.mode != Mode::Exclusive {
        if settings.hold.is_some() {
            let message = format!("a group in {} mode has no `hold`", pace.mode.as_str());
            problems.push(at("hold", message).hint("it belongs to `mode: exclusive`"));
        }
        return problems;
    }
    if pace.membership != MembershipClient::Own {
        let message = format!("`membership: {}` proves nothing", pace.membership);
        let hint = "exclusive mode needs `membership: own`, which knows when the broker counted a \
                    member in";
        problems.push(at("membership", message).hint(hint));
    }
    if pace.assignor == Assignor::CooperativeSticky {
        let message = "under a cooperative assignor members join again without an end of claims";
        let hint = "exclusive mode needs `roundrobin` or `range`";
        problems.push(at("assignor", message.to_owned()).hint(hint));
    }
    if pace.hold > pace.threshold {
        let Pace { hold, threshold, .. } = pace;
        let message = format!("hold {hold} is more than threshold {threshold}");
        problems.push(at("hold", message).hint("no claim lasts longer than the threshold"));
    }
    problems
}

/// The rule for the threshold that a group breaks.
pub(super) fn threshold_problem(
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Option<Problem> {
    let at = |message: String| Problem::at(places.setting(name, "threshold"), message);
    let Pace { threshold, session, heartbeat, .. } = *pace;
    let most = Span(usual::exclusive_threshold_most(session.get()));
    // Under the newer protocol one is a quarter of `T` old when it counts.
    let beats = if pace.protocol.is_classic() { 2 } else { 3 };
    let least = Span(beats * (heartbeat.get() + pace.wake.get()));
    if threshold > most {
        let message = format!("threshold {threshold} is not below session {session}");
        let hint = format!("at most {most}: a claim must end before its member is expelled");
        Some(at(message).hint(hint))
    } else if threshold < least {
        let message = format!("threshold {threshold} is less than two heartbeats take");
        Some(at(message).hint(format!("at least {least}, or one late answer ends every claim")))
    } else {
        None
    }
}

/// What users of exclusive groups must know.
pub(super) fn warnings(plan: &Plan) -> Vec<String> {
    let exclusive: Vec<_> =
        plan.groups.iter().filter(|(_, group)| group.pace.mode.forbids_overlap()).collect();
    let names: Vec<String> = exclusive.iter().map(|(name, _)| format!("`{name}`")).collect();
    let mut warnings = Vec::new();
    if names.len() > 1 {
        warnings.push(format!(
            "{} are exclusive each for itself: a role has up to {} leaders, one in each",
            names.join(", "),
            names.len()
        ));
    }
    for (name, group) in exclusive.into_iter().filter(|(_, it)| it.pace.mode.is_exclusive()) {
        let cluster = plan.clusters.get(&group.cluster);
        if cluster.is_some_and(|cluster| cluster.address == Address::Embedded) {
            let threshold = group.pace.threshold;
            warnings.push(format!(
                "`{name}`: an embedded broker that restarts has forgotten its groups, so two \
                 members can lead for up to {threshold} after its death"
            ));
        }
    }
    warnings
}

/// Whether brokers keep the commits on which the proof rests. A deposed coordinator must not be
/// able to acknowledge one, and its successor must have them all.
pub(super) fn finding(
    name: &GroupName,
    group: &PlannedGroup,
    facts: &ClusterFacts,
) -> Option<Finding> {
    if !group.pace.mode.is_exclusive() || facts.brokers.len() < 2 {
        return None;
    }
    let cluster = &group.cluster;
    let (weight, text) = match (facts.offsets_insync, facts.offsets_unclean) {
        (Some(0 | 1), _) => (
            Weight::Refused,
            format!(
                "group {name}: a coordinator that cluster {cluster} has replaced can go on \
                 answering: set `min.insync.replicas=2` on topic __consumer_offsets"
            ),
        ),
        (_, Some(true)) => (
            Weight::Refused,
            format!(
                "group {name}: cluster {cluster} can lose what its coordinator knew: set \
                 `unclean.leader.election.enable=false` on topic __consumer_offsets"
            ),
        ),
        (Some(insync), Some(false)) => (
            Weight::Fine,
            format!(
                "group {name}: a commit to __consumer_offsets reaches {insync} replicas, so \
                 exclusive mode holds"
            ),
        ),
        (None, _) | (_, None) => (
            Weight::Warned,
            format!(
                "group {name}: cannot check whether cluster {cluster} replicates commits: that \
                 requires DescribeConfigs on topic __consumer_offsets"
            ),
        ),
    };
    Some(Finding::new(weight, text))
}
