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
use super::up_again::{adopt, found};
use super::up_telemetry::{UpTelemetry, UpTelemetryArgs};
use super::{Failure, Output, log_lines, log_to_stderr, notify, programs};
use crate::built::Built;
use crate::guard::{kept_up, runs};
use crate::host::own_program;
use crate::journal::{Bounds, Header, VERSION};
use crate::live_view::{Happening, farewell};
use crate::observation::Outcome;
use crate::run::{Ended, Milestone, Service, UpkeepRequest, keep_up, observe};
use crate::status_socket::Source;
use crate::telemetry::Live;
use crate::time::{Mono, Span, Wall};
use crate::topology::{Address, Plan, PlannedGroup};
use crate::verdict::{Brief, Exit, Limits};

/// The size of each journal in MiB, and how many are kept, by default.
const JOURNAL_SIZE: u16 = 64;
const JOURNAL_FILES: u32 = 16;
/// How long the last lines may take to be printed.
const READS: Duration = Duration::from_secs(1);

/// Keep a topology up: start its members, and verify all the time that each role is led in each
/// group.
///
/// On a terminal, it shows the leaders of each role, and each gap as it happens. On a pipe, it
/// prints one line per change, as `tandem events` does. A topology is degraded if some group does
/// not lead some role, and down if no group leads some role. `tandem status` and `tandem events`
/// show the same from another process.
///
/// A member that dies is restarted after the topology's `restart` (default: the greater of 2 s and
/// two sessions). An embedded broker that dies is restarted at once, at the same address; if it
/// needs more than five starts within a minute, `up` ends.
///
/// A supervisor, a process of its own, starts and restarts brokers and members, and writes the
/// journal. If `up` is killed, members go on, and `up` with the same file and options watches them
/// again and counts on. With --replace it takes the place of an `up` that runs, so that another
/// version verifies what one has started.
///
/// Members of a group with `launch: external` are programs of yours (`tandem hold`). They write
/// their facts to a topic on each cluster of the topology, TOPOLOGY-facts, from where `up` reads
/// them. With --observe it does only that: it starts and creates nothing, and any number of
/// observers may run. Of members that have another clock, those on other machines, it knows only
/// that they are there.
///
/// Ctrl-C (or SIGTERM, the key q, or SIGHUP without nohup) ends it: the members leave. A second
/// Ctrl-C ends it and its supervisor at once, and the guard undoes the rest. `tandem down NAME`,
/// with the name of the topology, ends it, too, whether or not an `up` runs. The output folder has
/// the latest journals; `tandem report` judges them.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem up -f topologies/trio.yaml
  tandem up --for 1h --out yesterday | grep gap
  tandem up -f topologies/thousand.yaml --journal-size 256 --journal-files 4
  tandem up --metrics 127.0.0.1:9464 --otlp http://127.0.0.1:4318 --window 5m
  tandem up -f topologies/held.yaml --observe
  tandem up -f topologies/trio.yaml --replace

Exit codes: 0 it was asked to end, or its time is over; 1 could not run; 2 usage or invalid file; 4
could not continue; 6 something could not be healed; 130 ended at once, or before members were
started.")]
pub(super) struct UpArgs {
    #[command(flatten)]
    topology: TopologyArgs,
    /// End after this time [default: run until it is asked to end].
    #[arg(long = "for", value_name = "DURATION")]
    lasts: Option<Span>,
    /// The output folder for journals and logs, which must be empty or missing
    /// [default: tandem-out/up-<topology>-<time>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How to print events; as JSON, one object per line, and no page on a terminal.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Leave the topics that were created; `tandem down` removes them.
    #[arg(long)]
    keep: bool,
    /// Only observe the groups with `launch: external`: start nothing, create nothing, and read the
    /// facts of their members. Any number of observers may run.
    #[arg(long, conflicts_with = "keep")]
    observe: bool,
    /// Take the place of another `tandem up` of this topology, which ends; members go on.
    #[arg(long, conflicts_with = "observe")]
    replace: bool,
    #[command(flatten)]
    telemetry: UpTelemetryArgs,
    /// The maximum size of each journal, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = JOURNAL_SIZE)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4_096))]
    journal_size: u16,
    /// How many journals to keep.
    #[arg(long, value_name = "N", default_value_t = JOURNAL_FILES)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=100_000))]
    journal_files: u32,
}

impl UpArgs {
    /// Whether it has options for the supervisor, which takes them when it starts.
    const fn charges(&self) -> bool {
        self.out.is_some()
            || self.lasts.is_some()
            || self.keep
            || self.journal_size != JOURNAL_SIZE
            || self.journal_files != JOURNAL_FILES
    }
}

/// Keeps it up until it ends.
pub(super) fn run(args: &UpArgs) -> Result<Exit, Failure> {
    let wanted = args.telemetry.read()?;
    let live = Live::default();
    log_to_stderr(log_lines::OWN, wanted.has_traces().then(|| live.layer()));
    let (mut plan, text) = args.topology.read_with_text()?;
    if args.observe {
        observed(&mut plan)?;
    } else {
        programs::duties_are_there(&plan)?;
        heal_remains();
    }
    let failed = |error: std::io::Error| Failure::new(Exit::Unable, &error);
    // Members write many short lines. With a second worker, waking it took a sixth of the CPU time
    // of an idle controller.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(failed)?;
    let program = own_program();
    let supervisor =
        if args.observe { None } else { runtime.block_on(found(&plan, args.replace))? };
    let mut request = request(args, plan, text, program);
    let interrupt = Interrupt::default();
    let with_it = interrupt.clone();
    request.on_supervisor = Box::new(move |pid| with_it.also_ends(pid));
    match supervisor {
        Some(adopted) => adopt(&mut request, adopted, args.charges()),
        None if args.observe => {}
        None => say_beside(&request.header.plan),
    }
    let folder = std::path::absolute(&request.folder).map_err(failed)?;
    let service = Arc::new(Service::new(&request.header, folder));
    let telemetry = UpTelemetry::start(&wanted, &args.telemetry, &request.header, live)?;
    telemetry.follow(&mut request);
    notify::ready_when_caught(&mut request);
    let ended = runtime.block_on(play(args, &request, &service, &interrupt));
    // Do not wait for blocking calls of Kafka clients.
    runtime.shutdown_background();
    let Ended { how, why } = ended?;
    telemetry.finish();
    let exit = match how {
        Outcome::Completed | Outcome::Interrupted => return Ok(Exit::Pass),
        Outcome::Unhealed => Exit::Unhealed,
        // The run ended early, so its result is unknown.
        Outcome::Broken | Outcome::Aborted => Exit::Unknown,
    };
    Err(Failure::text(exit, why.unwrap_or_else(|| "it could not continue".to_owned())))
}

/// Leaves only what an observer sees.
fn observed(plan: &mut Plan) -> Result<(), Failure> {
    let topology = &plan.topology;
    let started = plan.groups_where(PlannedGroup::is_started);
    if started.len() == plan.groups.len() {
        return Err(Failure::text(
            Exit::Invalid,
            format!(
                "--observe: {topology} has no group with `launch: external`; the members of the \
                 others write their facts to the `tandem up` that has started them"
            ),
        ));
    }
    for name in &started {
        log_lines::say(&format!("group {name} is not observed: Tandem starts its members"));
    }
    plan.groups.retain(|name, _| !started.contains(name));
    Ok(())
}

/// Warns if another run keeps the same topology up with embedded brokers of its own, in case that
/// is a mistake. On shared brokers, a second run is refused later.
fn say_beside(plan: &Plan) {
    let own = plan.clusters.values().any(|cluster| cluster.address == Address::Embedded);
    for run in kept_up(&runs(), &plan.topology).iter().filter(|_| own) {
        let (topology, ways) = (&plan.topology, run.ways());
        log_lines::say(&format!(
            "another `tandem up` of {topology} is running, with brokers and members of its own; \
             {ways}"
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
    let (on_page, parts, observes) = (shows_page(args), parts(&header.plan), args.observe);
    let show = move |milestone| {
        let text = match milestone {
            Milestone::Starting if observes => "observing members".to_owned(),
            Milestone::Stopping if observes => "the last facts are judged".to_owned(),
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
        on_milestone: Box::new(show),
        supervisor: None,
        on_recorder: Box::new(|_| {}),
        on_caught: Box::new(|_| {}),
        on_log: Box::new(log_lines::say),
        on_operation: Box::new(|_| {}),
        on_supervisor: Box::new(|_| {}),
    }
}

/// A brief with only the objective. Without faults, there are no bounds on their cost.
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
    interrupt: &Interrupt,
) -> Result<Ended, Failure> {
    let _signals = interrupt.listen()?;
    let kept = async {
        if args.observe {
            observe(request, service, interrupt.token()).await
        } else {
            keep_up(request, service, interrupt.token()).await
        }
    };
    if !shows_page(args) {
        // What was before, another `tandem up` has printed.
        let from = request.supervisor.as_ref().map_or(Mono::ZERO, |_| Mono::now());
        let lines = Lines::print(service, args.output, from)?;
        let ended = kept.await.map_err(|error| could_not_run(&error))?;
        lines.finish();
        return Ok(ended);
    }
    tokio::pin!(kept);
    // The log goes into the folder of the run, which `keep_up` must create first.
    let log = request.folder.join("logs").join("controller.log");
    let page = tokio::select! {
        biased;
        ended = &mut kept => return ended.map_err(|error| could_not_run(&error)),
        () = exists(log.parent()) => Terminal::start(service, interrupt, &log),
    };
    let page = page.map_err(|error| Failure::new(Exit::Unable, &error))?;
    let ended = kept.await;
    drop(page);
    if ended.is_ok() {
        // A closed standard output is not an error.
        drop(write!(super::console::out(), "{}", farewell(&service.picture())));
    }
    ended.map_err(|error| could_not_run(&error))
}

async fn exists(folder: Option<&Path>) {
    while !folder.is_some_and(Path::is_dir) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Prints events on a thread of its own, so that a blocked output does not delay the run.
struct Lines {
    done: mpsc::Receiver<()>,
}

impl Lines {
    fn print(service: &Arc<Service>, output: Output, from: Mono) -> Result<Self, Failure> {
        let (_, mut coming) = service.feed();
        let (finished, done) = mpsc::channel();
        let thread = std::thread::Builder::new().name("lines".to_owned());
        let lines = thread.spawn(move || {
            loop {
                match coming.blocking_recv() {
                    Ok(event) => {
                        let last = matches!(event.what, Happening::Ending { .. });
                        if event.t < from {
                            continue;
                        }
                        if print(output, &event).is_err() || last {
                            break;
                        }
                    }
                    Err(RecvError::Lagged(missed)) => {
                        tracing::warn!(
                            missed,
                            "Events were dropped because the output was too slow."
                        );
                    }
                    Err(RecvError::Closed) => break,
                }
            }
            finished.send(()).ok();
        });
        lines.map_err(|error| Failure::new(Exit::Unable, &error))?;
        Ok(Self { done })
    }

    /// Waits for the last line, within a bound.
    fn finish(self) {
        self.done.recv_timeout(READS).ok();
    }
}
