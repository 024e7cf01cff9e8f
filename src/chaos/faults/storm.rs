//! `storm`: faults drawn from the seed, on members drawn from the seed.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    AnyFault, Fault, InStorm, Kind, Need, Restart, Series, Targets, Word, Written, written,
};
use crate::chaos::words::Weights;
use crate::chaos::{Injection, NoInjection, Target};
use crate::observation::FaultClass;
use crate::time::Span;
use crate::topology::Plan;
use crate::yaml::{Problem, choices};

/// The most strikes of one step; for more, repeat the trial.
const ROUNDS_MOST: u32 = 1_000;
const WEIGHT_MOST: u32 = 1_000;

pub(super) const WORD: Word = Word {
    name: "storm",
    noun: "storm",
    aliases: &[],
    class: FaultClass::Other,
    targets: Targets::InTurn,
    fields: &["for", "every", "faults", "hold", "restart_after", "overlap_restart"],
    schema: written::schema::<Fields>,
    hint: Word::no_hint,
    read,
    in_storm: None,
    permission: None,
    needs: &[Need::Kill, Need::Stop],
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
    /// The faults to draw from, each with its weight: `{kill: 3, pause: 1}`.
    faults: Option<Weights>,
    /// How long each pause or partition lasts.
    hold: Option<Span>,
    /// When the victims are started again.
    restart_after: Option<Span>,
    /// Whether the restart may come before the dead member's session has expired.
    #[serde(default)]
    overlap_restart: bool,
}

/// A series of strikes drawn from the seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storm {
    /// How long the series lasts.
    pub lasts: Span,
    /// One strike in each such period, at a random instant of it.
    pub every: Span,
    /// The faults to draw from, each with its weight.
    pub faults: Vec<(AnyFault, u32)>,
}

impl Fault for Storm {
    fn describe(&self) -> String {
        let all: u64 = self.faults.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let part = |(fault, weight): &(AnyFault, u32)| {
            let share = if self.faults.len() == 1 {
                String::new()
            } else {
                format!(" ({weight} of {all})")
            };
            format!("{}{share}", fault.kind().as_str())
        };
        let parts: Vec<String> = self.faults.iter().map(part).collect();
        let (every, lasts) = (self.every, self.lasts);
        format!("one in each {every}, at a random instant of it, for {lasts}: {}", parts.join(", "))
    }

    fn describe_undo(&self, target: Option<&Target>, plan: &Plan) -> String {
        let undone = self.faults.iter().map(|(fault, _)| fault.describe_undo(target, plan));
        let undone: BTreeSet<String> = undone.collect();
        undone.into_iter().collect::<Vec<_>>().join("; ")
    }

    fn series(&self) -> Option<Series<'_>> {
        Some(Series::Drawn(self))
    }

    fn injection(&self) -> Box<dyn Injection> {
        Box::new(NoInjection)
    }
}

impl Storm {
    /// The most strikes.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        let rounds = self.lasts.get().as_nanos() / self.every.get().as_nanos().max(1);
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    /// A series with one strike per `every`.
    pub(super) fn timed(
        written: Written<'_>,
        lasts: Option<Span>,
        every: Option<Span>,
        faults: Vec<(AnyFault, u32)>,
    ) -> Result<Self, Problem> {
        let lasts = written.lasts(lasts)?;
        let some = |every: &Span| !every.get().is_zero();
        let Some(every) = every.filter(some) else {
            let message = format!("a {} must say how often: `every`", written.noun());
            return Err(written.wrong(message).hint("as in every: 3s"));
        };
        let storm = Self { lasts, every, faults };
        let origin = written.value("every");
        match storm.rounds() {
            0 => {
                let message = format!("no period of {every} fits into {lasts}");
                Err(Problem::at(origin, message))
            }
            rounds if rounds > ROUNDS_MOST => {
                let message = format!("that is {rounds} strikes; a step has at most {ROUNDS_MOST}");
                Err(Problem::at(origin, message).hint("repeat the trial"))
            }
            _ => Ok(storm),
        }
    }
}

/// A storm of the faults that the step names.
fn read(written: Written<'_>) -> Result<AnyFault, Problem> {
    let fields: Fields = written.fields()?;
    let weights = fields.faults.iter().flat_map(|weights| &weights.0);
    let (mut faults, mut held) = (Vec::new(), false);
    for (&kind, &weight) in weights {
        let origin = written.place.key("faults").key(kind.as_str()).origin();
        if !(1..=WEIGHT_MOST).contains(&weight) {
            let message = format!("a weight is a number from 1 to {WEIGHT_MOST}, not {weight}");
            return Err(Problem::at(origin, message));
        }
        held |= matches!(kind.word().in_storm, Some(InStorm::Held(_)));
        faults.push((strike(kind, &fields, written)?, weight));
    }
    if faults.is_empty() {
        let message = "a storm must say which faults it draws from: `faults`";
        return Err(written.wrong(message).hint("as in faults: {kill: 3, leave: 1}"));
    }
    if fields.hold.is_some() && !held {
        let message = "this storm has no fault that `hold` applies to";
        return Err(Problem::at(written.name("hold"), message)
            .hint("it applies to `pause` and `partition`"));
    }
    Storm::timed(written, fields.lasts, fields.every, faults).map(AnyFault::Storm)
}

/// One strike of a storm.
fn strike(kind: Kind, fields: &Fields, written: Written<'_>) -> Result<AnyFault, Problem> {
    let place = written.place.key("faults").key(kind.as_str());
    match kind.word().in_storm {
        Some(InStorm::Ends(end)) => {
            let (after, overlaps) = (fields.restart_after, fields.overlap_restart);
            Ok(end(Restart { after, overlaps }))
        }
        Some(InStorm::Held(hold)) => {
            let Some(lasts) = fields.hold.filter(|hold| !hold.get().is_zero()) else {
                let noun = kind.word().noun;
                let message = format!("a {noun} must say how long it lasts: `hold`");
                return Err(
                    Problem::at(place.origin(), message).hint("as in hold: 2s, beside `faults`")
                );
            };
            Ok(hold(lasts))
        }
        None => {
            let message = format!("a storm cannot inject `{}`", kind.as_str());
            let hint = choices(kind.as_str(), Kind::stormy().map(Kind::as_str));
            Err(Problem::at(place.name(), message).hint(hint))
        }
    }
}
