//! `tandem chaos run --dry-run`: prints what a run would do.

use std::fmt;
use std::io::{self, Write};

use super::Output;
use crate::chaos::{Preview, StepCost, StepPreview, StrikePreview};
use crate::ids::MemberId;
use crate::time::Span;
use crate::verdict::Limits;

/// Writes the preview to `out`.
///
/// # Errors
/// `out` cannot be written.
pub(super) fn write(preview: &Preview, output: Output, out: &mut dyn Write) -> io::Result<()> {
    match output {
        Output::Text => write!(out, "{}", Page(preview)),
        Output::Json => {
            serde_json::to_writer_pretty(&mut *out, preview)?;
            writeln!(out)
        }
    }
}

struct Page<'a>(&'a Preview);

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = self.0;
        let trials =
            if run.trials == 1 { "1 trial".to_owned() } else { format!("{} trials", run.trials) };
        let trials = match &run.until {
            Some(until) => format!("{} to {trials}", until.trials_min),
            None => trials,
        };
        let Preview { experiment, topology, seed, .. } = run;
        writeln!(f, "{experiment} on {topology}: {trials}, seed {seed}; nothing was started")?;
        writeln!(f, "\nwould start")?;
        for line in &run.starts {
            writeln!(f, "  {line}")?;
        }
        for step in &run.steps {
            Self::step(f, step)?;
        }
        writeln!(f, "\nschedule by the seed, if all members run and lead")?;
        for trial in &run.schedule {
            writeln!(f, "  trial {}", trial.trial)?;
            for strike in &trial.strikes {
                Self::strike(f, strike)?;
            }
        }
        let shown = u32::try_from(run.schedule.len()).unwrap_or(u32::MAX);
        if shown < run.trials {
            writeln!(f, "  and {} more", run.trials - shown)?;
        }
        writeln!(f, "\nmaximum cost, ms\n  {:<14}{:<10}overlap", "", "gap")?;
        for (group, limits) in &run.bounds {
            Self::limits(f, group.as_str(), limits)?;
        }
        Self::limits(f, "joint", &run.joint)?;
        if !run.assertions.is_empty() {
            writeln!(f, "\nclaims")?;
        }
        for assertion in &run.assertions {
            writeln!(f, "  {assertion}")?;
        }
        if let Some(until) = &run.until {
            writeln!(f, "\ngoes on until\n  {}: {}", until.claim, until.looks)?;
        }
        if let Some(rule) = &run.disturbed {
            let (stall, more) = (rule.stall, rule.replace);
            let trials = format!("trials in which the host stalls for more than {stall}");
            writeln!(f, "\ncounts apart\n  {trials}; at most {more} replace them")?;
        }
        if let Some(condition) = &run.stop_when {
            writeln!(f, "\nstops when\n  {condition}")?;
        }
        Ok(())
    }
}

/// What a step may cost a group, as one line.
struct Costs(StepCost);

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |span: Span| span.get().as_millis();
        let most = |noun: &str, span: Option<Span>| match span {
            None => format!("an unknown {noun}"),
            Some(span) if span.get().is_zero() => format!("no {noun}"),
            Some(span) => format!("{noun} up to {} ms", ms(span)),
        };
        let StepCost { gap, overlap, of_return } = self.0;
        write!(f, "{}, {}", most("gap", gap), most("overlap", overlap))?;
        match overlap.and_then(|all| all.get().checked_sub(of_return.get())) {
            Some(fault) if !of_return.get().is_zero() => {
                let (fault, back) = (fault.as_millis(), ms(of_return));
                write!(f, " ({fault} by the fault, {back} when the victims come back)")
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Page<'_> {
    fn step(f: &mut fmt::Formatter<'_>, step: &StepPreview) -> fmt::Result {
        writeln!(f, "\nstep {}: {}, {}", step.step, step.fault, step.due)?;
        writeln!(f, "  does    {}", step.does)?;
        if let Some(to) = &step.to {
            writeln!(f, "  to      {to}")?;
        }
        match step.candidates.as_slice() {
            [] => {}
            [first, second, .., last] if step.candidates.len() > 8 => {
                writeln!(
                    f,
                    "          among {first}, {second} to {last} ({})",
                    step.candidates.len()
                )?;
            }
            few => {
                let names: Vec<&str> = few.iter().map(MemberId::as_str).collect();
                writeln!(f, "          among {}", names.join(", "))?;
            }
        }
        if let Some(costs) = step.costs {
            writeln!(f, "  costs   {}", Costs(costs))?;
        }
        writeln!(f, "  undone  {}", step.undo)
    }

    fn strike(f: &mut fmt::Formatter<'_>, strike: &StrikePreview) -> fmt::Result {
        let due = match (&strike.once_settled, &strike.after) {
            (Some(before), _) => format!("{before} settled"),
            (None, None) => format!("{} ms", strike.delay_ms),
            (None, Some(step)) => format!("{step} + {} ms", strike.delay_ms),
        };
        let to = strike.to.as_deref().unwrap_or("no target");
        let to = strike.fault.map_or_else(|| to.to_owned(), |fault| format!("{fault} {to}"));
        writeln!(f, "    {:<10}{due:<16}{to}", strike.step.as_str())
    }

    fn limits(f: &mut fmt::Formatter<'_>, name: &str, limits: &Limits) -> fmt::Result {
        let ms = |span: Option<Span>| match span {
            None => "unknown".to_owned(),
            Some(span) => span.get().as_millis().to_string(),
        };
        writeln!(f, "  {name:<14}{:<10}{}", ms(limits.gap), ms(limits.overlap))
    }
}
