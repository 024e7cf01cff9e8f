//! What a fault does and how it is undone, in a sentence each.

use super::{Fault, How, Network, Target};
use crate::edge::Effect;
use crate::time::{Skew, Span};
use crate::topology::{Address, Plan};
use crate::wire::api_name;

impl Fault {
    /// What is done.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::Kill { .. } | Self::Broker { how: How::Kill, .. } => "SIGKILL".to_owned(),
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
            Self::Kill { restart_after, .. } => {
                let groups = target.map(|target| target.groups(plan)).unwrap_or_default();
                let planned = groups.iter().filter_map(|name| plan.groups.get(name));
                let planned = planned.map(|group| group.restart_after).max();
                let after = restart_after.or(planned).unwrap_or_default();
                format!("whoever died is started again after {after}")
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

fn any_embedded(target: &Target, plan: &Plan) -> bool {
    target.groups(plan).iter().any(|name| {
        let cluster = plan.groups.get(name).and_then(|group| plan.clusters.get(&group.cluster));
        cluster.is_some_and(|cluster| cluster.address == Address::Embedded)
    })
}
