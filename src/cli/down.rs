//! `tandem down`: ends what is up under a name, or removes what earlier runs created and left.

use std::collections::BTreeSet;
use std::io::Write;

use super::Failure;
use super::topology_args::{TopologyArgs, runtime};
use crate::controller::down;
use crate::guard::{Purpose, Remains, halt, remains, runs};
use crate::ids::TopologyName;
use crate::verdict::Exit;

/// End what is up under a name; or remove the topics that runs of a topology created and left.
///
/// With NAME, the name of a topology, it ends each `tandem up` of it, watched or not, as Ctrl-C
/// does: the supervisor stops its members and brokers, and removes its topics unless it was started
/// with --keep. If it does not end within 20 s, it is killed, and its guard undoes the rest; what
/// neither could undo is undone here. Experiments are left alone: `tandem halt` ends those.
///
/// With -f it removes topics, and nothing else. A run records each topic before it creates it on a
/// cluster that outlives the run. This command removes exactly the recorded topics. Embedded
/// clusters leave nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem down duo                            ends `tandem up` of the topology that is named duo
  tandem down -f topologies/kafka-duo.yaml
  tandem down -f mine.yaml --set clusters.a.bootstrap=kafka.example:9092

Exit codes: 0 nothing is left; 1 a topic could not be removed; 2 usage or invalid file; 6 something
that was up could not be ended.")]
pub(super) struct DownArgs {
    /// End what is up under this name.
    #[arg(value_name = "NAME", conflicts_with_all = ["file", "overrides"])]
    name: Option<TopologyName>,
    #[command(flatten)]
    topology: TopologyArgs,
}

/// Ends it, or removes the topics, and prints what was done.
pub(super) fn run(args: &DownArgs) -> Result<Exit, Failure> {
    match &args.name {
        Some(name) => end(name),
        None => remove_topics(&args.topology),
    }
}

/// Ends each run that keeps this topology up.
fn end(name: &TopologyName) -> Result<Exit, Failure> {
    let unreadable =
        |error| Failure::text(Exit::Unhealed, format!("cannot read {}: {error}", runs().display()));
    let mut out = super::console::out();
    let (mut ended, mut others, mut left) = (0, BTreeSet::new(), Vec::new());
    for Remains { path, page } in remains(&runs()).map_err(unreadable)? {
        let run = match page {
            Ok(page) if page.run.purpose != Purpose::Upkeep => continue,
            Ok(page) if page.run.topology != *name => {
                others.extend(page.run.keeps_up().then_some(page.run.topology));
                continue;
            }
            Ok(page) => page.run,
            // It may be one of this name.
            Err(error) => {
                left.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        ended += 1;
        // A closed standard output is not an error.
        let done = |line| drop(writeln!(out, "{}: {line}", run.name));
        if let Err(lines) = halt(&path, &run, done) {
            left.extend(lines.into_iter().map(|line| format!("{}: {line}", run.name)));
        }
    }
    if ended == 0 && left.is_empty() {
        let others: Vec<_> = others.iter().map(ToString::to_string).collect();
        let up = if others.is_empty() { "nothing".to_owned() } else { others.join(", ") };
        writeln!(out, "nothing is up under the name {name}; up is {up}").ok();
    }
    if left.is_empty() {
        return Ok(Exit::Pass);
    }
    Err(Failure::text(Exit::Unhealed, left.join("\n")))
}

/// Removes the topics, and prints their names.
fn remove_topics(topology: &TopologyArgs) -> Result<Exit, Failure> {
    let plan = topology.plan()?;
    let (removed, failed) =
        runtime()?.block_on(down(&plan)).map_err(|error| Failure::new(Exit::Unable, &error))?;
    let mut out = super::console::out();
    for entry in &removed {
        // A closed standard output is not an error.
        writeln!(out, "removed topic {} from {}", entry.topic, entry.bootstrap).ok();
    }
    if removed.is_empty() && failed.is_empty() {
        writeln!(out, "nothing of {} is left to remove", plan.topology).ok();
    }
    if failed.is_empty() {
        return Ok(Exit::Pass);
    }
    let lines: Vec<_> = failed.iter().map(|error| crate::error::chain(error)).collect();
    Err(Failure::text(Exit::Unable, lines.join("\n")))
}
