//! The configuration that a plan decides for a member, and the matching arguments of `tandem
//! member`.

use std::net::{IpAddr, Ipv4Addr};

use tandem_member::{Config, MeshSettings, Pulse};

use super::DutyOrder;
use super::etcd::EtcdConfig;
use crate::ids::{GroupName, Life};
use crate::kafka::Cluster;
use crate::time::Span;
use crate::topology::{Address, OnDeath, Pace, Plan, PlannedGroup, Terms};

/// The configuration of one life on this cluster.
#[must_use]
pub fn config_of(life: Life, group: &PlannedGroup, cluster: &Cluster) -> Config {
    Config {
        life,
        cluster: cluster.clone(),
        topic: group.topic.clone(),
        width: group.partitions,
        consumer_group: group.consumer_group.clone(),
        session: group.pace.session.get(),
        heartbeat: group.pace.heartbeat.get(),
        wake: group.pace.wake.get(),
        beacon: group.pace.beacon.get(),
        threshold: group.pace.threshold.get(),
        hold: group.pace.hold.get(),
        mode: group.pace.mode,
        pulse: Pulse::Clock,
        handover: group.pace.handover,
        mesh: mesh_of(&group.pace),
        advertise: None,
        assignor: group.pace.assignor.as_str().to_owned(),
        membership: group.pace.membership,
    }
}

/// The configuration of one life of a group that elects over etcd; none if it elects on Kafka.
#[must_use]
pub fn etcd_config_of(
    life: Life,
    plan: &Plan,
    name: &GroupName,
    group: &PlannedGroup,
) -> Option<EtcdConfig> {
    Some(EtcdConfig {
        life,
        etcd: plan.etcd_of(group)?.to_owned(),
        prefix: plan.etcd_prefix(name),
        width: group.partitions,
        lease: group.pace.session.get(),
        keep_alive: group.pace.heartbeat.get(),
    })
}

/// How members stand in for each other, if they do.
fn mesh_of(pace: &Pace) -> Option<MeshSettings> {
    // The round trips to brokers elsewhere are the longer ones, and a long term does no harm.
    let terms = Terms::of(pace, &Address::Bootstrap(String::new()));
    (pace.on_death == OnDeath::StandIn).then(|| MeshSettings {
        listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
        stand_in: terms.stand_in_term(),
        suspect: pace.suspect.map(Span::get),
    })
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
    option("threshold", Span(config.threshold).to_string());
    option("hold", Span(config.hold).to_string());
    option("mode", config.mode.as_str().to_owned());
    option("assignor", config.assignor.clone());
    option("membership", config.membership.as_str().to_owned());
    option("handover", config.handover.to_string());
    if let Some(mesh) = &config.mesh {
        option("mesh", mesh.listen.to_string());
        option("stand-in", Span(mesh.stand_in).to_string());
        if let Some(suspect) = mesh.suspect {
            option("suspect", Span(suspect).to_string());
        }
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
