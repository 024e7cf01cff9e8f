//! How groups elect, what that needs of their cluster, and the defaults of an election over etcd.

use std::time::Duration;

use super::places::Places;
use super::{
    Assignor, Beacons, Cluster, Edges, Election, Group, GroupProtocol, GroupSettings, Launch,
    MembershipClient, Mode, OnDeath, Pace, Spec, among, stores, zookeeper,
};
use crate::ids::{ClusterName, GroupName};
use crate::neli::elections::etcd::RATE;
use crate::time::Span;
use crate::yaml::{Cursor, Problem};

/// The least lease that etcd grants with its default `--election-timeout` of a second.
const LEASE: Duration = Duration::from_secs(2);
/// A lease is renewed so many times in its length.
const KEEP_ALIVES: u32 = 10;
/// How late the member's thread may wake.
const WAKE: Span = Span::ms(10);
/// What a group whose election is exclusive has in place of a mode.
pub(super) const EXCLUSIVE: &str = "it is exclusive: no two of its members ever lead one role";
/// The keys of a group that only NELI has, on Kafka.
const OF_NELI: [&str; 23] = [
    "topic",
    "consumer_group",
    "foreign",
    "profile",
    "mode",
    "beacon",
    "beacons",
    "threshold",
    "hold",
    "clock_error",
    "grace",
    "assignor",
    "membership",
    "handover",
    "static_members",
    "on_death",
    "suspect",
    "replication",
    "min_insync_replicas",
    "retention",
    "protocol",
    "assignment_interval",
    "duty",
];

/// How the group elects.
pub(super) fn election(settings: &GroupSettings) -> Election {
    settings.election.unwrap_or(Election::Neli)
}

/// The cluster of a group; of one that elects among its members, the name of those.
pub(super) fn cluster(spec: &Spec, name: &GroupName) -> Result<ClusterName, String> {
    let group = spec.groups.get(name).ok_or("no such group")?;
    match election(&group.settings(&spec.defaults)) {
        Election::Among(_) if group.cluster.is_none() => among::members(name),
        Election::Among(_) | Election::Neli | Election::Etcd | Election::ZooKeeper => {
            group.cluster.clone().ok_or_else(|| format!("group {name} has no cluster"))
        }
    }
}

/// The pace of a group over etcd, in the words of a group over Kafka: the lease is its session, a
/// renewal its heartbeat, and a claim outlives the last renewal by the threshold. What `defaults`
/// say of Kafka does not concern it.
pub(super) fn pace(settings: &GroupSettings) -> Pace {
    let lease = settings.lease.map_or(LEASE, Span::get);
    exclusive(lease, lease / KEEP_ALIVES, RATE)
}

/// The pace of a group that does not elect by NELI: a claim outlives the last renewal by the
/// session, less its part for the rate of clocks.
pub(super) fn exclusive(session: Duration, renewal: Duration, rate: u32) -> Pace {
    Pace {
        mode: Mode::Exclusive,
        session: Span(session),
        heartbeat: Span(renewal),
        wake: WAKE,
        beacon: Span(renewal),
        beacons: Beacons::All,
        threshold: Span(session - session / rate),
        hold: Span::default(),
        clock_error: Span::default(),
        grace: Span::default(),
        on_death: OnDeath::Expire,
        suspect: None,
        assignor: Assignor::Roundrobin,
        membership: MembershipClient::Own,
        protocol: GroupProtocol::Classic,
        assignment: Span::default(),
        handover: false,
        static_members: false,
        starts_within: Span::default(),
        stops_before: Span::default(),
    }
}

/// A key that a group does not have which `elects` otherwise than by NELI.
pub(super) fn foreign_key(
    place: Cursor<'_>,
    elects: &str,
    (key, hint): (&str, &str),
) -> Option<Problem> {
    let key_of_group = place.key(key);
    let message = format!("a group that {elects} has no `{key}`");
    key_of_group.exists().then(|| Problem::at(key_of_group.name(), message).hint(hint))
}

/// What such a group has of NELI, and of these other keys, each with a hint.
pub(super) fn foreign_keys(
    group: &Group,
    place: Cursor<'_>,
    elects: &str,
    others: &[(&str, &str)],
) -> Vec<Problem> {
    keys_of_neli(group, place, elects, EXCLUSIVE, others)
}

/// The same, with what the group has in place of a mode.
pub(super) fn keys_of_neli(
    group: &Group,
    place: Cursor<'_>,
    elects: &str,
    mode: &str,
    others: &[(&str, &str)],
) -> Vec<Problem> {
    let neli = OF_NELI.into_iter().map(|key| {
        let hint = match key {
            "mode" => mode,
            "duty" => "programs need a group that elects by NELI",
            _ => "it belongs to groups that elect by NELI, on Kafka",
        };
        (key, hint)
    });
    let all = neli.chain(others.iter().copied());
    let mut problems: Vec<_> = all.filter_map(|key| foreign_key(place, elects, key)).collect();
    if group.launch == Some(Launch::External) {
        let message = format!("members of your own cannot join a group that {elects}");
        let problem = Problem::at(place.key("launch").origin(), message);
        problems.push(problem.hint("`launch: external` needs a group that elects by NELI"));
    }
    problems
}

/// What the group's election, its cluster and its keys say against each other.
pub(super) fn problems(
    spec: &Spec,
    group: &Group,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let settings = group.settings(&spec.defaults);
    let place = places.group(name);
    let election = election(&settings);
    let written = group.cluster.as_ref().and_then(|cluster| spec.clusters.get(cluster));
    if let Election::Among(among) = election {
        return among::problems(spec, (group, &settings), among, name, places);
    }
    let Some(cluster) = &group.cluster else {
        let message = format!("group `{name}` has no `cluster`");
        let problem = Problem::at(place.name(), message);
        let hint = "only a group that elects among its members needs none, as in `election: \
                    generation`";
        return vec![problem.hint(hint)];
    };
    // A cluster that is not there is a problem of its own.
    let store = written.and_then(stores::election);
    let is = written.map_or("Kafka", stores::title);
    match (election, store) {
        // Without a cluster.
        (Election::Among(_), _) => Vec::new(),
        (Election::Neli, None) => {
            let lease = place.key("lease");
            let message = "a group that elects by NELI has no `lease`";
            let problem = Problem::at(lease.name(), message);
            let hint = "it belongs to `election: etcd`; NELI has a `session`";
            lease.exists().then(|| problem.hint(hint)).into_iter().collect()
        }
        (Election::Neli, Some(store)) => {
            let word = store.word();
            let message = format!("cluster `{cluster}` is {is}, and NELI elects on Kafka");
            let problem = Problem::at(place.key("cluster").origin(), message);
            vec![problem.hint(format!("write `election: {word}`, or name a cluster of Kafka"))]
        }
        (Election::Etcd, Some(Election::Etcd)) => over_etcd(spec, group, &settings, name, places),
        (Election::ZooKeeper, Some(Election::ZooKeeper)) => match spec.clusters.get(cluster) {
            Some(Cluster::ZooKeeper(servers)) => {
                zookeeper::problems(spec, (group, &settings), &servers.ensemble(), name, places)
            }
            Some(_) | None => Vec::new(),
        },
        (Election::Etcd | Election::ZooKeeper, _) => {
            let (word, needs) = (election.word(), election.title());
            let message =
                format!("`election: {word}` needs {needs}, and cluster `{cluster}` is {is}");
            let problem = Problem::at(places.setting(name, "election"), message);
            vec![problem.hint(match election {
                Election::ZooKeeper => "name a cluster as in {zookeeper: \"127.0.0.1:2181\"}",
                Election::Neli | Election::Etcd | Election::Among(_) => {
                    "name a cluster as in {etcd: \"http://127.0.0.1:2379\"}"
                }
            })]
        }
    }
}

fn over_etcd(
    spec: &Spec,
    group: &Group,
    settings: &GroupSettings,
    name: &GroupName,
    places: Places<'_>,
) -> Vec<Problem> {
    let others = [
        ("session", "the store gives its roles away when its `lease` is over"),
        ("heartbeat", "it belongs to groups that elect by NELI, on Kafka"),
    ];
    let mut problems = foreign_keys(group, places.group(name), "elects over etcd", &others);
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
