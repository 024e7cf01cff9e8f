//! `clock`: sets a member's wall clock wrong. The member reports its wall clock, and the fault
//! compares it with the true time: a clock fault without effect has failed.

mod shell;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{AnyFault, Fault, Targets, Word, Written, written};
use crate::chaos::cost::{Cost, Hit};
use crate::chaos::words::Ppm;
use crate::chaos::{Injection, Target};
use crate::observation::FaultClass;
use crate::time::{Skew, Span};
use crate::topology::{Mode, Plan};
use crate::yaml::Problem;

pub(super) const WORD: Word = Word {
    name: "clock",
    noun: "clock fault",
    aliases: &[],
    class: FaultClass::Skews,
    targets: Targets::Members,
    fields: &["for", "ahead", "behind", "drift", "step_every"],
    schema: written::schema::<Fields>,
    hint: Word::no_hint,
    read: |written| {
        let fields: Fields = written.fields()?;
        let skew = skew(&fields, written)?;
        Ok(AnyFault::Clock(Clock { skew, lasts: written.lasts(fields.lasts)? }))
    },
    in_storm: None,
    permission: None,
    needs: &[],
    able: "members accept a command that sets their wall clocks",
};

/// The fields of a step.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// How long the fault lasts.
    #[serde(rename = "for")]
    lasts: Option<Span>,
    /// How far the clock is ahead of the true time.
    ahead: Option<Span>,
    /// How far the clock is behind the true time.
    behind: Option<Span>,
    /// How much faster than true time the clock runs: `500ppm`; slower: `-500ppm`.
    drift: Option<Ppm>,
    /// The clock alternates between wrong and right, this long each (default: it stays wrong).
    step_every: Option<Span>,
}

/// A member's wall clock is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    skew: Skew,
    lasts: Span,
}

/// Claims use monotonic time, so a wrong wall clock costs nothing: but in the paper's exclusive
/// mode, where messages are too old for a clock that is ahead, until it is right.
impl Fault for Clock {
    fn describe(&self) -> String {
        format!("the wall clock is {}, for {}", described(self.skew), self.lasts)
    }

    fn describe_undo(&self, _: Option<&Target>, _: &Plan) -> String {
        "the clock is set right".to_owned()
    }

    fn lasts(&self) -> Option<Duration> {
        Some(self.lasts.get())
    }

    fn cost(&self, hit: &Hit<'_>) -> Cost {
        let ahead = self.skew.ahead_ns > 0 || self.skew.drift_ppm > 0;
        if hit.group.pace.mode != Mode::ExclusivePaper || !ahead {
            return Cost::default();
        }
        let age = hit.terms().map_or(Duration::ZERO, |terms| terms.age + terms.clock);
        Cost { gap: self.lasts.get() + age, ..Cost::default() }
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(shell::Shell(self.skew))
    }
}

/// The error of the clock that the fields describe.
fn skew(fields: &Fields, written: Written<'_>) -> Result<Skew, Problem> {
    let ns = |span: Span| i64::try_from(span.get().as_nanos()).unwrap_or(i64::MAX);
    let ahead_ns = match (fields.ahead, fields.behind) {
        (Some(_), Some(_)) => {
            let message = "a clock is `ahead` or `behind`, not both";
            return Err(Problem::at(written.name("behind"), message));
        }
        (Some(ahead), None) => ns(ahead),
        (None, Some(behind)) => -ns(behind),
        (None, None) => 0,
    };
    let drift_ppm = fields.drift.map_or(0, |ppm| ppm.0);
    if ahead_ns == 0 && drift_ppm == 0 {
        let message = "a clock fault must say how wrong the clock is";
        return Err(written.wrong(message).hint("as in ahead: 2s, behind: 2s, or drift: 500ppm"));
    }
    let nanos = |step: Span| u64::try_from(step.get().as_nanos()).unwrap_or(u64::MAX);
    let step = fields.step_every.map(nanos);
    if step == Some(0) {
        let message = "a clock cannot step without a period";
        return Err(Problem::at(written.value("step_every"), message).hint("as in 500ms"));
    }
    Ok(Skew { ahead_ns, drift_ppm, step_ns: step.unwrap_or(0) })
}

fn described(skew: Skew) -> String {
    let by = Span(Duration::from_nanos(skew.ahead_ns.unsigned_abs()));
    let off = match skew.ahead_ns.signum() {
        1 => Some(format!("{by} ahead")),
        -1 => Some(format!("{by} behind")),
        _ => None,
    };
    let drift = match skew.drift_ppm {
        0 => None,
        fast @ 1.. => Some(format!("fast by {fast} ppm")),
        slow => Some(format!("slow by {} ppm", slow.unsigned_abs())),
    };
    let step = Span(Duration::from_nanos(skew.step_ns));
    let step = (skew.step_ns > 0).then(|| format!("alternately wrong and right, {step} each"));
    let parts: Vec<String> = off.into_iter().chain(drift).chain(step).collect();
    parts.join(" and ")
}
