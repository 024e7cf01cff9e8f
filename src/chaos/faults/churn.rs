//! `churn`: members leave and come back, at times drawn from the seed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::end::NOT_AWAITED;
use super::leave::leave;
use super::stop::stop;
use super::{AnyFault, Fault, Need, Restart, Series, Storm, Targets, Word, Written, written};
use crate::chaos::{Injection, NoInjection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;
use crate::yaml::Problem;

pub(super) const WORD: Word = Word {
    name: "churn",
    noun: "churn",
    aliases: &[],
    class: FaultClass::Leaves,
    targets: Targets::InTurn,
    fields: &["for", "every", "graceful", "restart_after", "overlap_restart"],
    schema: written::schema::<Fields>,
    hint: Word::no_hint,
    read,
    in_storm: None,
    permission: None,
    needs: &[Need::Kill],
    able: "",
};

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// How long the whole series lasts.
    #[serde(rename = "for")]
    lasts: Option<Span>,
    /// The series strikes once in each such period, at a random instant of it.
    every: Option<Span>,
    /// Whether members leave their group before they end (default: `true`).
    graceful: Option<bool>,
    /// When the victims are started again.
    restart_after: Option<Span>,
    /// Whether the restart may come before the dead member's session has expired.
    #[serde(default)]
    overlap_restart: bool,
}

/// Members leave and come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Churn(Storm);

impl Fault for Churn {
    fn describe(&self) -> String {
        self.0.describe()
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        self.0.describe_undo(target, plan)
    }

    fn series(&self) -> Option<Series<'_>> {
        self.0.series()
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(NoInjection)
    }
}

fn read(written: Written<'_>) -> Result<AnyFault, Problem> {
    let fields: Fields = written.fields()?;
    let graceful = fields.graceful.unwrap_or(true);
    if graceful && fields.overlap_restart {
        return Err(Problem::at(written.name("overlap_restart"), NOT_AWAITED)
            .hint("it belongs to `graceful: false`"));
    }
    let restart = Restart { after: fields.restart_after, overlaps: fields.overlap_restart };
    let one = if graceful { leave(restart) } else { stop(restart) };
    let storm = Storm::timed(written, fields.lasts, fields.every, vec![(one, 1)])?;
    Ok(AnyFault::Churn(Churn(storm)))
}
