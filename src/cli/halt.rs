//! `tandem halt`: ends runs, whatever state they are in, and undoes what they did.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use super::{EXIT_FILES, EXIT_UNHEALED, Failure};
use crate::chaos::load_topology;
use crate::controller::Created;
use crate::guard::{Page, Remains, halt, remains, runs};
use crate::ids::TopologyName;

/// End runs, and undo what they did: nothing stays paused, stopped or running.
///
/// Every run of yours on this machine is asked to end, as by Ctrl-C: it heals what it did, stops
/// its members and reports. One that does not within 20 s is killed, and its guard undoes the rest.
/// Where both are gone, what they wrote down is undone from here: processes that are left are
/// killed, brokers of deploy/kafka that were killed are started again. A run that was stopped
/// (SIGSTOP, Ctrl-Z) for more than three seconds was undone by its guard already. Without harm
/// when nothing runs, and as often as you like.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem halt                           all runs of yours on this machine
  tandem halt -f topologies/trio.yaml   only those on this topology

What is undone is written down before it is done, one file a run, in ~/.local/state/tandem/runs
($XDG_STATE_HOME/tandem/runs).

Exit codes: 0 nothing is left; 2 usage or invalid file; 6 something could not be healed.")]
pub(super) struct HaltArgs {
    /// Only runs on this topology.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
}

/// Ends, heals, and says what was done.
pub(super) fn run(args: &HaltArgs) -> Result<u8, Failure> {
    let topology = match &args.topology {
        None => None,
        Some(path) => {
            let loaded = load_topology(path, &[]);
            let (plan, _) = loaded.map_err(|error| Failure::text(EXIT_FILES, error.to_string()))?;
            Some(plan.topology)
        }
    };
    let unreadable = |error: std::io::Error| {
        Failure::text(EXIT_UNHEALED, format!("cannot read {}: {error}", runs().display()))
    };
    let found = remains(&runs()).map_err(unreadable)?;
    let mut out = super::console::out();
    // Nobody reads it: it is done all the same.
    let mut say = |line: String| drop(writeln!(out, "{line}"));
    let (mut quiet, mut left, mut topologies) = (true, Vec::new(), BTreeSet::new());
    for Remains { path, page } in found {
        match page {
            Ok(Page { run, .. }) if topology.as_ref().is_none_or(|name| *name == run.topology) => {
                let said = |line| {
                    quiet = false;
                    say(format!("{} on {}: {line}", run.name, run.topology));
                };
                if let Err(lines) = halt(&path, &run, said) {
                    left.extend(lines.into_iter().map(|line| format!("{}: {line}", run.name)));
                }
                topologies.insert(run.topology);
            }
            Ok(_) => {}
            Err(error) => left.push(format!("{}: {error}", path.display())),
        }
    }
    topologies.iter().filter_map(topics).for_each(&mut say);
    if !left.is_empty() {
        return Err(Failure::text(EXIT_UNHEALED, left.join("\n")));
    }
    if quiet {
        let what = topology.map_or_else(String::new, |name| format!(" of {name}"));
        say(format!("nothing{what} is left to be halted"));
    }
    Ok(0)
}

/// Topics are recorded elsewhere, and it takes the topology's file to reach their cluster.
fn topics(topology: &TopologyName) -> Option<String> {
    let entries = Created::of(topology).entries().ok()?;
    let topics: Vec<_> = entries.iter().map(|entry| entry.topic.as_str()).collect();
    let hint = "are left on clusters that outlive it; `tandem down -f FILE` removes them";
    (!topics.is_empty()).then(|| format!("topics of {topology} {hint}: {}", topics.join(", ")))
}
