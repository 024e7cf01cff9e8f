//! What a changed topology file changes of what is up, and what it must not change.

use std::collections::BTreeSet;
use std::fmt;

use super::places::Places;
use super::{Address, Edges, Pace, Plan, PlannedGroup, planning};
use crate::ids::{GroupName, MemberId};
use crate::yaml::{Cursor, Override, Problem};

/// A plan that can take the place of one that is up.
#[derive(Debug, Clone, PartialEq)]
pub struct InPlace {
    /// The plan.
    pub plan: Plan,
    /// What it changes, in the order in which it is done.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Members leave their group, the last first.
    Leave {
        /// The group.
        group: GroupName,
        /// The members.
        members: Vec<MemberId>,
    },
    /// Roles come and go.
    Roles {
        /// How many there were.
        before: u32,
        /// How many there are.
        now: u32,
        /// How many of them there were not before.
        added: usize,
        /// How many of those before there are no longer.
        removed: usize,
        /// How many slots belong to another role then, of how many.
        slots: Option<(u32, u32)>,
    },
    /// Members join their group.
    Join {
        /// The group.
        group: GroupName,
        /// The members.
        members: Vec<MemberId>,
    },
    /// The settings of a group. Its members are started again one by one.
    Settings {
        /// The group.
        group: GroupName,
        /// Each setting: before, and now.
        settings: Vec<String>,
    },
    /// A part of the topology that no process needs to know.
    Part(String),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |members: &[MemberId]| {
            members.iter().map(MemberId::as_str).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Leave { group, members } => write!(f, "group {group}: {} leave", list(members)),
            Self::Join { group, members } => write!(f, "group {group}: {} join", list(members)),
            Self::Roles { before, now, added, removed, slots } => {
                write!(f, "roles: {before} -> {now} ({added} added, {removed} removed)")?;
                slots.map_or(Ok(()), |(moved, all)| {
                    write!(f, "; {moved} of {all} slots change their role")
                })
            }
            Self::Settings { group, settings } => {
                let settings = settings.join(", ");
                write!(f, "group {group}: {settings}; its members start again one by one")
            }
            Self::Part(what) => f.write_str(what),
        }
    }
}

/// Plans the topology that `text` describes in the place of `running`, which is up.
///
/// # Errors
/// All problems found: those of the file, and what cannot be changed while it is up.
pub fn in_place(
    running: &Plan,
    text: &str,
    overrides: &[Override],
) -> Result<InPlace, Vec<Problem>> {
    let root = planning::root(text, overrides)?;
    let plan = planning::planned(&root)?;
    let places = Places::of(Cursor::of(&root));
    let mut problems = whole(running, &plan, places);
    for (name, now) in &plan.groups {
        match running.groups.get(name) {
            Some(before) => problems.extend(group(name, before, now, places)),
            None => problems.push(Problem::at(
                places.group(name).name(),
                format!("group {name} is not up, and a group cannot be added while others are"),
            )),
        }
        problems.extend(joins(running, &plan, name, places));
        problems.extend(over_nats(running, &plan, name, places));
    }
    if problems.is_empty() {
        Ok(InPlace { changes: changes(running, &plan), plan })
    } else {
        Err(problems)
    }
}

/// The problem of members that come or go while they elect over NATS.
fn over_nats(running: &Plan, now: &Plan, name: &GroupName, places: Places<'_>) -> Option<Problem> {
    let group = now.groups.get(name).filter(|group| now.is_over_nats(group))?;
    let before = running.groups.get(name)?;
    let message = "members that elect among themselves neither come nor go";
    let at = places.group(name).key("members").origin();
    (before.members != group.members).then(|| Problem::at(at, message))
}

/// What the topology must not change.
fn whole(running: &Plan, now: &Plan, places: Places<'_>) -> Vec<Problem> {
    let root = places.root();
    let mut problems = Vec::new();
    if running.topology != now.topology {
        let (up, name) = (&running.topology, &now.topology);
        let message = format!("{up} is up, and {name} is another topology: a name stays");
        problems.push(Problem::at(root.key("name").origin(), message));
    }
    for (name, before) in &running.clusters {
        let place = root.key("clusters").key(name.as_str());
        match now.clusters.get(name) {
            Some(cluster) if cluster == before => {}
            // In place of a cluster: the members of a group, which know each other by number.
            Some(cluster) if matches!(cluster.address, Address::Members(_)) => {
                let of = now.groups.iter().find(|(_, group)| group.cluster == *name);
                let message = "members that elect among themselves neither come nor go";
                problems.extend(of.map(|(group, _)| {
                    Problem::at(places.group(group).key("members").origin(), message)
                }));
            }
            Some(_) => problems.push(
                Problem::at(place.name(), format!("cluster {name} is up, and stays as it is"))
                    .hint("its groups are on it: end what is up, and start it again"),
            ),
            None => problems.push(Problem::at(
                place.name(),
                format!("cluster {name} is up, and cannot be removed while it is"),
            )),
        }
    }
    for name in now.clusters.keys().filter(|name| !running.clusters.contains_key(*name)) {
        let place = root.key("clusters").key(name.as_str());
        let message = format!("cluster {name} is not up, and cannot be added to what is");
        problems.push(Problem::at(place.name(), message));
    }
    for name in running.groups.keys().filter(|name| !now.groups.contains_key(*name)) {
        let message = format!("group {name} is up, and cannot be removed while others are");
        problems.push(Problem::at(root.key("groups").name(), message));
    }
    if running.slots != now.slots {
        let message = "programs have assigned keys to slots already, and `slots` stays as it is";
        problems.push(Problem::at(root.key("slots").origin(), message));
    }
    if running.order_key != now.order_key {
        let message = "members take orders by another key already, and `order_key` stays as it is";
        problems.push(Problem::at(root.key("order_key").origin(), message));
    }
    if running.edges != now.edges {
        let message = "members are connected already, and `edges` stays as it is";
        problems.push(Problem::at(root.key("edges").origin(), message));
    }
    problems
}

/// Members that join need a way to their brokers.
fn joins(running: &Plan, now: &Plan, name: &GroupName, places: Places<'_>) -> Option<Problem> {
    let (before, group) = (running.groups.get(name)?, now.groups.get(name)?);
    let more = group.members.len() > before.members.len();
    (more && running.edges == Edges::Proxied).then(|| {
        let message = "members that connect through edges cannot join while others are up";
        Problem::at(places.group(name).key("members").origin(), message)
    })
}

/// What a group must not change.
fn group(
    name: &GroupName,
    before: &PlannedGroup,
    now: &PlannedGroup,
    places: Places<'_>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    if before.partitions != now.partitions {
        let (there, wanted) = (before.partitions, now.partitions);
        problems.push(
            Problem::at(
                places.group(name).key("partitions").origin(),
                format!(
                    "group {name} would have {wanted} partitions, and its topic has {there}: their \
                     number never changes while a group is up"
                ),
            )
            .hint(format!(
                "write `partitions: {there}`; by default there is one per role, at most 16"
            )),
        );
    }
    let mut stays = |key: &str, same: bool| {
        if !same {
            let message = format!("group {name} is up, and its `{key}` stays as it is");
            problems.push(
                Problem::at(places.setting(name, key), message)
                    .hint("end what is up, and start it again with this file"),
            );
        }
    };
    let (old, new) = (&before.pace, &now.pace);
    stays("cluster", before.cluster == now.cluster);
    stays("topic", before.topic == now.topic);
    stays("consumer_group", before.consumer_group == now.consumer_group);
    stays("launch", before.launch == now.launch);
    stays("chaos", before.chaos == now.chaos);
    stays("host", before.host == now.host);
    stays("mesh", before.mesh == now.mesh);
    stays("foreign", before.foreign == now.foreign);
    stays("duty", before.duty.is_some() == now.duty.is_some());
    stays("replication", before.replication == now.replication);
    stays("min_insync_replicas", before.min_insync_replicas == now.min_insync_replicas);
    stays("retention", before.retention == now.retention);
    stays("mode", old.mode == new.mode);
    stays("assignor", old.assignor == new.assignor);
    stays("membership", old.membership == new.membership);
    stays("protocol", old.protocol == new.protocol);
    stays("assignment_interval", old.assignment == new.assignment);
    // The brokers have them, for the whole group.
    let own = old.protocol.is_classic();
    stays("session", own || old.session == new.session);
    stays("heartbeat", own || old.heartbeat == new.heartbeat);
    problems
}

fn changes(running: &Plan, now: &Plan) -> Vec<Change> {
    let groups = || {
        now.groups.iter().filter_map(|(name, group)| Some((name, running.groups.get(name)?, group)))
    };
    let less = |from: &PlannedGroup, other: &PlannedGroup| -> Vec<MemberId> {
        from.members.iter().filter(|it| !other.members.contains(it)).cloned().collect()
    };
    let mut changes = Vec::new();
    for (name, before, group) in groups() {
        let mut members = less(before, group);
        members.reverse();
        if !members.is_empty() {
            changes.push(Change::Leave { group: name.clone(), members });
        }
    }
    if running.roles != now.roles {
        let of = |plan: &Plan| plan.roles.names().collect::<BTreeSet<_>>();
        let (before, after) = (of(running), of(now));
        changes.push(Change::Roles {
            before: running.roles.len(),
            now: now.roles.len(),
            added: after.difference(&before).count(),
            removed: before.difference(&after).count(),
            slots: now
                .slots
                .map(|slots| (slots.moved(running.roles.len(), now.roles.len()), slots.count)),
        });
    }
    for (name, before, group) in groups() {
        let members = less(group, before);
        if !members.is_empty() {
            changes.push(Change::Join { group: name.clone(), members });
        }
    }
    for (name, before, group) in groups() {
        let mut settings = settings(&before.pace, &group.pace);
        if before.duty != group.duty {
            settings.push("duty".to_owned());
        }
        if running.roles != now.roles && group.duty.is_some() {
            settings.push("the roles of its programs".to_owned());
        }
        if !settings.is_empty() {
            changes.push(Change::Settings { group: name.clone(), settings });
        }
        let (old, new) = (before.restart_after, group.restart_after);
        if old != new {
            changes.push(Change::Part(format!("group {name}: restart after {old} -> {new}")));
        }
    }
    let parts = [
        ("objective", running.objective != now.objective),
        ("limits", running.limits != now.limits),
        ("disjoint", running.disjoint != now.disjoint),
    ];
    let parts = parts.into_iter().filter(|(_, differs)| *differs);
    changes.extend(parts.map(|(what, _)| Change::Part(format!("{what} changes"))));
    changes
}

/// The settings that a member gets at its start, as far as they differ.
fn settings(before: &Pace, now: &Pace) -> Vec<String> {
    let spans = [
        ("session", before.session, now.session),
        ("heartbeat", before.heartbeat, now.heartbeat),
        ("beacon", before.beacon, now.beacon),
        ("threshold", before.threshold, now.threshold),
        ("hold", before.hold, now.hold),
        ("clock_error", before.clock_error, now.clock_error),
        ("grace", before.grace, now.grace),
    ];
    let spans = spans.into_iter().filter(|(_, old, new)| old != new);
    let mut settings: Vec<_> =
        spans.map(|(key, old, new)| format!("{key} {old} -> {new}")).collect();
    let others = [
        ("beacons", before.beacons != now.beacons),
        ("handover", before.handover != now.handover),
        ("static_members", before.static_members != now.static_members),
        ("on_death", before.on_death != now.on_death),
        ("suspect", before.suspect != now.suspect),
    ];
    settings.extend(others.into_iter().filter(|it| it.1).map(|it| it.0.to_owned()));
    settings
}
