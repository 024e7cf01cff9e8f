//! Reads targets, and the brokers that victims are cut off from.

use std::collections::BTreeSet;

use crate::chaos::faults::Targets;
use crate::chaos::network_words::BrokerSpec;
use crate::chaos::spec::{AcrossSpec, FromSpec, StepSpec, TargetSpec};
use crate::chaos::words::{AllOr, OrAny};
use crate::chaos::{Across, Far, Kind, Pick, Target};
use crate::time::Span;
use crate::yaml::{Cursor, Problem};

const WITHIN: Span = Span::ms(50);
/// All fields of a target.
const TARGET: [&str; 8] =
    ["member", "host", "cluster", "coordinator_of", "leader_of", "group", "across", "mode"];
/// All fields that name brokers.
const FROM: [&str; 5] = ["cluster", "broker", "coordinator_of", "leader_of", "group"];

/// The target of a step.
pub(super) fn target(spec: &StepSpec, place: Cursor<'_>) -> Result<Option<Target>, Problem> {
    let kind = spec.fault;
    let noun = kind.noun();
    let Some(target) = &spec.target else { return untargeted(kind, place) };
    let place = place.key("target");
    let of_brokers = |hint: &str| match &target.coordinator_of {
        None => Ok(()),
        Some(_) => {
            let message = format!("a {noun} hits members");
            Err(Problem::at(place.key("coordinator_of").name(), message).hint(hint))
        }
    };
    let brokers_are_elsewhere = || of_brokers("to hit brokers, use `fault: broker`");
    let one = || members(target, place, Pick::One);
    let found = match kind.word().targets {
        Targets::None => {
            return Err(Problem::at(place.name(), format!("a {noun} has no target")));
        }
        Targets::Brokers => brokers(target, place)?,
        Targets::Machine => {
            if target.host.is_none() {
                return Err(Problem::at(place.name(), format!("a {noun} hits a machine"))
                    .hint("name it: {host: alpha}, or {host: any}"));
            }
            brokers_are_elsewhere().and_then(|()| one()).map(whole)?
        }
        // A signal to a machine reaches all of its processes. Only members can leave a group, be
        // cut off, or misread a clock.
        Targets::Processes => brokers_are_elsewhere().and_then(|()| one()).map(whole)?,
        Targets::Members | Targets::Anything => brokers_are_elsewhere().and_then(|()| one())?,
        Targets::Links => of_brokers("name brokers in `from`").and_then(|()| one())?,
        Targets::InTurn => {
            brokers_are_elsewhere()?;
            let found = members(target, place, Pick::All)?;
            in_turn(kind, &found, place)?;
            found
        }
    };
    Ok(Some(found))
}

/// A host with everything that has its label.
fn whole(found: Target) -> Target {
    if let Target::Host(host) = found { Target::Machine(host) } else { found }
}

/// The target of a step that names none.
fn untargeted(kind: Kind, place: Cursor<'_>) -> Result<Option<Target>, Problem> {
    let hint = match kind.word().targets {
        Targets::None | Targets::Anything => return Ok(None),
        Targets::InTurn => {
            let across = Across { groups: None, within: WITHIN };
            return Ok(Some(Target::GroupsAcross { mode: Pick::All, across }));
        }
        Targets::Brokers => "as in target: {coordinator_of: any}, or {cluster: any}",
        Targets::Machine => "as in target: {host: any}",
        Targets::Members | Targets::Processes | Targets::Links => {
            "as in target: {leader_of: any, group: any}"
        }
    };
    let message = format!("a {} needs a `target`", kind.noun());
    Err(Problem::at(place.key("fault").origin(), message).hint(hint))
}

/// Checks that the members of a series are known before its first strike.
fn in_turn(kind: Kind, target: &Target, place: Cursor<'_>) -> Result<(), Problem> {
    let noun = kind.noun();
    let key = match target {
        Target::LeaderOf { .. } | Target::LeadersAcross { .. } => "leader_of",
        Target::Group { mode: Pick::Leaders, .. }
        | Target::GroupsAcross { mode: Pick::Leaders, .. } => "mode",
        Target::Member(_)
        | Target::Group { .. }
        | Target::GroupsAcross { .. }
        | Target::Coordinator { .. }
        | Target::Leading { .. }
        | Target::Brokers { .. }
        | Target::Host(_)
        | Target::Machine(_)
        | Target::Cluster(_) => return Ok(()),
    };
    let message = format!("a {noun} chooses its victims before any role is led");
    Err(Problem::at(place.key(key).name(), message).hint("use `group`, `host` or `cluster`"))
}

fn brokers(spec: &TargetSpec, place: Cursor<'_>) -> Result<Target, Problem> {
    let alone = |key: &str, but: &[&str]| alone(place, "target", key, but, &TARGET);
    if let Some(group) = &spec.coordinator_of {
        alone("coordinator_of", &[])?;
        return Ok(Target::Coordinator { group: group.clone().this() });
    }
    if let Some(cluster) = &spec.cluster {
        alone("cluster", &[])?;
        return Ok(Target::Brokers { cluster: cluster.clone().this() });
    }
    if let Some(role) = &spec.leader_of {
        alone("leader_of", &["group"])?;
        let group = spec.group.clone().and_then(OrAny::this);
        return Ok(Target::Leading { role: role.clone().this(), group });
    }
    Err(Problem::at(place.name(), "the target names no broker")
        .hint("use `coordinator_of`, `leader_of` or `cluster`"))
}

fn members(spec: &TargetSpec, place: Cursor<'_>, usual: Pick) -> Result<Target, Problem> {
    let alone = |key: &str, but: &[&str]| alone(place, "target", key, but, &TARGET);
    if let Some(member) = &spec.member {
        return alone("member", &[]).map(|()| Target::Member(member.clone()));
    }
    if let Some(host) = &spec.host {
        return alone("host", &[]).map(|()| Target::Host(host.clone().this()));
    }
    if let Some(cluster) = &spec.cluster {
        alone("cluster", &[])?;
        return cluster.clone().this().map(Target::Cluster).ok_or_else(|| {
            Problem::at(place.key("cluster").origin(), "`cluster: any` is for brokers")
                .hint("name the cluster; `group: any, mode: all` is a choice of groups")
        });
    }
    if spec.across.is_some() {
        alone("across", &["leader_of", "mode"])?;
    }
    let group = spec.group.clone().and_then(OrAny::this);
    let across = spec.across.as_ref().map(across);
    if let Some(role) = &spec.leader_of {
        alone("leader_of", &["group", "across"])?;
        let role = role.clone().this();
        return Ok(match across {
            Some(across) => Target::LeadersAcross { role, across },
            None => Target::LeaderOf { role, group },
        });
    }
    let mode = spec.mode.unwrap_or(usual);
    match across {
        Some(across) => Ok(Target::GroupsAcross { mode, across }),
        None if spec.group.is_some() => Ok(Target::Group { group, mode }),
        None => Err(Problem::at(place.name(), "the target names no members")
            .hint("use `member`, `leader_of`, `group`, `host` or `cluster`")),
    }
}

fn across(spec: &AcrossSpec) -> Across {
    let groups = match &spec.groups {
        AllOr::All(_) => None,
        AllOr::These(names) => Some(names.iter().cloned().collect::<BTreeSet<_>>()),
    };
    Across { groups, within: spec.within.unwrap_or(WITHIN) }
}

/// The brokers that the victims are cut off from.
pub(in crate::chaos) fn far(spec: &FromSpec, place: Cursor<'_>) -> Result<Far, Problem> {
    let alone = |key: &str, but: &[&str]| alone(place, "`from`", key, but, &FROM);
    if let Some(cluster) = &spec.cluster {
        return alone("cluster", &[]).map(|()| Far::Cluster(Some(cluster.clone())));
    }
    if let Some(broker) = &spec.broker {
        alone("broker", &[])?;
        return Ok(match broker {
            BrokerSpec::Node(number) => Far::Node(*number),
            BrokerSpec::Address(address) => Far::Address(address.clone()),
        });
    }
    if let Some(group) = &spec.coordinator_of {
        return alone("coordinator_of", &[]).map(|()| Far::Coordinator(group.clone().this()));
    }
    let group = spec.group.clone().and_then(OrAny::this);
    if let Some(role) = &spec.leader_of {
        return Ok(Far::Leader { role: role.clone().this(), group });
    }
    let problem = Problem::at(place.name(), "this names no broker");
    Err(problem.hint("use `cluster`, `broker`, `coordinator_of` or `leader_of`"))
}

/// Checks that none of the fields `all` stands beside `key`, except for `but`.
fn alone(
    place: Cursor<'_>,
    what: &str,
    key: &str,
    but: &[&str],
    all: &[&str],
) -> Result<(), Problem> {
    let mut others = all.iter().filter(|other| **other != key && !but.contains(other));
    let Some(other) = others.find(|other| place.key(other).exists()) else { return Ok(()) };
    let message = format!("a {what} has no `{other}` beside `{key}`");
    Err(Problem::at(place.key(other).name(), message))
}
