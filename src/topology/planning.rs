//! Turns text into a plan: reads, checks, decides, and adds warnings.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use super::places::Places;
use super::{
    Access, Address, Cluster, Edges, Election, Electorate, Launch, Plan, PlannedCluster,
    PlannedGroup, Shareable, Spec, Terms, access, bootstrap, bounds, check, defaults, derived,
    elections, load, outside, shared_fate, sizing, strangers, zookeeper,
};
use crate::ids::{ClusterName, ConsumerGroup, GroupName, MemberId, TopicName};
use crate::time::Span;
use crate::yaml::{Cursor, FileKind, Node, Override, Problem, parse, read};

/// Plans the topology that `text` describes, with `overrides` applied.
///
/// # Errors
/// All problems found; a value of the wrong type hides the rest.
pub fn plan(text: &str, overrides: &[Override]) -> Result<Plan, Vec<Problem>> {
    planned(&root(text, overrides)?)
}

/// The content of a topology's file, with `overrides` applied.
pub(super) fn root(text: &str, overrides: &[Override]) -> Result<Node, Vec<Problem>> {
    let one = |problem| vec![problem];
    let mut root = parse(text).map_err(one)?;
    FileKind::Topology.expect(&root).map_err(one)?;
    for set in overrides {
        set.apply(&mut root).map_err(one)?;
    }
    Ok(root)
}

/// Plans the topology of this content.
pub(super) fn planned(root: &Node) -> Result<Plan, Vec<Problem>> {
    let strangers = strangers::of(root);
    if !strangers.is_empty() {
        return Err(strangers);
    }
    let spec: Spec = read(root)?;
    let places = Places::of(Cursor::of(root));
    let problems = check::spec(&spec, places);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut plan = decide(&spec).map_err(|message| vec![places.whole(message)])?;
    let mut problems = Vec::new();
    for fate in shared_fate::of(&plan) {
        if plan.disjoint.contains(&fate.what) {
            problems.push(places.shared(&fate));
        } else if !fate.implied {
            plan.warnings.push(fate.warning());
        }
    }
    problems.extend(check::topics(&plan, places));
    problems.extend(outside::topics(&plan, places));
    problems.extend(check::edges(&plan, places));
    problems.extend(derived::problems(&plan, places));
    if !problems.is_empty() {
        return Err(problems);
    }
    let sizing = sizing::warnings(&plan);
    plan.warnings.extend(sizing);
    Ok(plan)
}

impl Plan {
    /// The same plan, with bounds for pauses of at most `longest`; `None` means unlimited pauses.
    #[must_use]
    pub fn with_longest_pause(mut self, longest: Option<Duration>) -> Self {
        for group in self.groups.values_mut() {
            if let Some(cluster) = self.clusters.get(&group.cluster) {
                group.bounds = bounds(&Terms::on(&group.pace, group.replication, cluster), longest);
            }
        }
        self
    }
}

impl Plan {
    /// The same plan, with all members connecting through edges.
    #[must_use]
    pub fn with_edges(mut self) -> Self {
        if self.edges == Edges::Direct {
            self.edges = Edges::Proxied;
            self.warnings.push(
                "the experiment disturbs the network: members connect to brokers through edges"
                    .to_owned(),
            );
        }
        self
    }

    /// The first cluster with groups whose access uses a property that edges do not support, and
    /// that property.
    #[must_use]
    pub fn beyond_edges(&self) -> Option<(&ClusterName, &str)> {
        let mut used = self.groups.values().map(|group| &group.cluster);
        used.find_map(|name| Some((name, self.beyond_edges_of(name)?)))
    }

    /// The property that edges do not support, by which members connect to this cluster, if there
    /// is one.
    #[must_use]
    pub fn beyond_edges_of(&self, name: &ClusterName) -> Option<&str> {
        let cluster = self.clusters.get(name)?;
        match &cluster.address {
            Address::Etcd(_) => Some("etcd"),
            Address::ZooKeeper(_) => Some("zookeeper"),
            Address::Nats(_) => Some("nats"),
            Address::Embedded | Address::Bootstrap(_) => access::beyond_edges(&cluster.members),
            // They connect to each other, with or without edges.
            Address::Members(_) => None,
        }
    }
}

/// Makes the plan of a checked topology.
fn decide(spec: &Spec) -> Result<Plan, String> {
    let mut clusters: BTreeMap<_, _> = spec
        .clusters
        .iter()
        .map(|(name, cluster)| (name.clone(), planned_cluster(cluster)))
        .collect();
    for (name, group) in &spec.groups {
        if let Election::Among(election) = elections::election(&group.settings(&spec.defaults))
            && group.cluster.is_none()
        {
            let members = group.members.unwrap_or(defaults::MEMBERS);
            let electorate = Electorate { election, members };
            clusters.insert(elections::cluster(spec, name)?, alone(electorate));
        }
    }
    let mut sharing: BTreeMap<_, u32> = BTreeMap::new();
    let mut topics = BTreeMap::new();
    for name in spec.groups.keys() {
        let topic = topic(spec, name)?;
        let brokers = shared_fate::brokers(&clusters, &elections::cluster(spec, name)?);
        *sharing.entry((brokers.clone(), topic.clone())).or_default() += 1;
        topics.insert(name.clone(), (brokers, topic));
    }
    let mut groups = BTreeMap::new();
    for name in spec.groups.keys() {
        let Some(key) = topics.get(name) else { continue };
        let share = sharing.get(key).copied().unwrap_or(1);
        groups.insert(name.clone(), planned_group(spec, name, &clusters, share)?);
    }
    // Two groups in one consumer group would be one group, and a member belongs to one group.
    let mut disjoint = spec.disjoint.clone().unwrap_or_default();
    disjoint.extend([Shareable::Member, Shareable::Group]);
    Ok(Plan {
        topology: spec.name.clone(),
        roles: spec.roles.clone(),
        slots: spec.slots,
        clusters,
        groups,
        edges: spec.edges,
        disjoint,
        objective: spec.objective,
        limits: spec.limits,
        order_key: spec.order_key.clone(),
        warnings: Vec::new(),
    })
}

fn planned_cluster(cluster: &Cluster) -> PlannedCluster {
    match cluster {
        Cluster::Embedded(embedded) => PlannedCluster {
            address: Address::Embedded,
            host: embedded.host.clone(),
            failover: None,
            start_up: Span(defaults::START_UP_EMBEDDED),
            members: Access::default(),
            controller: None,
        },
        Cluster::Etcd(store) => {
            let address = Address::Etcd(store.etcd.clone());
            without_brokers(address, defaults::START_UP_ETCD, &store.properties)
        }
        Cluster::ZooKeeper(servers) => {
            let address = Address::ZooKeeper(servers.ensemble());
            without_brokers(address, defaults::START_UP_ZOOKEEPER, &servers.properties)
        }
        Cluster::Nats(servers) => {
            let address = Address::Nats(servers.nats.clone());
            without_brokers(address, defaults::START_UP_NATS, &servers.properties)
        }
        Cluster::Brokers(brokers) => {
            let members = access::access(&brokers.properties, &brokers.secrets);
            let other = &brokers.controller;
            let controller =
                access::but(&members, access::access(&other.properties, &other.secrets));
            PlannedCluster {
                address: Address::Bootstrap(bootstrap::addresses(&brokers.bootstrap)),
                host: None,
                start_up: brokers.start_up.unwrap_or(Span(defaults::START_UP)),
                failover: Some(brokers.failover.unwrap_or(Span(defaults::FAILOVER))),
                controller: (controller != members).then_some(controller),
                members,
            }
        }
    }
}

/// A cluster that has no brokers: a store, or members.
fn without_brokers(
    address: Address,
    start_up: Duration,
    properties: &BTreeMap<String, String>,
) -> PlannedCluster {
    PlannedCluster {
        address,
        host: None,
        failover: None,
        start_up: Span(start_up),
        members: Access { properties: properties.clone(), ..Access::default() },
        controller: None,
    }
}

/// In place of a cluster: members that elect among themselves.
fn alone(electorate: Electorate) -> PlannedCluster {
    without_brokers(Address::Members(electorate), Duration::ZERO, &BTreeMap::new())
}

fn planned_group(
    spec: &Spec,
    name: &GroupName,
    clusters: &BTreeMap<ClusterName, PlannedCluster>,
    sharing: u32,
) -> Result<PlannedGroup, String> {
    let group = spec.groups.get(name).ok_or("no such group")?;
    let on = elections::cluster(spec, name)?;
    let cluster = clusters.get(&on).ok_or("no such cluster")?;
    let settings = group.settings(&spec.defaults);
    let own_fits = cluster.members.unfit_for_own_membership().is_none();
    let mut pace = match &cluster.address {
        Address::ZooKeeper(ensemble) => zookeeper::pace(&settings, ensemble),
        Address::Embedded
        | Address::Bootstrap(_)
        | Address::Etcd(_)
        | Address::Members(_)
        | Address::Nats(_) => defaults::pace(&settings, sharing, own_fits),
    };
    let duty = group.duty.as_ref().map(|duty| duty.plan(&pace)).transpose();
    let duty = duty.map_err(|short| format!("group {name} has {short}"))?;
    if let Some(duty) = &duty {
        pace.starts_within = duty.starts_within;
        pace.stops_before = Span(duty.grace.get() + duty.margin.get());
    }
    let width =
        group.partitions.unwrap_or_else(|| defaults::partitions(spec.roles.len(), pace.mode));
    let width = NonZeroU32::new(width).ok_or("no partitions")?;
    let launch = group.launch.unwrap_or_default();
    let count = match launch {
        Launch::Tandem => group.members.unwrap_or(defaults::MEMBERS),
        Launch::External => 0,
    };
    let members = (1..=count)
        .map(|number| format!("{name}-{number}").parse::<MemberId>())
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    Ok(PlannedGroup {
        cluster: on,
        topic: topic(spec, name)?,
        partitions: width,
        consumer_group: consumer_group(spec, name)?,
        host: group.host.clone(),
        members,
        launch,
        chaos: group.chaos.unwrap_or_default(),
        foreign: group.foreign.unwrap_or_default(),
        duty,
        mesh: group.mesh.clone(),
        replication: settings.replication,
        min_insync_replicas: settings.min_insync_replicas,
        retention: Span(defaults::retention(&settings, pace.threshold.get())),
        restart_after: Span(defaults::restart(&settings, pace.session.get())),
        beacons_per_s: match cluster.address {
            Address::Etcd(_) | Address::Members(_) | Address::ZooKeeper(_) | Address::Nats(_) => {
                0.0
            }
            Address::Embedded | Address::Bootstrap(_) => load::beacons_per_s(count, width, &pace),
        },
        bounds: bounds(&Terms::on(&pace, settings.replication, cluster), None),
        pace,
    })
}

fn topic(spec: &Spec, name: &GroupName) -> Result<TopicName, String> {
    match spec.groups.get(name).and_then(|group| group.topic.clone()) {
        Some(topic) => Ok(topic),
        None => format!("{}-{name}", spec.name).parse().map_err(|error| format!("{error}")),
    }
}

fn consumer_group(spec: &Spec, name: &GroupName) -> Result<ConsumerGroup, String> {
    match spec.groups.get(name).and_then(|group| group.consumer_group.clone()) {
        Some(group) => Ok(group),
        None => format!("{}-{name}", spec.name).parse().map_err(|error| format!("{error}")),
    }
}
