//! `pause`: SIGSTOP, and SIGCONT as its heal. A pause longer than the session makes zombies:
//! members that wake and still hold their earlier claims.

mod shell;

use std::time::Duration;

use super::written::Held;
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
    schema: written::schema::<Held>,
    hint: Word::no_hint,
    read: |written| written.held().map(|lasts| AnyFault::Pause(Pause { lasts })),
    in_storm: Some(InStorm::Held(|lasts| AnyFault::Pause(Pause { lasts }))),
    permission: None,
    needs: &[Need::Stop],
    able: "",
};

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
        "SIGCONT to what was stopped".to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        let bounds = &hit.group.bounds;
        // The group has expired the paused member, so it rejoins when it wakes.
        let moved = hit.moved_again();
        let unled = Some(self.lasts.get());
        let fault = Cost::of(hit.unsuspected(self.lasts.get()).unwrap_or(bounds.pause));
        hit.total(Price { fault, away: Duration::ZERO, unled, moved, moved_soon: moved })
    }

    fn of_brokers(&self) -> Option<(How, Span)> {
        Some((How::Pause, self.lasts))
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(shell::Shell)
    }
}
