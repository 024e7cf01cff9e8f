//! Compares a plan with what live brokers report: what a cluster allows, and what it makes groups
//! share.

use std::collections::BTreeMap;
use std::fmt;

use super::{
    ClusterFacts, Plan, PlannedGroup, Shareable, consumer, exclusive, foreign, paper, shared_fate,
};
use crate::ids::{ClusterName, GroupName};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// No problem.
    Fine,
    /// It works, but perhaps not as expected.
    Warned,
    /// It does not work.
    Refused,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub weight: Weight,
    /// The result, and what to do about it, in one sentence.
    pub text: String,
}

impl Finding {
    pub(super) fn new(weight: Weight, text: String) -> Self {
        Self { weight, text }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compares `plan` with the facts of its clusters; a cluster without facts is skipped.
#[must_use]
pub fn judge(plan: &Plan, facts: &BTreeMap<ClusterName, ClusterFacts>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, facts) in facts {
        cluster(name, facts, &mut findings);
    }
    for (name, group) in &plan.groups {
        let Some(facts) = facts.get(&group.cluster) else { continue };
        if group.pace.protocol.is_classic() {
            session(name, group, facts, &mut findings);
        } else {
            findings.extend(consumer::findings(name, group, facts));
        }
        ledger(name, group, facts, &mut findings);
        findings.push(coordinator(name, group, facts));
        findings.extend(exclusive::finding(name, group, facts));
        findings.extend(paper::finding(name, group, facts));
    }
    findings.extend(shared(plan, facts));
    findings
}

fn cluster(name: &ClusterName, facts: &ClusterFacts, findings: &mut Vec<Finding>) {
    let addresses: Vec<_> = facts.brokers.iter().map(|(id, at)| format!("{id} at {at}")).collect();
    let protocol = facts.protocol.as_ref().map(|version| format!(", protocol {version}"));
    findings.push(Finding::new(
        Weight::Fine,
        format!(
            "cluster {name} answers; {} broker(s): {}{}",
            addresses.len(),
            addresses.join(", "),
            protocol.unwrap_or_default()
        ),
    ));
    if let Some(delay) = facts.initial_delay.filter(|delay| !delay.get().is_zero()) {
        findings.push(Finding::new(
            Weight::Warned,
            format!(
                "cluster {name} delays the first assignment of an empty group by {delay}: to \
                 avoid that, set `group.initial.rebalance.delay.ms=0`"
            ),
        ));
    }
}

fn session(name: &GroupName, group: &PlannedGroup, facts: &ClusterFacts, all: &mut Vec<Finding>) {
    let (session, cluster) = (group.pace.session, &group.cluster);
    let (weight, text) = match (facts.session_least, facts.session_most) {
        (Some(least), _) if session.get() < least.get() => (
            Weight::Refused,
            format!(
                "group {name}: cluster {cluster} refuses session {session}: set \
                 `group.min.session.timeout.ms={}` on its brokers, or `session: {least}` here",
                session.get().as_millis()
            ),
        ),
        (_, Some(most)) if session.get() > most.get() => (
            Weight::Refused,
            format!(
                "group {name}: cluster {cluster} refuses session {session}: set \
                 `group.max.session.timeout.ms={}` on its brokers, or `session: {most}` here",
                session.get().as_millis()
            ),
        ),
        (Some(least), Some(most)) => (
            Weight::Fine,
            format!("group {name}: session {session} is allowed ({least} to {most})"),
        ),
        (None, _) | (_, None) => (
            Weight::Warned,
            format!(
                "group {name}: cannot check whether cluster {cluster} allows session {session}: \
                 that requires DescribeConfigs on the cluster"
            ),
        ),
    };
    all.push(Finding::new(weight, text));
}

fn ledger(name: &GroupName, group: &PlannedGroup, facts: &ClusterFacts, all: &mut Vec<Finding>) {
    let (topic, wanted) = (&group.topic, group.partitions.get());
    all.push(match facts.widths.get(topic) {
        Some(found) if *found != wanted => Finding::new(
            Weight::Refused,
            format!(
                "topic {topic} of group {name} has {found} partitions and {wanted} are planned: \
                 set `partitions: {found}`, name another topic, or delete this one"
            ),
        ),
        Some(_) => {
            let text = format!("group {name}: topic {topic} exists, {wanted} partition(s)");
            Finding::new(Weight::Fine, text)
        }
        None => missing(name, group, facts),
    });
    all.extend(foreign::finding(name, group, facts));
}

fn missing(name: &GroupName, group: &PlannedGroup, facts: &ClusterFacts) -> Finding {
    let (topic, brokers) = (&group.topic, facts.brokers.len());
    let replicas = group.replication.map_or(0, usize::from);
    if replicas > brokers {
        let text = format!(
            "group {name}: topic {topic} should have {replicas} replicas but there are \
             {brokers} broker(s): set `replication: {brokers}` or less"
        );
        return Finding::new(Weight::Refused, text);
    }
    let insync = group.min_insync_replicas.map_or(0, usize::from);
    if insync > brokers {
        let text = format!(
            "group {name}: {insync} replicas of topic {topic} should be in sync but there are \
             {brokers} broker(s), so no beacon would be delivered: set \
             `min_insync_replicas: {brokers}` or less"
        );
        return Finding::new(Weight::Refused, text);
    }
    match facts.refusals.get(topic) {
        Some(why) => Finding::new(
            Weight::Refused,
            format!(
                "group {name}: topic {topic} is missing and cluster {} refuses to create it \
                 ({why}): create it with {} partitions, or grant the right to create it",
                group.cluster, group.partitions
            ),
        ),
        None => Finding::new(Weight::Fine, format!("group {name}: topic {topic} will be created")),
    }
}

fn coordinator(name: &GroupName, group: &PlannedGroup, facts: &ClusterFacts) -> Finding {
    let (consumer_group, cluster) = (&group.consumer_group, &group.cluster);
    let count = facts.offsets_leaders.len();
    let partition = facts.offsets_partition(consumer_group);
    let (weight, text) = match (facts.coordinator(consumer_group), partition) {
        (Some(broker), Some(partition)) => (
            Weight::Fine,
            format!(
                "group {name}: consumer group {consumer_group} is coordinated by broker {broker} \
                 (`__consumer_offsets` partition {partition} of {count})"
            ),
        ),
        (Some(broker), None) => (
            Weight::Fine,
            format!(
                "group {name}: consumer group {consumer_group} is coordinated by broker {broker}"
            ),
        ),
        (None, Some(partition)) => (
            Weight::Refused,
            format!(
                "group {name}: consumer group {consumer_group} has no coordinator: partition \
                 {partition} of `__consumer_offsets` on cluster {cluster} has no leader"
            ),
        ),
        (None, None) => (
            Weight::Warned,
            format!(
                "group {name}: cannot determine the coordinator on cluster {cluster}: with several \
                 brokers that requires Describe on topic __consumer_offsets"
            ),
        ),
    };
    Finding::new(weight, text)
}

/// Groups that the same broker coordinates.
fn shared(plan: &Plan, facts: &BTreeMap<ClusterName, ClusterFacts>) -> Vec<Finding> {
    let refused = plan.disjoint.contains(&Shareable::Coordinator);
    let mut by_broker: BTreeMap<_, Vec<GroupName>> = BTreeMap::new();
    for (name, group) in &plan.groups {
        let Some(facts) = facts.get(&group.cluster) else { continue };
        // A single broker coordinates all groups of its cluster, which the shared cluster implies.
        if facts.brokers.len() == 1 && !refused {
            continue;
        }
        let cluster = shared_fate::brokers(&plan.clusters, &group.cluster);
        if let Some(broker) = facts.coordinator(&group.consumer_group) {
            by_broker.entry((cluster, broker)).or_default().push(name.clone());
        }
    }
    let shared = by_broker.into_iter().filter(|(_, groups)| groups.len() > 1);
    shared
        .map(|((cluster, broker), groups)| {
            let groups = shared_fate::list(&groups);
            let (weight, why) = if refused {
                (Weight::Refused, "and `disjoint` names `coordinator`: name another consumer group")
            } else {
                (Weight::Warned, "one fault can hit them all")
            };
            let what = format!("broker {broker} of cluster {cluster} coordinates {groups}");
            Finding::new(weight, format!("{what}: {why}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use crate::topology::plan;

    const TEXT: &str = "\
version: 1
name: t
roles: [r]
clusters: {a: {bootstrap: \"h:1\"}}
groups:
  p1: {cluster: a, partitions: 4, consumer_group: a}
  p2: {cluster: a, partitions: 4, consumer_group: b}
defaults: {session: 1s}
";

    fn facts() -> ClusterFacts {
        ClusterFacts {
            brokers: (1..=3).map(|id| (id, format!("h:{id}"))).collect(),
            session_least: Some(Span::ms(100)),
            session_most: Some(Span::ms(300_000)),
            initial_delay: Some(Span::ms(0)),
            // Java: "a".hashCode() is 97, "b".hashCode() 98.
            offsets_leaders: vec![Some(1), Some(2), Some(3), Some(1)],
            ..ClusterFacts::default()
        }
    }

    fn found(text: &str, facts: ClusterFacts) -> Vec<(Weight, String)> {
        let plan = plan(text, &[]).unwrap();
        let facts = [("a".parse().unwrap(), facts)].into();
        let notable = judge(&plan, &facts).into_iter().filter(|it| it.weight != Weight::Fine);
        notable.map(|finding| (finding.weight, finding.text)).collect()
    }

    #[test]
    fn a_cluster_that_allows_everything_is_fine() {
        assert_eq!(found(TEXT, facts()), []);
    }

    #[test]
    fn a_session_below_the_least_is_refused_with_the_setting_that_would_allow_it() {
        let findings = found(TEXT, ClusterFacts { session_least: Some(Span::ms(6000)), ..facts() });
        assert_eq!(findings.len(), 2, "one a group");
        assert_eq!(findings[0].0, Weight::Refused);
        assert_eq!(
            findings[0].1,
            "group p1: cluster a refuses session 1s: set `group.min.session.timeout.ms=1000` on \
             its \
             brokers, or `session: 6s` here"
        );
    }

    #[test]
    fn a_broker_that_coordinates_two_groups_is_warned_of_or_refused() {
        let shared =
            || ClusterFacts { offsets_leaders: vec![Some(1), Some(2), Some(2)], ..facts() };
        // 97 % 3 is 1 and 98 % 3 is 2.
        let findings = found(TEXT, shared());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].0, Weight::Warned);
        assert!(findings[0].1.starts_with("broker 2 of cluster a coordinates `p1` and `p2`"));
        let strict = format!("{TEXT}disjoint: [coordinator]\n");
        assert_eq!(found(&strict, shared())[0].0, Weight::Refused);
    }

    #[test]
    fn topics_that_cannot_be_created_and_groups_that_cannot_be_joined_are_refused() {
        let mut facts = facts();
        facts.widths.insert("t-p1".parse().unwrap(), 3);
        facts.refusals.insert("t-p2".parse().unwrap(), "not allowed".to_owned());
        facts.strangers.insert("b".parse().unwrap(), vec!["x".to_owned()]);
        let findings = found(TEXT, facts);
        let all = findings.iter().map(|(weight, _)| *weight).collect::<Vec<_>>();
        assert_eq!(all, [Weight::Refused; 3]);
        assert!(findings[0].1.contains("has 3 partitions and 4 are planned"), "{findings:?}");
        assert!(findings[1].1.contains("refuses to create it (not allowed)"), "{findings:?}");
        assert!(findings[2].1.contains("members that are not ours (x)"), "{findings:?}");
    }

    #[test]
    fn others_that_are_allowed_are_a_warning() {
        let text = TEXT.replace("consumer_group: b", "consumer_group: b, foreign: allow");
        let mut facts = facts();
        facts.strangers.insert("b".parse().unwrap(), vec!["x".to_owned()]);
        let findings = found(&text, facts);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].0, Weight::Warned);
        assert!(findings[0].1.contains("not ours (x): what they hold is unknown"), "{findings:?}");
    }

    /// A coordinator that was replaced must not be able to acknowledge a commit.
    #[test]
    fn exclusive_groups_need_offsets_that_are_replicated() {
        let text = TEXT.replace("{session: 1s}", "{session: 1s, mode: exclusive}");
        let judged = |insync, unclean| {
            let facts = ClusterFacts {
                offsets_insync: Some(insync),
                offsets_unclean: Some(unclean),
                ..facts()
            };
            found(&text, facts)
        };
        assert_eq!(judged(2, false), []);
        for (insync, unclean, setting) in [
            (1, false, "set `min.insync.replicas=2` on topic __consumer_offsets"),
            (2, true, "set `unclean.leader.election.enable=false` on topic __consumer_offsets"),
        ] {
            let findings = judged(insync, unclean);
            assert_eq!(findings.len(), 2, "one a group");
            assert_eq!(findings[0].0, Weight::Refused);
            assert!(findings[0].1.contains(setting), "{findings:?}");
        }
        assert_eq!(found(&text, facts())[0].0, Weight::Warned, "it is not known");
        let alone = ClusterFacts { brokers: [(1, "h:1".to_owned())].into(), ..facts() };
        assert!(found(&text, alone).iter().all(|it| !it.1.contains("__consumer_offsets")));
    }

    #[test]
    fn more_replicas_in_sync_than_there_are_brokers_are_refused() {
        let text = TEXT.replace("{session: 1s}", "{session: 1s, min_insync_replicas: 4}");
        let findings = found(&text, facts());
        assert_eq!(findings.len(), 2, "one a group");
        assert_eq!(findings[0].0, Weight::Refused);
        assert!(findings[0].1.contains("set `min_insync_replicas: 3` or less"), "{findings:?}");
    }
}
