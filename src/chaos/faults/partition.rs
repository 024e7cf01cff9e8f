//! `partition`: nothing passes between members and brokers, or nothing of some requests.

use std::time::Duration;

use super::{AnyFault, Fault, InStorm, Need, Network, Targets, Word, network, written};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "partition",
    noun: "partition",
    aliases: &["isolation", "network", "cut", "drop"],
    class: FaultClass::Intercepts,
    targets: Targets::Links,
    fields: &["for", "behavior", "direction", "from", "apis"],
    schema: written::schema::<network::Fields>,
    hint: |field| {
        let late = ["latency", "latency_jitter", "rate"].contains(&field);
        late.then_some("what passes late passes: `fault: slow`")
    },
    read: |written| {
        let network = Network::read(written, |fields, written| {
            network::cut(fields.behavior.unwrap_or_default(), fields.apis.is_some(), written)
        });
        network.map(|network| Partition(network).into())
    },
    in_storm: Some(InStorm::Held(|lasts| AnyFault::from(Partition(Network::cut(lasts))))),
    permission: None,
    needs: &[Need::Listen],
    able: network::ABLE,
};

/// Nothing passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition(Network);

impl Fault for Partition {
    fn describe(&self) -> String {
        self.0.describe()
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        network::UNDO.to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.0.lasts.get())
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        self.0.cost(hit)
    }

    fn away(&self, _: Duration) -> Duration {
        self.0.lasts.get()
    }

    fn held(&self) -> Duration {
        self.0.lasts.get()
    }

    fn network(&self) -> Option<&Network> {
        Some(&self.0)
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(network::shell::Shell(self.0.clone()))
    }
}
