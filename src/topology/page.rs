//! Renders the plan as text for people.

mod among;
mod promised;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::{
    Address, Bound, Edges, Ensemble, Foreign, Load, MembershipClient, Mode, OnDeath, Pace, Plan,
    PlannedGroup, Range, Recall, Terms, UNLIMITED, outage_bound, shared_fate, slots,
};
use crate::ids::{ClusterName, GroupName, HostName, MemberId};
use crate::neli::Publishers;
use crate::time::Span;

/// Displays a plan as text.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a>(pub &'a Plan);

/// The most roles that are listed.
const ROLES_SHOWN: usize = 24;

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.0;
        writeln!(
            f,
            "{}: {}, each led in {}",
            plan.topology,
            counted(usize::try_from(plan.roles.len()).unwrap_or(usize::MAX), "role"),
            counted(plan.groups.len(), "group")
        )?;
        if let Some(line) = slots::line(plan) {
            writeln!(f, "{line}")?;
        }
        for (name, group) in &plan.groups {
            section(f, plan, name, group)?;
        }
        clusters(f, plan)?;
        promised::section(f, plan)?;
        let shared: Vec<_> =
            shared_fate::of(plan).into_iter().filter(|fate| !fate.implied).collect();
        writeln!(f, "\nshared fate")?;
        if shared.is_empty() {
            writeln!(f, "  none, as far as the topology shows")?;
        }
        for fate in shared {
            writeln!(f, "  {}", fate.sentence())?;
        }
        if !plan.warnings.is_empty() {
            writeln!(f, "\nwarnings")?;
        }
        for warning in &plan.warnings {
            writeln!(f, "  - {warning}")?;
        }
        Ok(())
    }
}

/// The section of a group, by how it elects.
fn section(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    name: &GroupName,
    group: &PlannedGroup,
) -> fmt::Result {
    let host = declared(group.host.as_ref());
    if let Some(electorate) = plan.electorate_of(group) {
        writeln!(f, "\ngroup {name}, without a cluster{host}")?;
        return among::by_links(f, plan, group, electorate);
    }
    writeln!(f, "\ngroup {name} on cluster {}{host}", group.cluster)?;
    if plan.etcd_of(group).is_some() {
        return over_etcd(f, plan, name, group);
    }
    if let Some(ensemble) = plan.zookeeper_of(group) {
        return over_zookeeper(f, plan, (name, group), ensemble);
    }
    if plan.is_over_nats(group) {
        return among::over_nats(f, plan, (name, group));
    }
    over_kafka(f, plan, group)
}

fn over_kafka(f: &mut fmt::Formatter<'_>, plan: &Plan, group: &PlannedGroup) -> fmt::Result {
    let replication = group.replication.map(|factor| format!(", {factor} replicas"));
    let insync = group.min_insync_replicas.map(|least| format!(", {least} of them in sync"));
    writeln!(
        f,
        "  topic           {}, {}{}{}, messages kept {}",
        group.topic,
        counted(group.width(), "partition"),
        replication.unwrap_or_default(),
        insync.unwrap_or_default(),
        group.retention
    )?;
    let pace = &group.pace;
    let client = match pace.membership {
        client @ MembershipClient::Library => format!(", joined by {client}"),
        MembershipClient::Own => String::new(),
    };
    let assignor = pace.assignor.as_str();
    let client = if pace.static_members { format!("{client}, static members") } else { client };
    let protocol = if pace.protocol.is_classic() { "" } else { ", shared out by the brokers" };
    writeln!(f, "  consumer group  {} ({assignor}{client}{protocol})", group.consumer_group)?;
    let members: Vec<&str> = group.members.iter().map(MemberId::as_str).collect();
    if group.is_started() {
        writeln!(
            f,
            "  members         {}, started again {} after a death{}",
            abridged(&members),
            group.restart_after,
            match pace.on_death {
                OnDeath::Expire => "",
                OnDeath::Leave => "; the controller leaves for the dead",
                OnDeath::StandIn => "; the others stand in for the dead",
            }
        )?;
    } else {
        let chaos = if group.takes_orders() { "; experiments may hit them" } else { "" };
        writeln!(f, "  members         yours: each `tandem hold` is one{chaos}")?;
    }
    if group.foreign == Foreign::Allow {
        writeln!(
            f,
            "  foreign         allowed: what others in its consumer group hold is unknown"
        )?;
    }
    writeln!(f, "  roles           {}", roles(plan, group))?;
    if let Some(duty) = &group.duty {
        writeln!(f, "  duty            {duty}")?;
        writeln!(
            f,
            "                  for each role that is led; serves within {} of the claim, {}; \
             SIGKILL {} after SIGTERM",
            duty.starts_within,
            if duty.ticks { "while it ticks" } else { "while it is alive" },
            duty.grace
        )?;
    }
    paced(f, pace)?;
    load(f, plan, group)?;
    costs(f, plan, group)
}

/// How often a member of a group over Kafka speaks, and for how long it claims.
fn paced(f: &mut fmt::Formatter<'_>, pace: &Pace) -> fmt::Result {
    writeln!(
        f,
        "  pace            session {}, heartbeat {}, beacon {}, threshold {}{} ({}{})",
        pace.session,
        pace.heartbeat,
        pace.beacon,
        pace.threshold,
        pace.suspect.map(|suspect| format!(", suspect {suspect}")).unwrap_or_default(),
        pace.mode.as_str(),
        if pace.handover { ", handed over" } else { "" }
    )?;
    if !pace.grace.is_zero() {
        writeln!(
            f,
            "                  by the paper: broker stamps, clocks within {}, a new owner waits {}",
            pace.clock_error, pace.grace
        )?;
    }
    Ok(())
}

/// What the group asks of its brokers, and what it would ask if others published.
fn load(f: &mut fmt::Formatter<'_>, plan: &Plan, group: &PlannedGroup) -> fmt::Result {
    let beacons = group.pace.beacons;
    let Load { messages, deliveries } = Load::of(plan, group, beacons);
    writeln!(f, "  load            {messages:.0} beacons/s, {deliveries:.0} deliveries/s")?;
    if messages == 0.0 || group.pace.mode == Mode::Fast {
        return Ok(());
    }
    let Load { messages, deliveries } = Load::of(plan, group, beacons.other());
    let other = Publishers::from(beacons.other()).as_str();
    writeln!(f, "                  with `beacons: {other}` {messages:.0} and {deliveries:.0}")
}

/// Who the members are of a group that does not elect on Kafka, and what they lead.
fn members_and_roles(f: &mut fmt::Formatter<'_>, plan: &Plan, group: &PlannedGroup) -> fmt::Result {
    let members: Vec<&str> = group.members.iter().map(MemberId::as_str).collect();
    let (members, restart) = (abridged(&members), group.restart_after);
    writeln!(f, "  members         {members}, started again {restart} after a death")?;
    writeln!(f, "  roles           {}", roles(plan, group))
}

/// The rest of the section of a group that elects over etcd.
fn over_etcd(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    name: &GroupName,
    group: &PlannedGroup,
) -> fmt::Result {
    let pace = &group.pace;
    let keys = counted(group.width(), "key");
    writeln!(f, "  over etcd       {keys} below {}", plan.store_prefix(name))?;
    members_and_roles(f, plan, group)?;
    let (lease, renewed, ends) = (pace.session, pace.heartbeat, pace.threshold);
    writeln!(
        f,
        "  pace            lease {lease}, renewed each {renewed}; a claim ends {ends} after the \
         last renewal (exclusive)"
    )?;
    costs(f, plan, group)
}

/// The rest of the section of a group that elects over ZooKeeper.
fn over_zookeeper(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    (name, group): (&GroupName, &PlannedGroup),
    ensemble: &Ensemble,
) -> fmt::Result {
    let pace = &group.pace;
    let folders = counted(group.width(), "folder");
    writeln!(f, "  over zookeeper  {folders} of nodes below {}", plan.store_prefix(name))?;
    members_and_roles(f, plan, group)?;
    let (session, written, ends) = (pace.session, pace.heartbeat, pace.threshold);
    writeln!(
        f,
        "  pace            session {session}, a write each {written}; a claim ends {ends} after \
         the last write (exclusive)"
    )?;
    let (least, most) = ensemble.sessions();
    writeln!(f, "                  the servers must allow it: by their ticks {least} to {most}")?;
    costs(f, plan, group)
}

/// The bounds of a group's faults.
fn costs(f: &mut fmt::Formatter<'_>, plan: &Plan, group: &PlannedGroup) -> fmt::Result {
    writeln!(
        f,
        "  what a fault may cost at most, ms; a kill or a leave also costs the victim's restart;"
    )?;
    writeln!(
        f,
        "  a dry run of the experiment shows what the end of a pause or an isolation adds"
    )?;
    writeln!(f, "    {:<11}{:<13} overlap", "", "gap")?;
    let bounds = &group.bounds;
    let brokers = plan.clusters.get(&group.cluster).is_some_and(|it| it.failover.is_some());
    let alone = plan.among_of(group).is_some();
    let rows = [
        ("kill", Some(bounds.kill)),
        ("leave", Some(bounds.leave)),
        ("isolation", Some(if alone { bounds.isolation } else { bounds.cut_off() })),
        ("silence", bounds.silence),
        ("link", bounds.link),
        ("links, all", bounds.links_and_brokers),
        ("pause", Some(bounds.pause)),
        ("restart", Some(bounds.restart)),
        ("broker", Some(bounds.broker).filter(|_| brokers)),
    ];
    let rows = rows.into_iter().filter_map(|(fault, bound)| Some((fault, bound?)));
    for (fault, Bound { gap, overlap }) in rows {
        writeln!(f, "    {fault:<11}{:<13} {}", range(gap), range(overlap))?;
    }
    match plan.clusters.get(&group.cluster).filter(|_| !alone) {
        Some(cluster) => {
            let embedded = cluster.address == Address::Embedded;
            let recall = if embedded { Recall::Nothing } else { Recall::Reads };
            outage(f, &Terms::on(&group.pace, group.replication, cluster), recall)
        }
        None => Ok(()),
    }
}

/// The cost of an outage `D` of all brokers of the cluster.
fn outage(f: &mut fmt::Formatter<'_>, terms: &Terms, recall: Recall) -> fmt::Result {
    let ms = |span: Duration| i128::try_from(span.as_millis()).unwrap_or(i128::MAX);
    // Long enough that no subtraction saturates.
    let long = terms.threshold + terms.start_up;
    let Bound { gap, overlap } = outage_bound(terms, long, recall);
    let more = ms(gap.high.get()) - ms(terms.threshold);
    let gap = format!("D {} {}", if more < 0 { '-' } else { '+' }, more.abs());
    writeln!(f, "    {:<11}{gap:<13} {}", "cluster", range(overlap))
}

/// `0 a, e · 1 b`: each partition and its roles.
fn roles(plan: &Plan, group: &PlannedGroup) -> String {
    let mut by_partition: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (role, name) in plan.roles.indices().zip(plan.roles.names()).take(ROLES_SHOWN) {
        by_partition.entry(group.partition(role)).or_default().push(name.to_string());
    }
    let mut parts: Vec<String> = by_partition
        .into_iter()
        .map(|(partition, roles)| format!("{partition} {}", roles.join(", ")))
        .collect();
    let roles = usize::try_from(plan.roles.len()).unwrap_or(usize::MAX);
    if roles > ROLES_SHOWN {
        parts.push(format!("and {} more", roles - ROLES_SHOWN));
    }
    parts.join(" | ")
}

fn clusters(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    let mut load: BTreeMap<&ClusterName, f64> = BTreeMap::new();
    for group in plan.groups.values() {
        *load.entry(&group.cluster).or_default() += group.beacons_per_s;
    }
    writeln!(f, "\nclusters")?;
    for (name, cluster) in &plan.clusters {
        let load = load.get(name).copied().unwrap_or_default();
        let load = format!("{load:.0} beacons/s in all");
        let (address, load) = match &cluster.address {
            Address::Embedded => ("embedded, a process of its own", load),
            Address::Bootstrap(address) => (address.as_str(), load),
            Address::Etcd(address) => (address.as_str(), "etcd".to_owned()),
            Address::ZooKeeper(it) => (it.zookeeper.as_str(), format!("ZooKeeper, {it}")),
            Address::Nats(address) => (address.as_str(), "NATS".to_owned()),
            // Each has its group's section.
            Address::Members(_) => continue,
        };
        let start_up = cluster.start_up;
        let host = declared(cluster.host.as_ref());
        writeln!(f, "  {name}: {address}{host}; {load}")?;
        writeln!(
            f,
            "    if all its brokers are down for D, it serves again within {start_up} more"
        )?;
    }
    match plan.edges {
        Edges::Direct => {}
        Edges::Proxied => writeln!(f, "  members connect through edges, a process of its own")?,
    }
    Ok(())
}

/// A declared host; it is not verified.
fn declared(host: Option<&HostName>) -> String {
    host.map_or_else(String::new, |host| format!(", host {host} (declared, not verified)"))
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn abridged(names: &[&str]) -> String {
    match names {
        [first, second, .., last] if names.len() > 8 => {
            format!("{first}, {second} to {last} ({})", names.len())
        }
        few => few.join(", "),
    }
}

fn range(range: Range) -> String {
    let ms = |span: Span| span.get().as_millis();
    match (ms(range.low), ms(range.high)) {
        (_, 0) => "none".to_owned(),
        _ if range.high.get() == UNLIMITED => "as long as it lasts".to_owned(),
        (low, high) => format!("{low} to {high}"),
    }
}
