//! What a group with `protocol: consumer` needs (KIP-848).

use super::places::Places;
use super::{
    Assignor, ClusterFacts, Finding, Group, GroupProtocol, GroupSettings, Launch, MembershipClient,
    Mode, OnDeath, Pace, PlannedGroup, Weight,
};
use crate::ids::GroupName;
use crate::time::Span;
use crate::yaml::Problem;

/// The settings of a group that contradict its protocol.
pub(super) fn problems(
    group: &Group,
    settings: &GroupSettings,
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let at = |key: &str, message: &str, hint: &str| {
        Problem::at(places.setting(name, key), message.to_owned()).hint(hint.to_owned())
    };
    let mut problems = Vec::new();
    if pace.protocol.is_classic() {
        if pace.assignor == Assignor::Uniform {
            let message = "`uniform` is an assignor of the brokers";
            problems.push(at("assignor", message, "it belongs to `protocol: consumer`"));
        }
        if settings.assignment_interval.is_some() {
            let message = "only brokers that share out partitions have an `assignment_interval`";
            let hint = "it belongs to `protocol: consumer`";
            problems.push(at("assignment_interval", message, hint));
        }
        return problems;
    }
    if pace.membership != MembershipClient::Own {
        let message = "`protocol: consumer` is spoken by Tandem's own membership alone";
        problems.push(at("protocol", message, "write `membership: own` as well"));
    }
    if matches!(pace.mode, Mode::Fast | Mode::ExclusivePaper) {
        let mode = pace.mode.as_str();
        let message = format!("a group in {mode} mode has the classic protocol");
        problems.push(at("protocol", &message, "leave `protocol` out, or write `classic`"));
    }
    if !matches!(pace.assignor, Assignor::Uniform | Assignor::Range) {
        let message = format!("the brokers have no assignor `{}`", pace.assignor.as_str());
        problems.push(at("assignor", &message, "write `uniform` or `range`, or leave it out"));
    }
    if pace.on_death == OnDeath::StandIn {
        let message = "members stand in for each other under the classic protocol alone";
        problems.push(at("on_death", message, "`on_death: leave` is for both protocols"));
    }
    if group.launch == Some(Launch::External) {
        let message = "the settings of a group with members of your own are not set by Tandem";
        problems.push(at("protocol", message, "`launch: external` needs `protocol: classic`"));
    }
    problems
}

/// Whether the cluster lets the group have its protocol, and these settings. They are the group's
/// on the brokers, and a run sets them.
pub(super) fn findings(
    name: &GroupName,
    group: &PlannedGroup,
    facts: &ClusterFacts,
) -> Vec<Finding> {
    let (cluster, pace) = (&group.cluster, &group.pace);
    let refused = |text: String| Finding::new(Weight::Refused, text);
    if facts.consumer == Some(false) {
        return vec![refused(format!(
            "group {name}: cluster {cluster} does not speak `protocol: consumer`: it needs Kafka \
             4, or `protocol: classic` here"
        ))];
    }
    let limits = [
        ("session", "session.timeout", pace.session, facts.consumer_session),
        ("heartbeat", "heartbeat.interval", pace.heartbeat, facts.consumer_heartbeat),
    ];
    let mut findings = Vec::new();
    for (key, property, span, limits) in limits {
        let ms = span.get().as_millis();
        findings.push(match limits {
            Some((least, _)) if span < least => refused(format!(
                "group {name}: cluster {cluster} allows no group a {key} of {span}: set \
                 `group.consumer.min.{property}.ms={ms}` on its brokers, or `{key}: {least}` here"
            )),
            Some((_, most)) if span > most => refused(format!(
                "group {name}: cluster {cluster} allows no group a {key} of {span}: set \
                 `group.consumer.max.{property}.ms={ms}` on its brokers, or `{key}: {most}` here"
            )),
            Some((least, most)) => Finding::new(
                Weight::Fine,
                format!(
                    "group {name}: a run sets `consumer.{property}.ms={ms}` for consumer group \
                     {}, which is allowed ({least} to {most})",
                    group.consumer_group
                ),
            ),
            None => Finding::new(
                Weight::Warned,
                format!(
                    "group {name}: cannot check whether cluster {cluster} allows a group a {key} \
                     of {span}: that requires DescribeConfigs on the cluster"
                ),
            ),
        });
    }
    findings
}

/// The settings that the brokers need for the group.
#[must_use]
pub fn group_terms(group: &PlannedGroup) -> Option<tandem_member::GroupTerms> {
    let Pace { session, heartbeat, assignment, .. } = group.pace;
    (group.pace.protocol == GroupProtocol::Consumer).then(|| tandem_member::GroupTerms {
        session: Span::get(session),
        heartbeat: Span::get(heartbeat),
        assignment: Span::get(assignment),
    })
}
