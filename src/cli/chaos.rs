//! `tandem chaos run`: an experiment from its file to its exit code.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::dry_run::write;
use super::metering::{GrafanaArgs, Metering, MetricsArgs, interval};
use super::parts::parts;
use super::programs::duties_are_there;
use super::progress::Progress;
use super::report::conclude;
use super::sending::{OtlpArgs, Sending};
use super::signals::Interrupt;
use super::{Failure, Output, chaos_on, log_lines, log_to_stderr};
use crate::built::Built;
use crate::chaos::{Allowed, Choice, Permission, Prepared, Preview, is_inside, load, shown};
use crate::guard::{heal_all, runs};
use crate::host::own_program;
use crate::ids::TopologyName;
use crate::journal::{Header, VERSION};
use crate::run::{
    JudgedRun, OnUp, RunError, RunRequest, TrialPlan, run as play_request, run_on_up,
};
use crate::telemetry::Live;
use crate::time::{Mono, Wall};
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
/// Starts the topology's members (and brokers, if a cluster is embedded), runs the experiment's
/// trials, heals all faults, stops everything, and judges the run. Progress goes to standard error,
/// the report to standard output. The output folder has the journal, result.json, junit.xml and
/// report.html, a page for a browser. Ctrl-C ends the run early and heals its faults. If the run is
/// killed, or stopped (Ctrl-Z) for three seconds, its guard undoes everything. What earlier runs
/// left, if they were killed together with their guards, is undone first; see `tandem halt`.
///
/// With --on it starts and stops nothing: the supervisor of `tandem up` injects the faults into its
/// members, within the topology's `limits`, and so that a leader is left. It heals them when this
/// command ends, is killed, or says nothing for three seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem chaos run chaos/kill-leader.yaml
  tandem chaos run chaos/kill-leader.yaml -f topologies/trio.yaml --trials 30
  tandem chaos run chaos/pause-leader.yaml --set defaults.session=300ms -o json
  tandem chaos run chaos/lose-a-cluster.yaml --dry-run
  tandem chaos run chaos/kill-leader.yaml --on duo
  tandem chaos run chaos/kill-leader.yaml --junit reports/kill-leader.xml")]
pub(super) struct RunArgs {
    /// The experiment.
    experiment: PathBuf,
    /// The topology [default: the one that the experiment names, or topologies/duo.yaml].
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// Run it on the topology of this name that `tandem up` keeps up on this machine. The topology
    /// stays up.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["topology", "overrides", "keep"])]
    on: Option<TopologyName>,
    /// Replace one value of the topology; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// The seed of all random choices; the same seed makes the same choices.
    #[arg(long)]
    seed: Option<u64>,
    /// The number of trials, in place of the experiment's `trials` or `until`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: Option<u32>,
    /// The output folder, which must be empty or missing
    /// [default: tandem-out/<experiment>-<time>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print the report.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Also write junit.xml to this file.
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
    /// Print each fault with its targets, its time, its possible cost and how it is undone; start
    /// nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the experiment. Returns the exit code of its verdict.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let settings = args.otlp.settings()?;
    let (interval, grafana) = (interval()?, args.grafana.grafana()?);
    let live = Live::default();
    log_to_stderr(log_lines::OWN, settings.is_some().then(|| live.layer()));
    let choice = Choice {
        topology: args.topology.clone(),
        overrides: args.overrides.clone(),
        trials: args.trials,
        seed: args.seed,
        // A dry run starts nothing, so everything is allowed.
        allowed: match args.dry_run {
            true => Allowed::Everything,
            false => Allowed::by(&[(args.allow_exec, Permission::Exec)]),
        },
    };
    let found = args.on.as_ref().map(chaos_on::find).transpose()?;
    let prepared = match &found {
        Some(found) => chaos_on::load(found, &args.experiment, &choice),
        None => load(&args.experiment, &choice),
    };
    let prepared = prepared.map_err(|error| Failure::text(Exit::Invalid, error.to_string()))?;
    name_shipped(args, &prepared);
    heal_remains();
    if args.dry_run {
        let preview = Preview::of(&prepared, prepared.seed.unwrap_or_else(drawn_seed));
        let written = write(&preview, args.output, &mut super::console::out());
        // A closed pipe (`| head`) is not an error.
        return match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::new(Exit::Unable, &error))
            }
            Ok(()) | Err(_) => Ok(Exit::Pass),
        };
    }
    if found.is_none() {
        duties_are_there(&prepared.plan)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Unable, &error))?;
    let program = own_program();
    let mut request = request(args, prepared, program);
    let listener = args.metrics.bind()?;
    let mut metering =
        Metering::start(&request.header, settings.as_ref(), interval, listener, grafana)?;
    let sending =
        settings.map(|settings| Sending::start(&settings, &request.header, live)).transpose()?;
    request.on_recorder = Sending::on_recorder(sending.as_ref());
    metering.follow(&mut request.on_recorder);
    let on = found.as_ref().map(|found| OnUp { found, exec: args.allow_exec });
    let played = runtime.block_on(play(&request, on.as_ref()));
    // Do not wait for blocking calls of Kafka clients.
    runtime.shutdown_background();
    let judged = played?;
    metering.conclude();
    let junit = args.junit.as_deref();
    Ok(conclude(judged, &request.folder, args.output, junit, sending, metering))
}

/// Prints which files are the shipped ones, in case the user expects files of this folder.
fn name_shipped(args: &RunArgs, prepared: &Prepared) {
    if is_inside(&args.experiment) {
        return;
    }
    let inside = [&prepared.experiment_path, &prepared.topology_path];
    let inside = inside.into_iter().filter(|path| is_inside(path));
    let names: Vec<String> = inside.map(|path| shown(path)).collect();
    if !names.is_empty() {
        // A closed standard error is not an error.
        let names = names.join(", ");
        writeln!(std::io::stderr(), "not in this folder, so shipped files are used: {names}").ok();
    }
}

/// Undoes what is left of runs that were killed together with their guards. Prints a line for each.
pub(super) fn heal_remains() {
    let mut err = super::console::err();
    let healed = heal_all(&runs()).unwrap_or_else(|error| {
        let folder = runs().display().to_string();
        tracing::warn!(%error, folder, "The ledgers of earlier runs cannot be read.");
        Vec::new()
    });
    // A closed standard error is not an error.
    for (name, undone) in healed {
        let left = match undone {
            Ok(undone) => {
                if let Some(done) = undone.describe() {
                    writeln!(err, "undid what {name} had left: {done}").ok();
                }
                undone.left
            }
            Err(error) => vec![error.to_string()],
        };
        if !left.is_empty() {
            let left = left.join("; ");
            writeln!(err, "could not undo what {name} had left: {left}; `tandem halt` tries again")
                .ok();
        }
    }
}

fn request(args: &RunArgs, prepared: Prepared, program: PathBuf) -> RunRequest {
    let (zero, zero_wall) = (Mono::now(), Wall::now());
    let name = format!("{}-{}", prepared.experiment.name, utc(zero_wall));
    let trials = TrialPlan::of(prepared.experiment, &prepared.plan);
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
    let parts = if args.on.is_some() { "to watch the members" } else { parts(&header.plan) };
    let progress = Progress::new(trials.count, parts);
    RunRequest {
        header,
        trials,
        folder: args.out.clone().unwrap_or_else(|| Path::new("tandem-out").join(name)),
        program,
        keep: args.keep,
        on_milestone: Box::new(move |milestone| progress.show(milestone)),
        on_recorder: Box::new(|_| {}),
    }
}

/// A seed from the clock, short enough to type. The journal records it.
pub(super) fn drawn_seed() -> u64 {
    Mono::now().0 % 1_000_000_007
}

/// `20261121T132004.123Z`: sorts by time, and is legal in a file name.
pub(super) fn utc(at: Wall) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    time.strftime("%Y%m%dT%H%M%S%.3fZ").to_string()
}

async fn play(request: &RunRequest, on: Option<&OnUp<'_>>) -> Result<JudgedRun, Failure> {
    let interrupt = Interrupt::default();
    let _signals = interrupt.listen()?;
    let played = match on {
        Some(on) => run_on_up(request, on, interrupt.token()).await,
        None => play_request(request, interrupt.token()).await,
    };
    played.map_err(|error| could_not_run(&error))
}

/// The failure for a [`RunError`]: interrupted, unknown if its journal is incomplete, else unable.
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
