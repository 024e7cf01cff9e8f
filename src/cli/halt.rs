//! `tandem halt`: ends runs in any state, and undoes what they did.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use super::{Failure, chaos_on};
use crate::chaos::load_topology;
use crate::controller::Created;
use crate::guard::{
    Page, Remains, Run, Suite, halt, halt_suite, parent, remains, runs, suites, suites_at, wake,
};
use crate::ids::TopologyName;
use crate::verdict::Exit;

/// End all experiments, and undo what they did: nothing stays paused, stopped or running.
///
/// Asks every suite and every experiment of yours on this machine to end, as Ctrl-C does: it heals
/// its faults, stops its members and prints its report; a suite starts no other run. If it does not
/// end within 20 s, `halt` kills it, and its guard undoes the rest. If both are gone, `halt` undoes
/// what their ledger lists: it kills remaining processes, and restarts brokers of deploy/kafka that
/// were killed. If a run was stopped (SIGSTOP, Ctrl-Z) for more than three seconds, its guard has
/// already undone it. The command does no harm when nothing runs, and can be repeated.
///
/// Topologies that `tandem up` keeps up are named and stay up, unless --all is set; an experiment
/// on one of them (`chaos run --on`) is healed and ended.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem halt                           all suites and experiments of yours on this machine
  tandem halt -f topologies/trio.yaml   only those on this topology
  tandem halt --all                     topologies of `tandem up` as well

Each run lists what must be undone in a file in ~/.local/state/tandem/runs
($XDG_STATE_HOME/tandem/runs), before it does anything.

Exit codes: 0 nothing is left; 2 usage or invalid file; 6 something could not be healed.")]
pub(super) struct HaltArgs {
    /// Only runs on this topology, and suites with a run on it.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// Also end topologies that `tandem up` keeps up.
    #[arg(long)]
    all: bool,
}

/// Which runs to end.
struct Choice {
    topology: Option<TopologyName>,
    all: bool,
}

impl Choice {
    fn concerns(&self, run: &Run) -> bool {
        self.topology.as_ref().is_none_or(|name| *name == run.topology)
    }

    fn spares(&self, run: &Run) -> bool {
        !self.all && run.keeps_up()
    }

    /// Between two runs of a suite no ledger says on which topology it runs, so the suite does.
    fn concerns_suite(&self, suite: &Suite) -> bool {
        self.topology.as_ref().is_none_or(|name| suite.topologies.contains(name))
    }
}

/// Ends and heals the runs, and prints what was done.
pub(super) fn run(args: &HaltArgs) -> Result<Exit, Failure> {
    let choice = Choice { topology: args.topology()?, all: args.all };
    let mut out = super::console::out();
    let mut quiet = true;
    // A closed standard output is not an error.
    let mut say = |line: String| {
        quiet = false;
        drop(writeln!(out, "{line}"));
    };
    let mut left = end_suites(&choice, &mut say)?;
    if !choice.all {
        left.extend(chaos_on::halt(choice.topology.as_ref(), &mut say)?);
    }
    let (mut topologies, mut kept) = (BTreeSet::new(), Vec::new());
    for Remains { path, page } in found()? {
        match page {
            Ok(Page { run, .. }) if !choice.concerns(&run) => {}
            Ok(Page { run, .. }) if choice.spares(&run) => kept.push(run),
            Ok(Page { run, .. }) => {
                let done = |line| say(format!("{} on {}: {line}", run.name, run.topology));
                if let Err(lines) = halt(&path, &run, done) {
                    left.extend(lines.into_iter().map(|line| format!("{}: {line}", run.name)));
                }
                topologies.insert(run.topology);
            }
            Err(error) => left.push(format!("{}: {error}", path.display())),
        }
    }
    topologies.iter().filter_map(topics).for_each(&mut say);
    if quiet && left.is_empty() {
        let what = choice.topology.map_or_else(String::new, |name| format!(" of {name}"));
        writeln!(out, "nothing{what} is left to halt").ok();
    }
    for Run { topology, controller, .. } in kept {
        let pid = controller.pid;
        let how = "`tandem halt --all` ends it";
        writeln!(out, "process {pid} still keeps {topology} up: {how}").ok();
    }
    if left.is_empty() {
        Ok(Exit::Pass)
    } else {
        Err(Failure::text(Exit::Unhealed, left.join("\n")))
    }
}

impl HaltArgs {
    fn topology(&self) -> Result<Option<TopologyName>, Failure> {
        let Some(path) = &self.topology else { return Ok(None) };
        let loaded = load_topology(path, &[]);
        let (plan, _) = loaded.map_err(|error| Failure::text(Exit::Invalid, error.to_string()))?;
        Ok(Some(plan.topology))
    }
}

fn found() -> Result<Vec<Remains>, Failure> {
    remains(&runs()).map_err(|error| unreadable(&runs(), &error))
}

fn unreadable(folder: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::text(Exit::Unhealed, format!("cannot read {}: {error}", folder.display()))
}

/// Ends the suites, before they start another run. Returns a line for each that could not be ended.
fn end_suites(choice: &Choice, say: &mut impl FnMut(String)) -> Result<Vec<String>, Failure> {
    let under_way = suites(&suites_at()).map_err(|error| unreadable(&suites_at(), &error))?;
    let mut left = Vec::new();
    if under_way.is_empty() {
        return Ok(left);
    }
    let found = found()?;
    for suite in under_way.iter().filter(|suite| choice.concerns_suite(suite)) {
        let runs = found.iter().filter_map(|one| Some(&one.page.as_ref().ok()?.run));
        runs.filter(|run| parent(run.controller.pid) == Some(suite.process.pid)).for_each(wake);
        let folder = suite.folder.display();
        left.extend(halt_suite(suite, |line| say(format!("{folder}: {line}"))).err());
    }
    Ok(left)
}

/// A hint about topics that runs have left. Only `tandem down`, with the topology's file, can
/// connect to their cluster.
fn topics(topology: &TopologyName) -> Option<String> {
    let entries = Created::of(topology).entries().ok()?;
    let topics: Vec<_> = entries.iter().map(|entry| entry.topic.as_str()).collect();
    let hint = "are left on clusters that outlive it; `tandem down -f FILE` removes them";
    (!topics.is_empty()).then(|| format!("topics of {topology} {hint}: {}", topics.join(", ")))
}
