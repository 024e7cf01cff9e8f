//! `rollout`: restarts every member, one at a time, each once everything has settled again.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::end::By;
use super::leave::leave;
use super::{AnyFault, Fault, Need, Restart, Series, Targets, Word, end, written};
use crate::chaos::{Injection, NoInjection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;

pub(super) const WORD: Word = Word {
    name: "rollout",
    noun: "rollout",
    aliases: &["restart", "rolling"],
    class: FaultClass::Leaves,
    targets: Targets::InTurn,
    fields: &["restart_after"],
    schema: written::schema::<Fields>,
    hint: |field| match field {
        "for" | "every" => {
            Some("it ends once every member has restarted; each waits until all has settled")
        }
        other => end::hint_of_leave(other),
    },
    read: |written| {
        let Fields { restart_after: after } = written.fields()?;
        let restart = Restart { after, overlaps: true };
        Ok(AnyFault::Rollout(Rollout { restart }))
    },
    in_storm: None,
    permission: None,
    needs: &[Need::Kill],
    able: "",
};

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// When each member is started again.
    restart_after: Option<Span>,
}

/// Every member leaves and comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    restart: Restart,
}

impl Fault for Rollout {
    fn describe(&self) -> String {
        "each leaves (SIGTERM) and comes back, once all is settled again".to_owned()
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        end::undo(By::Leave, self.restart, target, plan)
    }

    fn away(&self, usual: Duration) -> Duration {
        self.restart.away(usual)
    }

    fn series(&self) -> Option<Series<'_>> {
        Some(Series::InTurn(leave(self.restart)))
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(NoInjection)
    }
}
