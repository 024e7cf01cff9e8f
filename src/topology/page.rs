//! Renders the plan as text for people.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::{
    Address, Bound, Edges, Foreign, MembershipClient, OnDeath, Plan, PlannedGroup, Range, Recall,
    Terms, outage_bound, shared_fate,
};
use crate::ids::{ClusterName, GroupName, HostName, MemberId};
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
        for (name, group) in &plan.groups {
            group_section(f, plan, name, group)?;
        }
        clusters(f, plan)?;
        promise(f, plan)?;
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

fn group_section(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    name: &GroupName,
    group: &PlannedGroup,
) -> fmt::Result {
    let host = declared(group.host.as_ref());
    writeln!(f, "\ngroup {name} on cluster {}{host}", group.cluster)?;
    if plan.etcd_of(group).is_some() {
        return over_etcd(f, plan, name, group);
    }
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
    writeln!(f, "  consumer group  {} ({assignor}{client})", group.consumer_group)?;
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
        writeln!(f, "  members         yours: each `tandem hold` is one")?;
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
    writeln!(f, "  load            {:.0} beacons/s", group.beacons_per_s)?;
    costs(f, plan, group)
}

/// The rest of the section of a group that elects over etcd.
fn over_etcd(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    name: &GroupName,
    group: &PlannedGroup,
) -> fmt::Result {
    let (pace, restart) = (&group.pace, group.restart_after);
    let members: Vec<&str> = group.members.iter().map(MemberId::as_str).collect();
    let keys = counted(group.width(), "key");
    writeln!(f, "  over etcd       {keys} below {}", plan.etcd_prefix(name))?;
    let members = abridged(&members);
    writeln!(f, "  members         {members}, started again {restart} after a death")?;
    writeln!(f, "  roles           {}", roles(plan, group))?;
    let (lease, renewed, ends) = (pace.session, pace.heartbeat, pace.threshold);
    writeln!(
        f,
        "  pace            lease {lease}, renewed each {renewed}; a claim ends {ends} after the \
         last renewal (exclusive)"
    )?;
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
    let rows = [
        ("kill", Some(bounds.kill)),
        ("leave", Some(bounds.leave)),
        ("isolation", Some(bounds.cut_off())),
        ("silence", bounds.silence),
        ("pause", Some(bounds.pause)),
        ("restart", Some(bounds.restart)),
        ("broker", Some(bounds.broker).filter(|_| brokers)),
    ];
    let rows = rows.into_iter().filter_map(|(fault, bound)| Some((fault, bound?)));
    for (fault, Bound { gap, overlap }) in rows {
        writeln!(f, "    {fault:<11}{:<13} {}", range(gap), range(overlap))?;
    }
    match plan.clusters.get(&group.cluster) {
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
        let address = match &cluster.address {
            Address::Embedded => "embedded, a process of its own",
            Address::Bootstrap(address) | Address::Etcd(address) => address,
        };
        let load = match cluster.address {
            Address::Etcd(_) => "etcd".to_owned(),
            Address::Embedded | Address::Bootstrap(_) => {
                format!("{:.0} beacons/s in all", load.get(name).copied().unwrap_or_default())
            }
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

fn promise(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    writeln!(f, "\npromised")?;
    writeln!(f, "  {} leader of each role in each group", plan.objective.leaders_per_group)?;
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
        (low, high) => format!("{low} to {high}"),
    }
}
