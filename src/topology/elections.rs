//! Groups that elect over etcd instead of Kafka: their defaults, and what cannot be combined.

use std::time::Duration;

use super::places::Places;
use super::{
    Assignor, Cluster, Edges, Election, Group, GroupSettings, Launch, MembershipClient, Mode,
    OnDeath, Pace, Spec,
};
use crate::ids::GroupName;
use crate::neli::elections::etcd::RATE;
use crate::time::Span;
use crate::yaml::Problem;

/// The least lease that etcd grants with its default `--election-timeout` of a second.
const LEASE: Duration = Duration::from_secs(2);
/// A lease is renewed so many times in its length.
const KEEP_ALIVES: u32 = 10;
/// How late the member's thread may wake.
const WAKE: Span = Span::ms(10);
/// The keys of a group that say how it uses Kafka.
const OF_KAFKA: [&str; 20] = [
    "topic",
    "consumer_group",
    "foreign",
    "profile",
    "mode",
    "session",
    "heartbeat",
    "beacon",
    "threshold",
    "hold",
    "assignor",
    "membership",
    "handover",
    "on_death",
    "suspect",
    "replication",
    "min_insync_replicas",
    "retention",
    "protocol",
    "duty",
];

/// How the group elects.
pub(super) fn election(settings: &GroupSettings) -> Election {
    settings.election.unwrap_or(Election::Neli)
}

/// The pace of a group over etcd, in the words of a group over Kafka: the lease is its session, a
/// renewal its heartbeat, and a claim outlives the last renewal by the threshold. What `defaults`
/// say of Kafka does not concern it.
pub(super) fn pace(settings: &GroupSettings) -> Pace {
    let lease = settings.lease.map_or(LEASE, Span::get);
    let keep_alive = Span(lease / KEEP_ALIVES);
    Pace {
        mode: Mode::Exclusive,
        session: Span(lease),
        heartbeat: keep_alive,
        wake: WAKE,
        beacon: keep_alive,
        threshold: Span(lease - lease / RATE),
        hold: Span::default(),
        on_death: OnDeath::Expire,
        suspect: None,
        assignor: Assignor::Roundrobin,
        membership: MembershipClient::Own,
        handover: false,
        starts_within: Span::default(),
        stops_before: Span::default(),
    }
}

/// What the group's election, its cluster and its keys say against each other.
pub(super) fn problems(
    spec: &Spec,
    group: &Group,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let settings = group.settings(&spec.defaults);
    let etcd = matches!(spec.clusters.get(&group.cluster), Some(Cluster::Etcd(_)));
    let (place, cluster) = (places.group(name), &group.cluster);
    match (election(&settings), etcd) {
        (Election::Neli, false) => {
            let lease = place.key("lease");
            let message = "a group that elects by NELI has no `lease`";
            let problem = Problem::at(lease.name(), message);
            let hint = "it belongs to `election: etcd`; NELI has a `session`";
            lease.exists().then(|| problem.hint(hint)).into_iter().collect()
        }
        (Election::Neli, true) => {
            let message = format!("cluster `{cluster}` is etcd, and NELI elects on Kafka");
            let problem = Problem::at(place.key("cluster").origin(), message);
            vec![problem.hint("write `election: etcd`, or name a cluster of Kafka")]
        }
        (Election::Etcd, false) => {
            let message = format!("`election: etcd` needs etcd, and cluster `{cluster}` is Kafka");
            let problem = Problem::at(places.setting(name, "election"), message);
            vec![problem.hint("name a cluster as in {etcd: \"http://127.0.0.1:2379\"}")]
        }
        (Election::Etcd, true) => over_etcd(spec, group, &settings, name, places),
    }
}

fn over_etcd(
    spec: &Spec,
    group: &Group,
    settings: &GroupSettings,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let place = places.group(name);
    let mut problems = Vec::new();
    for key in OF_KAFKA.into_iter().filter(|key| place.key(key).exists()) {
        let message = format!("a group that elects over etcd has no `{key}`");
        let hint = match key {
            "session" => "the store gives its roles away when its `lease` is over",
            "mode" => "it is exclusive: no two of its members ever lead one role",
            "duty" => "programs need a group that elects by NELI",
            _ => "it belongs to groups that elect by NELI, on Kafka",
        };
        problems.push(Problem::at(place.key(key).name(), message).hint(hint));
    }
    if group.launch == Some(Launch::External) {
        let message = "members of your own cannot join a group that elects over etcd";
        let problem = Problem::at(place.key("launch").origin(), message);
        problems.push(problem.hint("`launch: external` needs a group that elects by NELI"));
    }
    if let Some(lease) = settings.lease
        && (lease.get().is_zero() || lease.get().subsec_nanos() > 0)
    {
        let message = format!("etcd counts leases in whole seconds, not {lease}");
        let problem = Problem::at(places.setting(name, "lease"), message);
        problems.push(problem.hint("as in 2s, the least that etcd grants by default"));
    }
    if spec.edges == Edges::Proxied {
        let message = format!("edges speak Kafka, and group `{name}` elects over etcd");
        let problem = Problem::at(places.root().key("edges").origin(), message);
        problems.push(problem.hint("write `edges: direct`"));
    }
    problems
}
