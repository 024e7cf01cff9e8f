//! What a fault does and how it is undone, in a sentence each.

use std::collections::BTreeSet;

use super::foresee::list;
use super::{Departure, Fault, How, Kind, Network, Pick, Storm, Target};
use crate::edge::Effect;
use crate::time::{Skew, Span};
use crate::topology::{Address, Plan};
use crate::wire::api_name;

impl Fault {
    /// What is done.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::End { by: Departure::Kill, .. } | Self::Broker { how: How::Kill, .. } => {
                "SIGKILL".to_owned()
            }
            Self::End { by: Departure::Leave, .. } => {
                "SIGTERM: it leaves its group, stops leading, and ends".to_owned()
            }
            Self::End { by: Departure::Stop, .. } => {
                "it is told to end without leaving its group".to_owned()
            }
            Self::End { by: Departure::Host, .. } => {
                "SIGKILL to everything on the machine".to_owned()
            }
            Self::Duplicate { lasts } => {
                format!("a second process by the same name and client.id, for {lasts}")
            }
            Self::Storm(storm) => storm.told(),
            Self::Rollout { .. } => {
                "each leaves (SIGTERM) and comes back, once all is settled again".to_owned()
            }
            Self::Pause { lasts } | Self::Broker { how: How::Pause, away: lasts } => {
                format!("SIGSTOP, for {lasts}")
            }
            Self::Network(network) => network.told(),
            Self::Broker { how: How::Stop, .. } => "SIGTERM: an orderly shutdown".to_owned(),
            Self::Clock { skew, lasts } => {
                format!("the wall clock is {}, for {lasts}", skew_told(*skew))
            }
            Self::Noop { lasts } => format!("nothing, for {lasts}"),
        }
    }

    /// How that ends, for a step with this target.
    #[must_use]
    pub fn undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        match self {
            Self::End { restart_after, .. } | Self::Rollout { restart_after } => {
                let groups = target.map(|target| target.manned(plan)).unwrap_or_default();
                let planned = groups.iter().filter_map(|name| plan.groups.get(name));
                let planned = planned.map(|group| group.restart_after).max();
                let after = restart_after.or(planned).unwrap_or_default();
                let left = [Kind::Leave, Kind::Rollout].contains(&self.kind());
                let gone = if left { "left" } else { "died" };
                let members = format!("whoever {gone} is started again after {after}");
                match self.of_brokers().filter(|_| takes_brokers(target, plan)) {
                    Some((_, away)) => format!(
                        "{members}, brokers after {away}, at the same address, and their topics \
                         made again; it is over when all are there"
                    ),
                    None => members,
                }
            }
            Self::Duplicate { .. } => {
                "the second process leaves and ends (SIGTERM), or is killed".to_owned()
            }
            Self::Storm(storm) => {
                let undone = storm.faults.iter().map(|(fault, _)| fault.undo(target, plan));
                let undone: BTreeSet<String> = undone.collect();
                undone.into_iter().collect::<Vec<_>>().join("; ")
            }
            Self::Pause { .. } => "whoever was stopped is woken by SIGCONT".to_owned(),
            Self::Network(_) => "the edges let everything pass again".to_owned(),
            Self::Broker { how: How::Pause, .. } => {
                "SIGCONT; it is over when they serve again".to_owned()
            }
            Self::Broker { how: How::Kill | How::Stop, away } => {
                let again = format!("started again after {away}, at the same address");
                let embedded = target.is_some_and(|target| any_embedded(target, plan));
                let topics = if embedded { ", and their topics made again" } else { "" };
                format!("{again}{topics}; it is over when they serve")
            }
            Self::Clock { .. } => "the clock is set right".to_owned(),
            Self::Noop { .. } => "there is nothing to undo".to_owned(),
        }
    }
}

impl Fault {
    /// To whom it is done.
    #[must_use]
    pub fn told_of(&self, target: &Target) -> String {
        match (self, target) {
            (Self::Storm(_), Target::GroupsAcross { mode: Pick::All, across }) => {
                let groups = across.groups.as_ref().map_or("all groups".to_owned(), list);
                format!("one member at a time, of {groups}")
            }
            (Self::Rollout { .. }, Target::GroupsAcross { mode: Pick::All, across }) => {
                let groups = across.groups.as_ref().map_or("all groups".to_owned(), list);
                format!("every member of {groups}, one after the other")
            }
            (Self::Storm(_), target) => format!("one at a time of {}", target.told()),
            (Self::Rollout { .. }, target) => format!("{}, one after the other", target.told()),
            (_, target) => target.told(),
        }
    }
}

impl Storm {
    fn told(&self) -> String {
        let all: u64 = self.faults.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let part = |(fault, weight): &(Fault, u32)| {
            let share = if self.faults.len() == 1 {
                String::new()
            } else {
                format!(" ({weight} of {all})")
            };
            format!("{}{share}", fault.kind().as_str())
        };
        let parts: Vec<String> = self.faults.iter().map(part).collect();
        let (every, lasts) = (self.every, self.lasts);
        format!("each {every}, at any instant of it, for {lasts}: {}", parts.join(", "))
    }
}

impl Network {
    fn told(&self) -> String {
        let apis = self.apis.as_ref().map(|apis| {
            let names: Vec<_> = apis.iter().map(|api| api_name(*api)).collect();
            names.join(", ")
        });
        let what = apis.as_deref().unwrap_or("what members and brokers say to each other");
        let becomes = match &self.effect {
            Effect::Drop => "is lost".to_owned(),
            Effect::Stall => "is held back".to_owned(),
            Effect::Reset => "ends with a reset of its connection".to_owned(),
            Effect::Slow { delay, jitter, bytes_per_second } => {
                let late = (!delay.get().is_zero() || !jitter.get().is_zero())
                    .then(|| format!("is late by {delay} to {}", Span(delay.get() + jitter.get())));
                let rate = bytes_per_second.map(|rate| format!("passes at {rate} B/s"));
                let both: Vec<String> = late.into_iter().chain(rate).collect();
                both.join(" and ")
            }
            Effect::Answer { code } => format!("is answered with Kafka's error {code}"),
        };
        format!("{what} {becomes}, for {}", self.lasts)
    }
}

fn skew_told(skew: Skew) -> String {
    let by = Span(std::time::Duration::from_nanos(skew.ahead_ns.unsigned_abs()));
    let off = match skew.ahead_ns.signum() {
        1 => Some(format!("{by} ahead")),
        -1 => Some(format!("{by} behind")),
        _ => None,
    };
    let drift = match skew.drift_ppm {
        0 => None,
        fast @ 1.. => Some(format!("fast by {fast} ppm")),
        slow => Some(format!("slow by {} ppm", slow.unsigned_abs())),
    };
    let step = Span(std::time::Duration::from_nanos(skew.step_ns));
    let step = (skew.step_ns > 0).then(|| format!("off and right in turn, {step} each"));
    let parts: Vec<String> = off.into_iter().chain(drift).chain(step).collect();
    parts.join(" and ")
}

/// Whether a machine that it can hit has a broker.
fn takes_brokers(target: Option<&Target>, plan: &Plan) -> bool {
    let hosts = match target {
        Some(target @ Target::Machine(_)) => target.hosts(plan),
        Some(_) | None => BTreeSet::new(),
    };
    hosts.iter().any(|host| !plan.clusters_on(host).is_empty())
}

fn any_embedded(target: &Target, plan: &Plan) -> bool {
    target.groups(plan).iter().any(|name| {
        let cluster = plan.groups.get(name).and_then(|group| plan.clusters.get(&group.cluster));
        cluster.is_some_and(|cluster| cluster.address == Address::Embedded)
    })
}
