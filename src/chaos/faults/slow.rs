//! `slow`: delays the traffic between members and brokers.

use super::{AnyFault, Need, Network, Targets, Word, network, written};
use crate::observation::FaultClass;

pub(super) const WORD: Word = Word {
    name: "slow",
    noun: "slow network",
    aliases: &["delay", "latency"],
    class: FaultClass::Intercepts,
    targets: Targets::Links,
    fields: &["for", "latency", "latency_jitter", "rate", "direction", "from"],
    schema: written::schema::<network::Fields>,
    hint: |field| {
        (field == "apis").then_some("to delay some requests: `fault: protocol` with a `latency`")
    },
    read: |written| Network::read(written, network::slow).map(AnyFault::Slow),
    in_storm: None,
    permission: None,
    needs: &[Need::Listen],
    able: network::ABLE,
};
