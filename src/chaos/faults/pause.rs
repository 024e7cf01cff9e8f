//! `pause`: SIGSTOP, and SIGCONT as its heal. Longer than the session, it makes zombies: members
//! that wake and believe what they believed before.

mod shell;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{AnyFault, Fault, How, InStorm, Need, Targets, Word, written};
use crate::chaos::cost::{Cost, Hit, Price};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "pause",
    noun: "pause",
    aliases: &[],
    class: FaultClass::Pauses,
    targets: Targets::Processes,
    fields: &["for"],
    schema: written::schema::<Fields>,
    hint: Word::no_hint,
    read: |written| {
        let fields: Fields = written.fields()?;
        Ok(Pause { lasts: written.lasts(fields.lasts)? }.into())
    },
    in_storm: Some(InStorm::Held(|lasts| AnyFault::from(Pause { lasts }))),
    permission: None,
    needs: &[Need::Stop],
    able: "",
};

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// For how long: all but what ends with a restart; a broker only where it is paused; a storm,
    /// or churn, as a whole.
    #[serde(rename = "for")]
    lasts: Option<Span>,
}

/// SIGSTOP, and SIGCONT later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    lasts: Span,
}

impl Fault for Pause {
    fn describe(&self) -> String {
        format!("SIGSTOP, for {}", self.lasts)
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        "whoever was stopped is woken by SIGCONT".to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        let bounds = &hit.group.bounds;
        // Who wakes has been given up for dead, and joins again.
        let moved = bounds.leave.gap.high.get();
        let nobody = Some(self.lasts.get());
        let fault = Cost::of(bounds.pause);
        hit.total(Price { fault, away: Duration::ZERO, nobody, moved, moved_soon: moved })
    }

    fn of_brokers(&self) -> Option<(How, Span)> {
        Some((How::Pause, self.lasts))
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(shell::Shell)
    }
}
