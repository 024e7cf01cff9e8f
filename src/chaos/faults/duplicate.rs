//! `duplicate`: a member is started a second time. Both processes bear the same name and the same
//! `client.id`, and neither knows of the other; the broker takes the second for one member more,
//! since no member here is a static one whose older self it would fence.
//!
//! The second process is written down as a life of its own, the member's next: what the two claim
//! at once is an overlap like any other. The heal is to send the second one home; one that does not
//! go is killed.

mod shell;

use std::time::Duration;

use super::written::Held;
use super::{AnyFault, Fault, Need, Targets, Word, written};
use crate::chaos::cost::{Cost, Hit, Price};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "duplicate",
    noun: "duplicate",
    aliases: &[],
    class: FaultClass::Duplicates,
    targets: Targets::Members,
    fields: &["for"],
    schema: written::schema::<Held>,
    hint: Word::no_hint,
    read: |written| written.held().map(|lasts| AnyFault::Duplicate(Duplicate { lasts })),
    in_storm: None,
    permission: None,
    needs: &[Need::Kill],
    able: "a second process can be started and ended",
};

/// A second process by the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    lasts: Span,
}

impl Fault for Duplicate {
    fn describe(&self) -> String {
        format!("a second process by the same name and client.id, for {}", self.lasts)
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        "the second process leaves and ends (SIGTERM), or is killed".to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    /// A second process joins as any other does, and leaves again. The first is there all the time.
    fn cost(&self, hit: &Hit<'_>) -> Cost {
        let bounds = &hit.group.bounds;
        hit.total(Price {
            fault: Cost::of(bounds.leave),
            away: self.lasts.get(),
            unled: None,
            moved: Duration::ZERO,
            moved_soon: bounds.restart.overlap.high.get(),
        })
    }

    fn away(&self, _: Duration) -> Duration {
        self.lasts.get()
    }

    /// What it costs that the second one goes begins then.
    fn held(&self) -> Duration {
        self.lasts.get()
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::<shell::Shell>::default()
    }
}
