//! `tandem down`: removes what earlier runs created and left.

use std::io::Write;
use std::path::PathBuf;

use super::{EXIT_FILES, Failure};
use crate::chaos::{TOPOLOGY, load_topology};
use crate::controller::down;
use crate::yaml::Override;

/// Remove the topics that runs of a topology created and left, and nothing else.
///
/// What is created on clusters that outlive a run is recorded before it is made; this removes
/// exactly that. Embedded clusters leave nothing.
#[derive(Debug, clap::Args)]
pub(super) struct DownArgs {
    /// The topology.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY", default_value = TOPOLOGY)]
    topology: PathBuf,
    /// Replace one value of the topology; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
}

/// Removes; says what.
pub(super) fn run(args: &DownArgs) -> Result<u8, Failure> {
    let (plan, _) = load_topology(&args.topology, &args.overrides)
        .map_err(|error| Failure::text(EXIT_FILES, error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(1, &error))?;
    let (removed, failed) =
        runtime.block_on(down(&plan)).map_err(|error| Failure::new(1, &error))?;
    let mut out = std::io::stdout().lock();
    for entry in &removed {
        // Nobody reads it: it is removed all the same.
        writeln!(out, "removed topic {} from {}", entry.topic, entry.bootstrap).ok();
    }
    if removed.is_empty() && failed.is_empty() {
        writeln!(out, "nothing of {} is left to remove", plan.topology).ok();
    }
    if failed.is_empty() {
        return Ok(0);
    }
    let lines: Vec<_> = failed.iter().map(|error| crate::error::chain(error)).collect();
    Err(Failure::text(1, lines.join("\n")))
}
