//! `tandem chaos suite`: runs several experiments in sequence, with one folder, one summary and one
//! exit code.
//!
//! Each experiment is a `tandem chaos run` in a process of its own, so that a failure does not
//! affect the others. Each has an output folder of its own; the suite only summarises.

mod child;
mod list;
mod summary;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use child::{Child, Signals};
use list::{Item, Passed, list};
use summary::{Lasted, Row, Summary, worst};

use super::judged::JUNIT_FILE;
use super::metering::MetricsArgs;
use super::sending::OtlpArgs;
use super::{Failure, Output};
use crate::chaos::shown;
use crate::guard::{enter_suite, suites_at};
use crate::host::own_program;
use crate::time::{Mono, Wall};
use crate::verdict::Exit;
use crate::yaml::Override;

/// Run several experiments, one after the other, and summarise the results.
///
/// SUITE is a folder, for every experiment in it in order of name, or a suite file, which lists
/// experiments with topologies and trials. All files are checked before anything is started. Each
/// run has a folder of its own in the output folder, beside summary.txt, suite.json and, for CI,
/// junit.xml. Ctrl-C and `tandem halt` heal and end the current run, and end the suite.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem chaos suite chaos/suites/shipped.yaml
  tandem chaos suite chaos/suites/shipped.yaml --out /tmp/suite -o json
  tandem chaos suite my-experiments -f mine.yaml -f theirs.yaml --trials 2
  tandem chaos suite chaos/suites/shipped.yaml --set defaults.session=300ms --metrics 127.0.0.1:9464

Exit codes: that of its worst run, in the order 6, 130, 5, 3, 4, 1, 0. An experiment that cannot run
here (its brokers do not run, or it does not fit the topology of -f) counts as 1, or with
--skip-unable as 0. 2: a file is invalid, and nothing was started.")]
pub(super) struct SuiteArgs {
    /// A folder of experiments, or a suite file.
    suite: PathBuf,
    /// The topology, in place of those in the experiments or the suite; can be repeated, and each
    /// experiment then runs on each topology.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topologies: Vec<PathBuf>,
    /// The number of trials of each run, in place of those in the experiments or the suite.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    trials: Option<u32>,
    /// The seed of all random choices of every run.
    #[arg(long)]
    seed: Option<u64>,
    /// Replace one value of every topology; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// The output folder, which must be empty or missing [default: tandem-out/suite-<time>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print the summary.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Do not count experiments that cannot run here as failures; the summary still lists them.
    #[arg(long)]
    skip_unable: bool,
    /// Let the experiments run the commands that they name (`fault: exec`).
    #[arg(long)]
    allow_exec: bool,
    #[command(flatten)]
    otlp: OtlpArgs,
    #[command(flatten)]
    metrics: MetricsArgs,
}

/// The schema of suite.json, and of the output of `-o json`.
#[must_use]
pub fn summary_schema() -> schemars::Schema {
    schemars::schema_for!(Summary)
}

/// Runs all experiments. Returns the worst of their exit codes.
pub(super) fn run(args: &SuiteArgs) -> Result<Exit, Failure> {
    let passed = Passed {
        trials: args.trials,
        seed: args.seed,
        overrides: &args.overrides,
        allow_exec: args.allow_exec,
        more: args.otlp.passed().into_iter().chain(args.metrics.passed()).collect(),
    };
    // Fail before the first run if the settings for telemetry are invalid.
    args.otlp.settings()?;
    let items = list(&args.suite, &args.topologies, &passed)
        .map_err(|error| Failure::text(Exit::Invalid, error))?;
    let failed = |error: std::io::Error| Failure::new(Exit::Unable, &error);
    let out = args.out.clone().unwrap_or_else(|| {
        Path::new("tandem-out").join(format!("suite-{}", super::chaos::utc(Wall::now())))
    });
    prepare(&out)?;
    // From here on, `tandem halt` ends the suite, and not only its current run.
    let topologies = items.iter().filter_map(|item| item.planned.clone()).collect();
    let _entered = enter_suite(&suites_at(), &out, topologies).map_err(|error| {
        let at = suites_at();
        Failure::text(Exit::Unable, format!("cannot write to {}: {error}", at.display()))
    })?;
    let signals = Signals::listen().map_err(failed)?;
    let program = own_program();
    let (mut err, mut rows) = (super::console::err(), Vec::new());
    for (number, item) in (1..).zip(&items) {
        // A closed standard error is not an error.
        writeln!(err, "{number} of {}: {item}", items.len()).ok();
        let row = if signals.interrupted() {
            Row::unplayed(item)
        } else {
            let folder = out.join(format!("{number:02}-{}", item.name()));
            let (began, began_wall) = (Mono::now(), Wall::now());
            let outcome = match &item.unable {
                Some(why) => Ok((Exit::Unable, why.clone())),
                None => Child::start(&program, item, &passed, &folder)
                    .map(|child| child.finish(&signals)),
            };
            let (code, why) = outcome.unwrap_or_else(|error| (Exit::Unable, error.to_string()));
            let lasted = Mono::now().since(began);
            Row::of(item, &folder, (code, why), Lasted { began: began_wall, lasted })
        };
        writeln!(err, "{}", row.line()).ok();
        rows.push(row);
    }
    let summary = Summary::new(rows, signals.interrupted(), args.skip_unable);
    let json = summary.json().map_err(|error| Failure::new(Exit::Unable, &error))?;
    let text = summary.to_string();
    let xml =
        summary.junit(args.skip_unable).map_err(|error| Failure::new(Exit::Unable, &error))?;
    let shown = match args.output {
        Output::Text => format!("{text}files  {}\n", out.display()),
        Output::Json => json.clone(),
    };
    // First: a disk may be full. A closed pipe (`| head`) is not an error.
    super::console::out().write_all(shown.as_bytes()).ok();
    let mut code = summary.code;
    for (name, text) in [("suite.json", &json), ("summary.txt", &text), (JUNIT_FILE, &xml)] {
        let path = out.join(name);
        if let Err(error) = fs::write(&path, text) {
            writeln!(err, "cannot write {}: {error}", path.display()).ok();
            code = worst([code, Exit::Unable]);
        }
    }
    Ok(code)
}

/// Creates the output folder, which must be empty or missing, because nothing is overwritten.
fn prepare(out: &Path) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| {
        Failure::text(Exit::Unable, format!("cannot write to {}: {error}", out.display()))
    };
    fs::create_dir_all(out).map_err(cannot)?;
    if fs::read_dir(out).map_err(cannot)?.next().is_some() {
        let what = "is not empty: name another folder with --out, or remove it";
        return Err(Failure::text(Exit::Unable, format!("{} {what}", out.display())));
    }
    Ok(())
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", shown(&self.experiment))?;
        match &self.topology {
            Some(topology) => write!(f, " on {}", shown(topology)),
            None => Ok(()),
        }
    }
}
