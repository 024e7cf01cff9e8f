//! `tandem chaos run`: an experiment from its file to its exit code.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::dry_run::tell;
use super::metering::{GrafanaArgs, Metering, MetricsArgs, interval};
use super::parts::parts;
use super::progress::Progress;
use super::report::conclude;
use super::sending::{OtlpArgs, Sending};
use super::signals::Interrupt;
use super::{Failure, Output, log_to_stderr};
use crate::built::Built;
use crate::chaos::{Allowed, Choice, Permission, Prepared, Preview, is_inside, load, shown};
use crate::guard::{heal_all, runs};
use crate::journal::{Header, VERSION};
use crate::run::{Order, RunError, TrialPlan, run as run_order};
use crate::telemetry::Live;
use crate::time::{Mono, Span, Wall};
use crate::verdict::Exit;
use crate::yaml::Override;

/// Experiments.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Chaos {
    Run(RunArgs),
    Suite(super::suite::SuiteArgs),
}

/// Run an experiment and measure gaps and overlaps.
///
/// Starts the topology's members (and brokers, where a cluster is embedded), plays the experiment's
/// trials, heals everything, stops everything, and judges. Progress goes to standard error, the
/// report to standard output; journal, result.json, junit.xml and report.html, the page for a
/// browser, are in the output folder. Ctrl-C ends it early, healed. Its guard undoes everything
/// where it is killed, or stopped (Ctrl-Z) for three seconds; what somebody left who killed both is
/// undone first, see `tandem halt`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem chaos run chaos/kill-leader.yaml
  tandem chaos run chaos/kill-leader.yaml -f topologies/trio.yaml --trials 30
  tandem chaos run chaos/pause-leader.yaml --set defaults.session=300ms -o json
  tandem chaos run chaos/lose-a-cluster.yaml --dry-run
  tandem chaos run chaos/kill-leader.yaml --junit reports/kill-leader.xml")]
pub(super) struct RunArgs {
    /// The experiment.
    experiment: PathBuf,
    /// The topology; else the one that the experiment names, else topologies/duo.yaml.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// Replace one value of the topology; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// What every choice is drawn from; the same seed makes the same choices.
    #[arg(long)]
    seed: Option<u64>,
    /// How many trials, instead of the experiment's number or the claim that it goes on for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: Option<u32>,
    /// Where journal, logs and result go: a folder that is empty or does not exist.
    /// Else tandem-out/<experiment>-<time>.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print the report.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Write junit.xml, which is in the output folder as well, to this file.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Leave the topics that were created; `tandem down` removes them.
    #[arg(long)]
    keep: bool,
    /// Let the experiment run the commands that it names (`fault: exec`).
    #[arg(long)]
    allow_exec: bool,
    #[command(flatten)]
    otlp: OtlpArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
    #[command(flatten)]
    grafana: GrafanaArgs,
    /// Say what would be done to whom and when, what that may cost and how it is undone; start
    /// nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the experiment; the exit code of its verdict.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let settings = args.otlp.settings()?;
    let (interval, grafana) = (interval()?, args.grafana.grafana()?);
    let live = Live::default();
    log_to_stderr(settings.is_some().then(|| live.layer()));
    let choice = Choice {
        topology: args.topology.clone(),
        overrides: args.overrides.clone(),
        trials: args.trials,
        seed: args.seed,
        // A dry run does nothing, and shows what there is to be allowed.
        allowed: match args.dry_run {
            true => Allowed::Everything,
            false => Allowed::by(&[(args.allow_exec, Permission::Exec)]),
        },
    };
    let prepared = load(&args.experiment, &choice)
        .map_err(|error| Failure::text(Exit::Invalid, error.to_string()))?;
    tell_shipped(args, &prepared);
    heal_remains();
    if args.dry_run {
        let preview = Preview::of(&prepared, prepared.seed.unwrap_or_else(drawn_seed));
        let told = tell(&preview, args.output, &mut super::console::out());
        // Who stopped reading has seen enough.
        return match told {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Unable, &error))
            }
            Ok(()) | Err(_) => Ok(Exit::Pass),
        };
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Unable, &error))?;
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::Unable, &error))?;
    let mut order = order(args, prepared, program);
    let listener = args.metrics.bind()?;
    let mut metering =
        Metering::start(&order.header, settings.as_ref(), interval, listener, grafana)?;
    let sending =
        settings.map(|settings| Sending::start(&settings, &order.header, live)).transpose()?;
    order.show = Sending::show(sending.as_ref());
    metering.follow(&mut order.show);
    let played = runtime.block_on(play(&order));
    // Whatever a client still waits for, the process does not, least of all when it was
    // interrupted.
    runtime.shutdown_background();
    played?;
    metering.conclude();
    let concluded = conclude(&order.folder, args.output, args.junit.as_deref(), sending, metering);
    concluded.map_err(|error| Failure::new(Exit::Unable, &error))
}

/// Says that files are not those of this folder, where the user may think so.
fn tell_shipped(args: &RunArgs, prepared: &Prepared) {
    if is_inside(&args.experiment) {
        return;
    }
    let inside = [&prepared.experiment_path, &prepared.topology_path];
    let inside = inside.into_iter().filter(|path| is_inside(path));
    let names: Vec<String> = inside.map(|path| shown(path)).collect();
    if !names.is_empty() {
        // Nobody reads it: it is so all the same.
        writeln!(std::io::stderr(), "not in this folder, shipped: {}", names.join(", ")).ok();
    }
}

/// Undoes what runs have left that were killed together with their guards; a line each.
pub(super) fn heal_remains() {
    let mut err = super::console::err();
    let healed = heal_all(&runs()).unwrap_or_else(|error| {
        let folder = runs().display().to_string();
        tracing::warn!(%error, folder, "What earlier runs have left cannot be seen.");
        Vec::new()
    });
    // Nobody reads it: it is healed all the same.
    for (name, undone) in healed {
        let left = match undone {
            Ok(undone) => {
                if let Some(told) = undone.describe() {
                    writeln!(err, "healed what {name} had left: {told}").ok();
                }
                undone.left
            }
            Err(error) => vec![error.to_string()],
        };
        if !left.is_empty() {
            let left = left.join("; ");
            writeln!(err, "not healed, of {name}: {left}; `tandem halt` tries again").ok();
        }
    }
}

fn order(args: &RunArgs, prepared: Prepared, program: PathBuf) -> Order {
    let (zero, zero_wall) = (Mono::now(), Wall::now());
    let name = format!("{}-{}", prepared.experiment.name, utc(zero_wall));
    let threshold = prepared.plan.groups.values().map(|group| group.pace.threshold.get()).max();
    let usual = Span::ms(30_000).get() + 3 * threshold.unwrap_or_default();
    let limits = prepared.experiment.limits.or(prepared.plan.limits);
    let trials = TrialPlan {
        count: prepared.experiment.trials,
        settled: prepared.experiment.steady.settled.get(),
        within: prepared.experiment.recover.map_or(usual, Span::get),
        time_limit: limits.time.map(Span::get),
        experiment: prepared.experiment,
    };
    let header = Header {
        journal: VERSION,
        tandem: env!("CARGO_PKG_VERSION").to_owned(),
        built: Built::this(),
        run: name.clone(),
        zero,
        zero_wall,
        seed: prepared.seed.unwrap_or_else(drawn_seed),
        topology: prepared.topology_text,
        experiment: prepared.experiment_text,
        overrides: prepared.overrides,
        plan: prepared.plan,
        brief: prepared.brief,
        part: None,
    };
    let progress = Progress::new(trials.count, parts(&header.plan));
    Order {
        header,
        trials,
        folder: args.out.clone().unwrap_or_else(|| Path::new("tandem-out").join(name)),
        program,
        keep: args.keep,
        tell: Box::new(move |milestone| progress.tell(milestone)),
        show: Box::new(|_| {}),
    }
}

/// Short enough to be typed again; the clock is chance enough, and the seed is recorded.
pub(super) fn drawn_seed() -> u64 {
    Mono::now().0 % 1_000_000_007
}

/// `20261121T132004.123Z`: sorts as it should, and is legal in a file name.
pub(super) fn utc(at: Wall) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    time.strftime("%Y%m%dT%H%M%S%.3fZ").to_string()
}

async fn play(order: &Order) -> Result<(), Failure> {
    let interrupt = Interrupt::default();
    let _signals = interrupt.listen()?;
    run_order(order, interrupt.token()).await.map_err(|error| could_not_run(&error))
}

/// Unable; interrupted, where it was; or unknown, where it ran and what it showed is not known.
pub(super) fn could_not_run(error: &RunError) -> Failure {
    let exit = if matches!(error, RunError::Interrupted) {
        Exit::Interrupted
    } else if matches!(error, RunError::Unflushed(_)) {
        Exit::Unknown
    } else {
        Exit::Unable
    };
    Failure::new(exit, error)
}
