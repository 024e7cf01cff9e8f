//! `partition`: stops all traffic between members and brokers, or that of some requests.

use super::{AnyFault, InStorm, Need, Network, Targets, Word, network, written};
use crate::observation::FaultClass;

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
        late.then_some("to delay traffic: `fault: slow`")
    },
    read: |written| {
        let network = Network::read(written, |fields, written| {
            network::cut(fields.behavior.unwrap_or_default(), fields.apis.is_some(), written)
        });
        network.map(AnyFault::Partition)
    },
    in_storm: Some(InStorm::Held(|lasts| AnyFault::Partition(Network::cut(lasts)))),
    permission: None,
    needs: &[Need::Listen],
    able: network::ABLE,
};
