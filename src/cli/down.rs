//! `tandem down`: removes what earlier runs created and left.

use std::io::Write;

use super::Failure;
use super::topology_args::{TopologyArgs, runtime};
use crate::controller::down;
use crate::verdict::Exit;

/// Remove the topics that runs of a topology created and left, and nothing else.
///
/// A run records each topic before it creates it on a cluster that outlives the run. This command
/// removes exactly the recorded topics. Embedded clusters leave nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem down -f topologies/kafka-duo.yaml
  tandem down -f mine.yaml --set clusters.a.bootstrap=kafka.example:9092")]
pub(super) struct DownArgs {
    #[command(flatten)]
    topology: TopologyArgs,
}

/// Removes the topics, and prints their names.
pub(super) fn run(args: &DownArgs) -> Result<Exit, Failure> {
    let plan = args.topology.plan()?;
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
