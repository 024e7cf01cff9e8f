//! The rules for a topology beyond the types of its values.

use std::collections::BTreeMap;
use std::time::Duration;

use super::access::{token_problem, unfit_for_own_membership};
use super::places::Places;
use super::shared_fate::brokers;
use super::{
    Beacons, Cluster, Count, Edges, Election, Elsewhere, GroupSettings, MembershipClient, Mode,
    OtherAccess, Pace, Plan, Roles, Spec, bootstrap, consumer, defaults, duty, elections,
    exclusive, handover, is_secret, mesh, on_death, outside, paper, slots, static_members, stores,
};
use crate::ids::{ClusterName, GroupName, NameError, RoleName, TopicName};
use crate::kafka::Unfit;
use crate::time::Span;
use crate::yaml::{Cursor, Problem, choices};

const ROLES_MOST: u32 = 1_000_000;
/// The most roles that are reported as named twice.
const TWICE_MAX: u32 = 20;
const MEMBERS_MOST: u32 = 1_000;
const PARTITIONS_MOST: u32 = 1_000;
/// The shortest duration, because Kafka counts in milliseconds.
const LEAST: Duration = Duration::from_millis(1);

/// All problems of the topology.
pub(super) fn spec(spec: &Spec, places: Places<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let root = places.root();
    if spec.version != 1 {
        let message = format!("version {} of this format is not known", spec.version);
        problems.push(Problem::at(root.key("version").origin(), message).hint("write 1"));
    }
    roles(&spec.roles, root.key("roles"), &mut problems);
    problems.extend(slots::problem(spec, places));
    if spec.groups.is_empty() {
        problems.push(Problem::at(root.key("groups").name(), "the topology has no groups"));
    }
    for (name, cluster) in &spec.clusters {
        cluster_problems(cluster, root.key("clusters").key(name.as_str()), &mut problems);
    }
    for name in spec.groups.keys() {
        group_problems(spec, name, places, &mut problems);
    }
    let leaders = spec.objective.leaders_per_group;
    if leaders != 1 {
        let message = format!("a group has one leader per role, so it cannot promise {leaders}");
        let origin = root.key("objective").key("leaders_per_group").origin();
        problems
            .push(Problem::at(origin, message).hint("for k leaders at all times, use k groups"));
    }
    problems
}

fn roles(roles: &Roles, place: Cursor<'_>, problems: &mut Vec<Problem>) {
    let count = roles.len();
    if count == 0 {
        problems.push(Problem::at(place.origin(), "the topology has no roles"));
    } else if count > ROLES_MOST {
        let message = format!("{count} roles are more than {ROLES_MOST}");
        problems.push(Problem::at(place.origin(), message));
    } else if let Err(error) = longest(roles) {
        problems.push(Problem::at(place.key("prefix").origin(), error.to_string()));
    }
    let Roles::Named(names) = roles else { return };
    let mut seen: BTreeMap<_, usize> = BTreeMap::new();
    let mut twice = 0;
    for (index, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, index) {
            let message = format!("role `{name}` is named twice");
            let hint = format!("it is number {} of the list already", first + 1);
            problems.push(Problem::at(place.index(index).origin(), message).hint(hint));
            twice += 1;
            if twice >= TWICE_MAX {
                break;
            }
        }
    }
}

/// Checks the name of the last of counted roles, which is the longest.
fn longest(roles: &Roles) -> Result<(), NameError> {
    let Roles::Counted(Count { count, prefix }) = roles else { return Ok(()) };
    format!("{prefix}{}", count.saturating_sub(1)).parse::<RoleName>().map(|_| ())
}

fn cluster_problems(cluster: &Cluster, place: Cursor<'_>, problems: &mut Vec<Problem>) {
    let brokers = match cluster {
        Cluster::Brokers(brokers) => brokers,
        Cluster::Embedded(_) => return problems.extend(embedded_problem(place)),
        Cluster::Etcd(_) | Cluster::ZooKeeper(_) | Cluster::Nats(_) => {
            return problems.extend(stores::problem(cluster, place));
        }
    };
    if place.key("host").exists() {
        let message = "external brokers have no `host`: faults cannot hit their machine";
        problems.push(
            Problem::at(place.key("host").name(), message)
                .hint("an embedded cluster can have one: {embedded: {host: alpha}}"),
        );
    }
    problems.extend(bootstrap::problem(brokers, place));
    let OtherAccess { properties, secrets } = &brokers.controller;
    access_problems(&brokers.properties, &brokers.secrets, place, problems);
    access_problems(properties, secrets, place.key("controller"), problems);
    problems.extend(token_problem(brokers, place));
}

/// The problem of a key next to `embedded`.
fn embedded_problem(place: Cursor<'_>) -> Option<Problem> {
    let key = stores::OTHERS.into_iter().find(|key| place.key(key).exists())?;
    let hint = match key {
        "host" => "write it below `embedded`: {embedded: {host: alpha}}",
        _ => "it belongs to external brokers, which have a `bootstrap`",
    };
    let message = format!("an embedded cluster has no `{key}`");
    // The line may hold secrets.
    Some(Problem::at(place.key(key).name(), message).hint(hint).unshown())
}

fn access_problems(
    properties: &BTreeMap<String, String>,
    secrets: &BTreeMap<String, Elsewhere>,
    place: Cursor<'_>,
    problems: &mut Vec<Problem>,
) {
    for name in properties.keys().filter(|name| is_secret(name)) {
        let message = format!("property `{name}` would be written into every journal");
        let hint = format!("say under `secrets` where to find it: {name}: {{env: NAME}}");
        let origin = place.key("properties").key(name).name();
        problems.push(Problem::at(origin, message).hint(hint).unshown());
    }
    for (name, secret) in secrets {
        let place = place.key("secrets").key(name);
        if properties.contains_key(name) {
            let message = format!("`{name}` is a property already");
            problems.push(Problem::at(place.name(), message).unshown());
        }
        if secret.0.is_none() {
            let message = format!("secret `{name}` must say where to find its value");
            let hint = "write {env: NAME} or {file: PATH}, never the value itself";
            problems.push(Problem::at(place.origin(), message).hint(hint).unshown());
        }
    }
}

fn group_problems(spec: &Spec, name: &GroupName, places: Places<'_>, problems: &mut Vec<Problem>) {
    let Some(group) = spec.groups.get(name) else { return };
    let place = places.group(name);
    let settings = group.settings(&spec.defaults);
    let cluster = group.cluster.as_ref().and_then(|name| spec.clusters.get(name));
    let unfit = cluster.and_then(unfit_for_own_membership);
    let pace = defaults::pace(&settings, 1, unfit.is_none());
    match (&group.cluster, cluster) {
        (Some(written), None) => {
            let known = spec.clusters.keys().map(ClusterName::as_str);
            let message = format!("there is no cluster `{written}`");
            let problem = Problem::at(place.key("cluster").origin(), message);
            problems.push(problem.hint(choices(written.as_str(), known)));
        }
        (_, Some(cluster)) => replica_problems(cluster, &settings, name, places, problems),
        // Whether it needs one, its election says.
        (None, None) => {}
    }
    let counts = [
        ("members", group.members, 1, MEMBERS_MOST),
        ("partitions", group.partitions, 1, PARTITIONS_MOST),
    ];
    for (key, count, least, most) in counts {
        if let Some(count) = count.filter(|count| !(least..=most).contains(count)) {
            let message = format!("a group has {least} to {most} {key}, not {count}");
            let problem = Problem::at(place.key(key).origin(), message);
            problems.push(if key == "members" && count == 0 {
                problem.hint("for members of your own, write `launch: external`")
            } else {
                problem
            });
        }
    }
    problems.extend(outside::problem(group, place));
    problems.extend(beacons_problem(&pace, name, places));
    if let (Mode::Fast, Some(count @ 2..)) = (pace.mode, group.partitions) {
        let message = format!("a group in fast mode has one partition, not {count}");
        problems.push(
            Problem::at(place.key("partitions").origin(), message)
                .hint("its only leader leads every role"),
        );
    }
    problems.extend(elections::problems(spec, group, name, places));
    match elections::election(&settings) {
        // Their paces follow other rules.
        Election::Etcd | Election::Among(_) | Election::ZooKeeper => return,
        Election::Neli => {}
    }
    problems.extend(membership_problem(unfit, &pace, name, places));
    problems.extend(consumer::problems(group, &settings, &pace, name, places));
    problems.extend(on_death::problem(group, &pace, name, places));
    problems.extend(mesh::problem(group, &pace, name, places));
    problems.extend(handover::problem(&pace, name, places));
    problems.extend(static_members::problems(&pace, name, places));
    problems.extend(exclusive::problems(&settings, &pace, name, places));
    problems.extend(paper::problems(&settings, &pace, name, places));
    problems.extend(pace_problem(&pace, name, places));
    problems.extend(duty::problems(spec, group, &pace, name, places));
    if settings.retention.is_some_and(|retention| retention.get() < pace.threshold.get()) {
        let origin = places.setting(name, "retention");
        let threshold = pace.threshold;
        let message = format!("the retention is less than threshold {threshold}");
        problems.push(
            Problem::at(origin, message).hint("the topic would drop beacons that still count"),
        );
    }
}

/// The problems of the numbers of replicas.
fn replica_problems(
    cluster: &Cluster,
    settings: &GroupSettings,
    name: &GroupName,
    places: Places<'_>,
    problems: &mut Vec<Problem>,
) {
    let (copies, insync) = (settings.replication, settings.min_insync_replicas);
    for (key, count) in [("replication", copies), ("min_insync_replicas", insync)] {
        let origin = places.setting(name, key);
        match (cluster, count) {
            (Cluster::Embedded(_), Some(2..)) => {
                let message = "an embedded cluster has one broker";
                problems.push(Problem::at(origin, message).hint("write 1"));
            }
            (_, Some(0)) => problems.push(Problem::at(origin, format!("{key} is at least 1"))),
            (Cluster::Embedded(_) | Cluster::Brokers(_), Some(_) | None)
            | (Cluster::Etcd(_) | Cluster::ZooKeeper(_) | Cluster::Nats(_), Some(_) | None) => {}
        }
    }
    if let (Cluster::Brokers(_), Some(copies), Some(insync)) = (cluster, copies, insync)
        && insync > copies
    {
        // No message would ever be committed.
        let message = format!("{insync} of {copies} replicas cannot be in sync");
        let origin = places.setting(name, "min_insync_replicas");
        let hint = "one less than `replication` outlives the loss of a broker";
        problems.push(Problem::at(origin, message).hint(hint));
    }
}

/// A group with membership of our own cannot use a cluster that is unfit for it.
fn membership_problem(
    unfit: Option<Unfit>,
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Option<Problem> {
    let unfit = unfit.filter(|_| pace.membership == MembershipClient::Own)?;
    let message = format!("`membership: own` does not support `{}`", unfit.what);
    let problem = Problem::at(places.setting(name, "membership"), message);
    let possible = unfit.possible;
    Some(problem.hint(if pace.mode.is_exclusive() {
        format!("it supports {possible}, and exclusive mode needs `membership: own`")
    } else {
        format!("it supports {possible}; or use `membership: {}`", MembershipClient::Library)
    }))
}

/// Who publishes follows from some modes.
fn beacons_problem(pace: &Pace, name: &GroupName, places: Places<'_>) -> Option<Problem> {
    let message = match (pace.mode, pace.beacons) {
        (Mode::Fast, Beacons::All) => "in fast mode only the holder of the partition publishes",
        (Mode::ExclusivePaper, Beacons::Owners) => {
            "in exclusive-paper mode all members publish, as the paper has it"
        }
        (Mode::Fast, Beacons::Owners)
        | (Mode::ExclusivePaper, Beacons::All)
        | (Mode::NonExclusive | Mode::Exclusive, Beacons::All | Beacons::Owners) => return None,
    };
    Some(Problem::at(places.setting(name, "beacons"), message).hint("leave it out"))
}

/// The first rule that a pace breaks; the later rules depend on the earlier.
fn pace_problem(pace: &Pace, name: &GroupName, places: Places<'_>) -> Option<Problem> {
    let at = |key: &str, message: String| Problem::at(places.setting(name, key), message);
    let Pace { session, heartbeat, beacon, threshold, .. } = *pace;
    let named = [
        ("session", session),
        ("heartbeat", heartbeat),
        ("beacon", beacon),
        ("threshold", threshold),
    ];
    if let Some((key, span)) = named.into_iter().find(|(_, span)| span.get() < LEAST) {
        return Some(at(key, format!("a {key} of {span} is less than 1ms")));
    }
    if heartbeat >= session {
        return Some(
            at("heartbeat", format!("heartbeat {heartbeat} is not below session {session}"))
                .hint("several heartbeats must fit, or one late heartbeat ends the session"),
        );
    }
    if pace.mode == Mode::Fast && threshold >= session {
        return Some(
            at("threshold", format!("threshold {threshold} is not below session {session}"))
                .hint("in fast mode a leader must fence itself before its group gives it up"),
        );
    }
    if pace.mode == Mode::Exclusive
        && let Some(problem) = exclusive::threshold_problem(pace, name, places)
    {
        return Some(problem);
    }
    if pace.mode == Mode::ExclusivePaper
        && let Some(problem) = paper::threshold_problem(pace, name, places)
    {
        return Some(problem);
    }
    if pace.mode == Mode::NonExclusive && threshold <= session {
        return Some(
            at("threshold", format!("threshold {threshold} is not above session {session}"))
                .hint("otherwise every claim lapses before the broker reassigns its partition"),
        );
    }
    let most = Span(threshold.get() / 3);
    (beacon > most).then(|| {
        at("beacon", format!("beacon {beacon} is above a third of threshold {threshold}"))
            .hint(format!("at most {most}"))
    })
}

/// Groups on one topic must describe the same topic.
pub(super) fn topics(plan: &Plan, places: Places<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut first: BTreeMap<(_, &TopicName), &GroupName> = BTreeMap::new();
    for (name, group) in &plan.groups {
        let known = first.entry((brokers(&plan.clusters, &group.cluster), &group.topic));
        let other_name = *known.or_insert(name);
        let Some(other) = plan.groups.get(other_name) else { continue };
        let differing = [
            ("partitions", group.partitions != other.partitions),
            ("replication", group.replication != other.replication),
            ("min_insync_replicas", group.min_insync_replicas != other.min_insync_replicas),
            ("retention", group.retention != other.retention),
        ];
        for (key, _) in differing.into_iter().filter(|(_, differs)| *differs) {
            let message = format!("`{other_name}` and `{name}` share topic `{}`", group.topic);
            let hint = format!("so both must have the same `{key}`");
            problems.push(Problem::at(places.setting(name, key), message).hint(hint));
        }
    }
    problems
}

/// Edges speak TLS on behalf of members, and support fewer properties than librdkafka.
pub(super) fn edges(plan: &Plan, places: Places<'_>) -> Option<Problem> {
    if plan.edges == Edges::Direct {
        return None;
    }
    let (name, property) = plan.beyond_edges()?;
    let message = format!("edges do not support `{property}` of cluster `{name}`");
    let place = places.root().key("edges");
    Some(
        Problem::at(place.origin(), message)
            .hint("use PEM files: `ssl.ca.location`, `ssl.certificate.location` ..."),
    )
}
