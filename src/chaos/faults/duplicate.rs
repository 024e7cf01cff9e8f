//! `duplicate`: starts a member a second time. Both processes have the same name and `client.id`,
//! and neither knows of the other. The broker treats the second as one more member, because
//! both are dynamic. Two processes of one static member throw each other out: `fits` refuses that.
//!
//! The journal records the second process as the member's next life, so simultaneous claims of the
//! two count as an overlap like any other. The heal stops the second process, and kills it if it
//! does not end.

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

/// A second process with the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    lasts: Span,
}

impl Fault for Duplicate {
    fn describe(&self) -> String {
        format!("a second process with the same name and client.id, for {}", self.lasts)
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        "the second process leaves and ends (SIGTERM), or is killed".to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    /// The second process joins like any member, and leaves again; the first stays all the time.
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

    /// The cost of the second process's leaving begins at the heal.
    fn held(&self) -> Duration {
        self.lasts.get()
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::<shell::Shell>::default()
    }
}
