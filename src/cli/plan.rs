//! `tandem plan`: prints the plan of a topology, without starting anything.

use std::io::{self, Write};
use std::path::PathBuf;

use super::Output;
use super::topology_args::TopologyArgs;
use crate::statistics::binomial::{trials_needed, upper};
use crate::time::Span;
use crate::topology::Page;
use crate::verdict::{Brief, Exit};

/// The confidence level of the statements.
const CONFIDENCE: f64 = 0.95;
/// The share of trials with a joint gap for which the needed number of trials is printed.
const RARE: f64 = 0.01;

/// Show the plan of a topology: names, partitions, load, and what each fault may cost.
///
/// Computes everything from the file; starts nothing and asks no broker. Warnings name what groups
/// share, and unwise sizes or time settings.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  tandem plan
  tandem plan -f topologies/trio.yaml --set defaults.session=300ms
  tandem plan -x chaos/isolate-leader.yaml
  tandem plan -f topologies/solo.yaml -o json")]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub topology: TopologyArgs,
    /// Plan for this experiment, and show what it may cost.
    #[arg(short = 'x', long, value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// How to print it.
    #[arg(short = 'o', long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Writes the plan to `out`, or the errors in the file to `err`. Returns the exit code.
///
/// # Errors
/// `out` or `err` cannot be written.
pub(super) fn run(args: &PlanArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let read = match &args.experiment {
        None => args.topology.read_to_show().map(|plan| (plan, None)),
        Some(path) => args.topology.read_for(path).map(|it| (it.plan, Some(it.brief))),
    };
    match read {
        Ok((plan, brief)) => {
            match args.output {
                Output::Text => {
                    write!(out, "{}", Page(&plan))?;
                    brief.map_or(Ok(()), |brief| costs(&brief, out))?;
                }
                Output::Json => {
                    serde_json::to_writer_pretty(&mut *out, &plan)?;
                    writeln!(out)?;
                }
            }
            Ok(Exit::Pass)
        }
        Err(error) => {
            writeln!(err, "{error}")?;
            Ok(Exit::Invalid)
        }
    }
}

/// Writes what the experiment may cost.
fn costs(brief: &Brief, out: &mut dyn Write) -> io::Result<()> {
    let ms = |limit: Option<Span>| {
        limit.map_or("no bound is known".to_owned(), |limit| limit.get().as_millis().to_string())
    };
    writeln!(out, "\nwhat {} may cost, ms\n  {:<13}{:<19}overlap", brief.experiment, "", "gap")?;
    let groups = brief.limits.iter().map(|(name, limits)| (format!("group {name}"), limits));
    for (name, limits) in groups.chain([("joint".to_owned(), &brief.joint)]) {
        writeln!(out, "  {name:<13}{:<19}{}", ms(limits.gap), ms(limits.overlap))?;
    }
    describe(brief, out)
}

/// Writes what its trials can show.
fn describe(brief: &Brief, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nwhat its trials can show")?;
    if let Some(until) = &brief.until {
        return writeln!(out, "  {until}: {}", until.describe());
    }
    let trials = brief.trials;
    if let Some(most) = upper(0, u64::from(trials), CONFIDENCE) {
        let (many, most) = (if trials == 1 { "" } else { "s" }, most * 100.0);
        let so_many = format!("{trials} trial{many} without a joint gap");
        writeln!(out, "  {so_many}: at most {most:.1} % of such trials have one (95 %)")?;
    }
    match trials_needed(RARE, CONFIDENCE) {
        Some(needed) => writeln!(out, "  {needed} without one: fewer than 1 %"),
        None => Ok(()),
    }
}
