//! `noop`: does nothing, for the control trial.

mod shell;

use std::time::Duration;

use super::written::Held;
use super::{AnyFault, Fault, Targets, Word, written};
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "noop",
    noun: "noop",
    aliases: &[],
    class: FaultClass::Nothing,
    targets: Targets::None,
    fields: &["for"],
    schema: written::schema::<Held>,
    hint: Word::no_hint,
    read: |written| written.held().map(|lasts| AnyFault::Noop(Noop { lasts })),
    in_storm: None,
    permission: None,
    needs: &[],
    able: "it does nothing",
};

/// Nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noop {
    lasts: Span,
}

impl Fault for Noop {
    fn describe(&self) -> String {
        format!("nothing, for {}", self.lasts)
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        "there is nothing to undo".to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(shell::Shell)
    }
}
