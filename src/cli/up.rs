//! `tandem up`: keeps a topology up, and watches it all the time.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;

use super::chaos::{could_not_run, drawn_seed, heal_remains, utc};
use super::events::print;
use super::parts::parts;
use super::signals::Interrupt;
use super::terminal::{self, Terminal};
use super::topology_args::TopologyArgs;
use super::up_telemetry::{UpTelemetry, UpTelemetryArgs};
use super::{Failure, Output, log_lines, log_to_stderr};
use crate::built::Built;
use crate::guard::{kept_up, runs};
use crate::journal::{Bounds, Header, VERSION};
use crate::live_view::{Happening, farewell};
use crate::observation::Outcome;
use crate::run::{Ended, Milestone, Service, UpkeepRequest, keep_up};
use crate::status_socket::Source;
use crate::telemetry::Live;
use crate::time::{Mono, Span, Wall};
use crate::topology::{Address, Plan};
use crate::verdict::{Brief, Exit, Limits};

/// How long the last lines may take to be read.
const READS: Duration = Duration::from_secs(1);

/// Keep a topology up: start its members, and verify all the time that each role is led in each
/// group.
///
/// Shows on a terminal who leads what, and each gap as it happens; on a pipe, one line a change, as
/// `tandem events` prints them. A topology is degraded where a group does not lead some role, and
/// down where no group does. `tandem status` and `tandem events` ask it from elsewhere.
///
/// A member that dies is started again each time, after the topology's `restart` (unless it says
/// so, the greater of 2 s and two sessions). The broker of an embedded cluster is at once, where it
/// was; one that would need more than five starts within a minute ends it.
///
/// Ctrl-C (or SIGTERM, SIGHUP, the key q) ends it: members leave. A second one ends it at once; its
/// guard does the rest. `tandem halt --all` ends it too. What happened stands in the journals of
/// the output folder, of which the latest are kept; `tandem report` judges them.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem up -f topologies/trio.yaml
  tandem up --for 1h --out yesterday | grep gap
  tandem up -f topologies/thousand.yaml --journal-size 256 --journal-files 4
  tandem up --metrics 127.0.0.1:9464 --otlp http://127.0.0.1:4318 --window 5m

Exit codes: 0 it was asked to end, or its time is over; 1 could not run; 2 usage or invalid file; 4
could not go on; 6 something could not be healed; 130 ended at once, or before members were
started.")]
pub(super) struct UpArgs {
    #[command(flatten)]
    topology: TopologyArgs,
    /// End by itself after so long; else it goes on until it is asked to end.
    #[arg(long = "for", value_name = "DURATION")]
    lasts: Option<Span>,
    /// Where journals and logs go: a folder that is empty or does not exist.
    /// Else tandem-out/up-<topology>-<time>.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print what happens; as JSON, an object a line, and no page on a terminal.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Leave the topics that were created; `tandem down` removes them.
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    telemetry: UpTelemetryArgs,
    /// How much each journal may hold, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4_096))]
    journal_size: u16,
    /// How many journals are kept.
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=100_000))]
    journal_files: u32,
}

/// Keeps it up until it ends.
pub(super) fn run(args: &UpArgs) -> Result<Exit, Failure> {
    let wanted = args.telemetry.read()?;
    let live = Live::default();
    log_to_stderr(wanted.has_traces().then(|| live.layer()));
    let (plan, text) = args.topology.read_with_text()?;
    heal_remains();
    say_beside(&plan);
    let failed = |error: std::io::Error| Failure::new(Exit::Unable, &error);
    // What members tell comes in many short lines: to wake a second worker for them took a sixth of
    // what a controller at rest takes.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let mut request = request(args, plan, text, program);
    let folder = std::path::absolute(&request.folder).map_err(failed)?;
    let service = Arc::new(Service::new(&request.header, folder));
    let telemetry = UpTelemetry::start(&wanted, &args.telemetry, &request.header, live)?;
    telemetry.follow(&mut request);
    let ended = runtime.block_on(play(args, &request, &service));
    // Whatever a client still waits for, the process does not.
    runtime.shutdown_background();
    let Ended { how, why } = ended?;
    telemetry.finish();
    let exit = match how {
        Outcome::Completed | Outcome::Interrupted => return Ok(Exit::Pass),
        Outcome::Unhealed => Exit::Unhealed,
        // What there was to be seen is not known to its end.
        Outcome::Broken | Outcome::Aborted => Exit::Unknown,
    };
    Err(Failure::text(exit, why.unwrap_or_else(|| "it could not go on".to_owned())))
}

/// A second run on brokers of its own is no mistake, and may be one that is not meant. On brokers
/// that both would share it is refused.
fn say_beside(plan: &Plan) {
    let own = plan.clusters.values().any(|cluster| cluster.address == Address::Embedded);
    for run in kept_up(&runs(), &plan.topology).iter().filter(|_| own) {
        let (topology, ways) = (&plan.topology, run.ways());
        log_lines::say(&format!(
            "another `tandem up` of {topology} goes on beside this one, with brokers and members \
             of its own; {ways}"
        ));
    }
}

fn request(args: &UpArgs, plan: Plan, text: String, program: PathBuf) -> UpkeepRequest {
    let (zero, zero_wall) = (Mono::now(), Wall::now());
    let name = format!("up-{}-{}", plan.topology, utc(zero_wall));
    let header = Header {
        journal: VERSION,
        tandem: env!("CARGO_PKG_VERSION").to_owned(),
        built: Built::this(),
        run: name.clone(),
        zero,
        zero_wall,
        seed: drawn_seed(),
        topology: text,
        experiment: String::new(),
        overrides: args.topology.overrides(),
        brief: brief(&plan),
        plan,
        part: None,
    };
    let (on_page, parts) = (shows_page(args), parts(&header.plan));
    let tell = move |milestone| {
        let text = match milestone {
            Milestone::Starting => format!("starting {parts}"),
            Milestone::Stopping => format!("stopping {parts}"),
            Milestone::Trial { .. } | Milestone::Played { .. } => return,
        };
        if !on_page {
            log_lines::say(&text);
        }
    };
    UpkeepRequest {
        header,
        folder: args.out.clone().unwrap_or_else(|| Path::new("tandem-out").join(name)),
        program,
        keep: args.keep,
        lasts: args.lasts.map(Span::get),
        bounds: Bounds { size: u64::from(args.journal_size) << 20, files: args.journal_files },
        on_milestone: Box::new(tell),
        on_recorder: Box::new(|_| {}),
    }
}

/// The objective alone: no fault is injected, so nothing is known of what one may cost.
fn brief(plan: &Plan) -> Brief {
    let unknown = Limits { gap: None, overlap: None };
    let limits: BTreeMap<_, _> = plan.groups.keys().map(|name| (name.clone(), unknown)).collect();
    Brief {
        until: None,
        disturbed: None,
        experiment: "up".to_owned(),
        trials: 1,
        assertions: Vec::new(),
        objective: plan.objective,
        limits,
        joint: unknown,
    }
}

fn shows_page(args: &UpArgs) -> bool {
    args.output == Output::Text && terminal::is_there()
}

async fn play(
    args: &UpArgs,
    request: &UpkeepRequest,
    service: &Arc<Service>,
) -> Result<Ended, Failure> {
    let interrupt = Interrupt::default();
    let _signals = interrupt.listen()?;
    let kept = keep_up(request, service, interrupt.token());
    if !shows_page(args) {
        let lines = Lines::print(service, args.output)?;
        let ended = kept.await.map_err(|error| could_not_run(&error))?;
        lines.finish();
        return Ok(ended);
    }
    tokio::pin!(kept);
    // The page's log stands among the run's, whose folder must not be there before.
    let log = request.folder.join("logs").join("controller.log");
    let page = tokio::select! {
        biased;
        ended = &mut kept => return ended.map_err(|error| could_not_run(&error)),
        () = exists(log.parent()) => Terminal::start(service, &interrupt, &log),
    };
    let page = page.map_err(|error| Failure::new(Exit::Unable, &error))?;
    let ended = kept.await;
    drop(page);
    if ended.is_ok() {
        // Nobody reads it: no reason to fail.
        drop(write!(super::console::out(), "{}", farewell(&service.picture())));
    }
    ended.map_err(|error| could_not_run(&error))
}

async fn exists(folder: Option<&Path>) {
    while !folder.is_some_and(Path::is_dir) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Prints what happens, on a thread: whoever does not read holds nobody else.
struct Lines {
    done: mpsc::Receiver<()>,
}

impl Lines {
    fn print(service: &Arc<Service>, output: Output) -> Result<Self, Failure> {
        let (_, mut coming) = service.feed();
        let (finished, done) = mpsc::channel();
        let thread = std::thread::Builder::new().name("lines".to_owned());
        let lines = thread.spawn(move || {
            loop {
                match coming.blocking_recv() {
                    Ok(event) => {
                        let last = matches!(event.what, Happening::Ending { .. });
                        if print(output, &event).is_err() || last {
                            break;
                        }
                    }
                    Err(RecvError::Lagged(missed)) => {
                        tracing::warn!(missed, "Events came faster than they were read.");
                    }
                    Err(RecvError::Closed) => break,
                }
            }
            finished.send(()).ok();
        });
        lines.map_err(|error| Failure::new(Exit::Unable, &error))?;
        Ok(Self { done })
    }

    /// Waits for the last line, but not for ever.
    fn finish(self) {
        self.done.recv_timeout(READS).ok();
    }
}
