//! The command line: one file per command, and what they share.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry};

mod apply;
mod broker;
mod capabilities;
mod chaos;
mod chaos_on;
mod compare;
mod complete;
mod console;
mod doctor;
mod down;
mod dry_run;
mod edge;
mod events;
mod exit_codes;
mod export;
mod failure;
mod first_process;
mod guard;
mod halt;
mod hold;
mod init;
mod judged;
mod keeper;
mod limits;
mod log_lines;
mod man;
mod member;
mod metering;
mod notify;
mod parts;
mod plan;
mod programs;
mod progress;
mod report;
mod running;
mod sending;
mod signals;
mod status;
mod suite;
mod supervisor;
mod terminal;
mod topology_args;
mod up;
mod up_again;
mod up_telemetry;
mod upkeep;
pub mod validate;
mod witness;
mod written;

pub use failure::Failure;
pub use suite::summary_schema;

use crate::verdict::Exit;

/// The format of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// Text.
    Text,
    /// JSON, for programs.
    Json,
}

/// Keeps roles led all the time by redundant leader elections on Kafka, breaks them on purpose, and
/// measures how long a role had no leader (a gap) or two leaders (an overlap).
#[derive(Debug, Parser)]
#[command(name = "tandem", version = crate::built::VERSION, max_term_width = 100)]
#[command(after_help = "\
Examples:
  tandem chaos run chaos/kill-leader.yaml               measure what a killed leader costs
  tandem chaos run chaos/kill-leader.yaml -f mine.yaml  the same on your own topology
  tandem up -f mine.yaml                                keep it up, and watch it all the time
  tandem plan -f mine.yaml                              see what would be started, and the bounds
  tandem report tandem-out/RUN                          judge a finished run again
  tandem compare tandem-out/A tandem-out/B              whether the second run is worse
  tandem halt                                           end all experiments, and undo them

Exit codes: 0 pass; 1 could not run; 2 usage or invalid file; 3 verdict fail; 4 verdict unknown;
5 aborted by a limit; 6 something could not be healed; 7 degraded and 8 down (`tandem status`);
130 interrupted.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run experiments: break members on purpose, and measure gaps and overlaps.
    #[command(
        subcommand,
        after_help = "\
Examples:
  tandem chaos run chaos/kill-leader.yaml
  tandem chaos run chaos/twin-kill.yaml --trials 3

Exit codes: those of `tandem chaos run`."
    )]
    Chaos(chaos::Chaos),
    Up(up::UpArgs),
    Apply(apply::ApplyArgs),
    Status(status::StatusArgs),
    Events(events::EventsArgs),
    Plan(plan::PlanArgs),
    Validate(validate::ValidateArgs),
    Doctor(doctor::DoctorArgs),
    Report(report::ReportArgs),
    Compare(compare::CompareArgs),
    Export(export::ExportArgs),
    Down(down::DownArgs),
    Halt(halt::HaltArgs),
    Hold(hold::HoldArgs),
    Init(init::InitArgs),
    Broker(broker::BrokerArgs),
    Member(Box<member::MemberArgs>),
    Completions(complete::CompletionsArgs),
    Man(man::ManArgs),
    /// Undo a run when its controller is gone; started by `chaos run` and `up`.
    #[command(hide = true)]
    Guard,
    /// Keep brokers and members running for `up`, which may end and be started again.
    #[command(hide = true)]
    Supervisor,
    /// Proxy between members and brokers, for network faults; started by `chaos run`.
    #[command(hide = true)]
    Edge,
    #[command(hide = true)]
    Keeper(keeper::KeeperArgs),
    #[command(hide = true)]
    Starter(keeper::StarterArgs),
    #[command(hide = true)]
    Gate(keeper::GateArgs),
    #[command(hide = true)]
    Witness(witness::WitnessArgs),
}

/// The whole command line: every command with its options, examples and exit codes.
#[must_use]
pub fn command() -> clap::Command {
    exit_codes::documented(Cli::command())
}

/// Writes to the standard output. A closed pipe (`| head`) is not an error.
fn print(text: &[u8]) -> Result<Exit, Failure> {
    let mut out = console::out();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Unable, &error))
        }
        Ok(()) | Err(_) => Ok(Exit::Pass),
    }
}

/// Runs the command that the arguments name, and returns the exit code of the process.
#[must_use]
pub fn main() -> ExitCode {
    crate::host::take_name();
    // The controller, the edges and the embedded broker hold several descriptors per member. If
    // this fails, `doctor` reports the limit.
    crate::host::raise_descriptors().ok();
    // If this fails, the end of a child is reported as unknown.
    crate::host::keep_ended_children().ok();
    if first_process::is_first() {
        return ended(first_process::attend().map_err(|error| Failure::new(Exit::Unable, &error)));
    }
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Command::Supervisor = cli.command {
        supervisor::start_log();
    } else if !matches!(cli.command, Command::Chaos(chaos::Chaos::Run(_)) | Command::Up(_)) {
        // These two set up the log themselves, because telemetry adds a layer.
        let theirs = matches!(cli.command, Command::Member(_) | Command::Hold(_));
        log_to_stderr(if theirs { log_lines::ALL } else { log_lines::OWN }, None);
    }
    let (mut out, mut err) = (console::out(), console::err());
    // A closed pipe (`| head`) is not an error.
    let written = |answer: std::io::Result<Exit>| match answer {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Pass),
        answer => answer.map_err(|error| Failure::new(Exit::Unable, &error)),
    };
    let result = match cli.command {
        Command::Plan(args) => written(plan::run(&args, &mut out, &mut err)),
        Command::Validate(args) => written(validate::run(&args, &mut out, &mut err)),
        Command::Chaos(chaos::Chaos::Run(args)) => chaos::run(&args),
        Command::Up(args) => up::run(&args),
        Command::Apply(args) => apply::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Chaos(chaos::Chaos::Suite(args)) => suite::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Completions(args) => complete::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Report(args) => {
            report::run(&args).map_err(|error| Failure::new(Exit::Unable, &error))
        }
        Command::Export(args) => export::run(&args),
        Command::Down(args) => down::run(&args),
        Command::Halt(args) => halt::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Broker(args) => broker::run(&args)
            .map(|()| Exit::Pass)
            .map_err(|error| Failure::new(Exit::Unable, &error)),
        Command::Member(args) => member::run(*args),
        Command::Guard => guard::run(),
        Command::Supervisor => supervisor::run(),
        Command::Edge => edge::run(),
        Command::Keeper(args) => keeper::run(&args),
        Command::Witness(args) => witness::run(&args),
        // These three may end with the exit code of a command of the user.
        Command::Hold(args) => return ended(hold::run(&args)),
        Command::Starter(args) => return ended(Ok(keeper::start(&args))),
        Command::Gate(args) => return ended(Ok(keeper::wait(&args))),
    };
    ended(result.map(Exit::code))
}

/// Prints what failed, and returns the exit code of the process.
fn ended(result: Result<u8, Failure>) -> ExitCode {
    log_lines::finish();
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // A closed standard error does not change the exit code.
            writeln!(console::err(), "{failure}").ok();
            ExitCode::from(failure.exit.code())
        }
    }
}

/// The file for the log while the terminal shows a page.
static ASIDE: Mutex<Option<File>> = Mutex::new(None);

/// Redirects the log into a file, or back to standard error.
fn log_aside(file: Option<File>) {
    *ASIDE.lock().unwrap_or_else(PoisonError::into_inner) = file;
}

/// The current output of the log.
fn log() -> Box<dyn Write> {
    let aside = ASIDE.lock().unwrap_or_else(PoisonError::into_inner);
    match aside.as_ref().map(File::try_clone) {
        Some(Ok(file)) => Box::new(file),
        Some(Err(_)) | None => Box::new(console::err()),
    }
}

/// Logs to standard error what `RUST_LOG` selects, or else the filter.
fn log_to_stderr(filter: &str, more: Option<Box<dyn Layer<Registry> + Send + Sync>>) {
    log_to(log, filter, more);
}

/// Logs to `out` what `RUST_LOG` selects, or else the filter.
fn log_to(
    out: fn() -> Box<dyn Write>,
    filter: &str,
    more: Option<Box<dyn Layer<Registry> + Send + Sync>>,
) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    log_lines::start(out);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(log_lines::line)
        .with_ansi(!plain && std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .with_target(false)
        .with_filter(filter);
    tracing_subscriber::registry().with(more).with(lines).init();
}
