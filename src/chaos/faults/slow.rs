//! `slow`: what passes between members and brokers is late.

use std::time::Duration;

use super::{Fault, Need, Network, Targets, Word, network, written};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "slow",
    noun: "slow network",
    aliases: &["delay", "latency"],
    class: FaultClass::Intercepts,
    targets: Targets::Links,
    fields: &["for", "latency", "latency_jitter", "rate", "direction", "from"],
    schema: written::schema::<network::Fields>,
    hint: |field| {
        (field == "apis").then_some("`fault: protocol` with a `latency` makes requests late")
    },
    read: |written| Network::read(written, network::slow).map(|network| Slow(network).into()),
    in_storm: None,
    permission: None,
    needs: &[Need::Listen],
    able: network::ABLE,
};

/// What passes is late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slow(Network);

impl Fault for Slow {
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
