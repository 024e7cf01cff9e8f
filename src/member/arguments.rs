//! The configuration that a plan decides for a member, and the matching arguments of `tandem
//! member`.

use std::net::{Ipv4Addr, SocketAddr};

use tandem_member::{
    Config, MeshCertificates, MeshSettings, MeshTrust, Named, Pulse, Versions, usual,
};

use super::DutyOrder;
use crate::built::Built;
use crate::ids::{GroupName, Life, MemberId};
use crate::kafka::Cluster;
use crate::time::Span;
use crate::topology::{Address, Links, OnDeath, Plan, PlannedGroup, Terms};

/// The configuration of one life in group `name` of the plan, on this cluster.
#[must_use]
pub fn config_of(
    life: Life,
    plan: &Plan,
    (name, group): (&GroupName, &PlannedGroup),
    cluster: &Cluster,
) -> Config {
    Config {
        mesh: mesh_of(&life.member, group),
        cluster: cluster.clone(),
        topic: group.topic.clone(),
        width: group.partitions,
        consumer_group: group.consumer_group.clone(),
        session: group.pace.session.get(),
        heartbeat: group.pace.heartbeat.get(),
        wake: group.pace.wake.get(),
        beacon: group.pace.beacon.get(),
        publishers: group.pace.beacons.into(),
        threshold: group.pace.threshold.get(),
        hold: group.pace.hold.get(),
        grace: group.pace.grace.get(),
        mode: group.pace.mode,
        pulse: Pulse::Clock,
        handover: group.pace.handover,
        advertise: None,
        assignor: group.pace.assignor.as_str().to_owned(),
        membership: group.pace.membership,
        protocol: group.pace.protocol,
        instance: group.pace.static_members.then(|| life.member.to_string()),
        fences: Some(usual::fences()),
        versions: Versions::OURS,
        // No name has a slash or an at sign.
        named: named(Some(format!("{}/{name}@{}", plan.topology, group.consumer_group))),
        life,
    }
}

/// What this program names as a member of this group.
#[must_use]
pub fn named(group: Option<String>) -> Named {
    // Short: each beacon bears it.
    let commit = Built::this().map_or_else(String::new, |built| format!(" ({built})"));
    Named { group, program: Some(format!("tandem {}{commit}", env!("CARGO_PKG_VERSION"))) }
}

/// How members stand in for each other, if they do.
fn mesh_of(member: &MemberId, group: &PlannedGroup) -> Option<MeshSettings> {
    let pace = &group.pace;
    // The round trips to brokers elsewhere are the longer ones, and a long term does no harm.
    let terms = Terms::of(pace, &Address::Bootstrap(String::new()));
    let number = group.members.iter().position(|it| it == member);
    let number = u16::try_from(number.unwrap_or(0)).unwrap_or(u16::MAX);
    let here = (SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None);
    let links = group.mesh.as_ref();
    let (listen, advertise) = links.and_then(|links| links.of(number)).unwrap_or(here);
    (pace.on_death == OnDeath::StandIn).then(|| MeshSettings {
        listen,
        advertise,
        trust: links.map(trust_of).unwrap_or_default(),
        stand_in: terms.stand_in_term(),
        suspect: pace.suspect.map(Span::get),
    })
}

/// Whom the members of a group believe.
fn trust_of(links: &Links) -> MeshTrust {
    match links.files() {
        Some(files) => {
            let [authority, certificate, key] = files.map(Into::into);
            MeshTrust::Certificates(MeshCertificates { authority, certificate, key })
        }
        None if links.plain => MeshTrust::Network,
        None => MeshTrust::SameUser,
    }
}

/// The options of the mesh, and their values.
fn mesh_options(mesh: &MeshSettings) -> Vec<(&'static str, String)> {
    let mut options = vec![("mesh", mesh.listen.to_string())];
    options.extend(mesh.advertise.map(|at| ("mesh-advertise", at.to_string())));
    match &mesh.trust {
        MeshTrust::SameUser => {}
        MeshTrust::Network => options.push(("mesh-plain", "true".to_owned())),
        MeshTrust::Certificates(MeshCertificates { authority, certificate, key }) => {
            let files = [("mesh-ca", authority), ("mesh-certificate", certificate)];
            let files = files.into_iter().chain([("mesh-key", key)]);
            options.extend(files.map(|(name, file)| (name, file.display().to_string())));
        }
    }
    options.push(("stand-in", Span(mesh.stand_in).to_string()));
    options.extend(mesh.suspect.map(|suspect| ("suspect", Span(suspect).to_string())));
    options
}

/// The argument with which a member of `group` runs the programs of its roles, if it has any.
#[must_use]
pub fn duty_argument(plan: &Plan, name: &GroupName, group: &PlannedGroup) -> Option<String> {
    let order = DutyOrder {
        topology: plan.topology.clone(),
        group: name.clone(),
        roles: plan.roles.clone(),
        duty: group.duty.clone()?,
    };
    serde_json::to_string(&order).ok()
}

/// The arguments of `tandem` that start this member.
#[must_use]
pub fn arguments(config: &Config) -> Vec<String> {
    let mut arguments = vec!["member".to_owned(), config.life.to_string()];
    let mut option = |name: &str, value: String| {
        arguments.push(format!("--{name}"));
        arguments.push(value);
    };
    option("bootstrap", config.cluster.bootstrap.clone());
    option("topic", config.topic.to_string());
    option("partitions", config.width.to_string());
    option("consumer-group", config.consumer_group.to_string());
    option("session", Span(config.session).to_string());
    option("heartbeat", Span(config.heartbeat).to_string());
    option("wake", Span(config.wake).to_string());
    option("beacon", Span(config.beacon).to_string());
    option("beacons", config.publishers.as_str().to_owned());
    option("threshold", Span(config.threshold).to_string());
    option("hold", Span(config.hold).to_string());
    option("grace", Span(config.grace).to_string());
    option("mode", config.mode.as_str().to_owned());
    option("assignor", config.assignor.clone());
    option("membership", config.membership.as_str().to_owned());
    option("protocol", config.protocol.as_str().to_owned());
    option("handover", config.handover.to_string());
    if let Some(of) = &config.named.group {
        option("of", of.clone());
    }
    if let Some(instance) = &config.instance {
        option("instance", instance.clone());
    }
    if let Some(mesh) = &config.mesh {
        mesh_options(mesh).into_iter().for_each(|(name, value)| option(name, value));
    }
    for (key, value) in &config.cluster.access.properties {
        option("property", format!("{key}={value}"));
    }
    // Only where the secret is stored: command lines are readable by all users.
    for (key, secret) in &config.cluster.access.secrets {
        option("secret", format!("{key}={secret}"));
    }
    arguments
}
