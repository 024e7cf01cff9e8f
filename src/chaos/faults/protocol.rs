//! `protocol`: some requests between members and brokers fail, and the others pass.

use super::network::Fields;
use super::{AnyFault, Need, Network, Targets, Word, Written, network, written};
use crate::edge::Effect;
use crate::observation::FaultClass;
use crate::yaml::Problem;

pub(super) const WORD: Word = Word {
    name: "protocol",
    noun: "protocol fault",
    aliases: &[],
    class: FaultClass::Intercepts,
    targets: Targets::Links,
    fields: &["for", "apis", "behavior", "latency", "latency_jitter", "error", "direction", "from"],
    schema: written::schema::<network::Fields>,
    hint: Word::no_hint,
    read: |written| Network::read(written, effect).map(AnyFault::Protocol),
    in_storm: None,
    permission: None,
    needs: &[Need::Listen],
    able: network::ABLE,
};

/// Reads which of three things happens to the requests.
fn effect(fields: &Fields, written: Written<'_>) -> Result<Effect, Problem> {
    if fields.apis.is_none() {
        let message = "a protocol fault must say which requests: `apis`";
        return Err(written
            .wrong(message)
            .hint("as in apis: [heartbeat], or coordinator, or data"));
    }
    let late = fields.latency.is_some() || fields.latency_jitter.is_some();
    let said = [
        ("behavior", fields.behavior.is_some()),
        ("latency", late),
        ("error", fields.error.is_some()),
    ];
    let mut said = said.into_iter().filter_map(|(key, given)| given.then_some(key));
    let (first, second) = (said.next(), said.next());
    if let (Some(first), Some(second)) = (first, second) {
        let message = format!("a protocol fault has no `{second}` beside `{first}`");
        return Err(Problem::at(written.name(second), message).hint("remove one of the two"));
    }
    if let Some(error) = fields.error {
        if fields.direction.is_some() {
            let message = "an answer goes to the member: it has no `direction`";
            return Err(Problem::at(written.name("direction"), message));
        }
        return Ok(Effect::Answer { code: error.0 });
    }
    match (first, fields.behavior) {
        (_, Some(behavior)) => network::cut(behavior, true, written),
        (Some(_), None) => network::slow(fields, written),
        (None, None) => {
            let message = "a protocol fault must say what happens to the requests";
            Err(written
                .wrong(message)
                .hint("`behavior: drop` or `stall`, a `latency`, or an `error`"))
        }
    }
}
