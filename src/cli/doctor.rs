//! `tandem doctor`: whether the clusters of a topology will do.

use std::io::Write;
use std::path::PathBuf;

use super::{EXIT_FILES, Failure};
use crate::chaos::{TOPOLOGY, load_topology};
use crate::controller::inspect;
use crate::topology::{Address, Plan, Weight, judge};
use crate::yaml::Override;

/// Ask the clusters of a topology what they allow, and say what is missing.
///
/// Connects to each cluster as its members will: whether it answers, allows the session and the
/// topics, has no strangers in the consumer groups, and which broker coordinates each. Starts
/// nothing and makes no topic. One line a check; exit code 1 where something will not work.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem doctor -f topologies/kafka-duo.yaml
  tandem doctor -f mine.yaml --set defaults.session=6s")]
pub(super) struct DoctorArgs {
    /// The topology.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY", default_value = TOPOLOGY)]
    topology: PathBuf,
    /// Replace one value of the topology; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
}

/// Asks, and says; 1 where something will not work.
pub(super) fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let (plan, _) = load_topology(&args.topology, &args.overrides)
        .map_err(|error| Failure::text(EXIT_FILES, error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(1, &error))?;
    let checks = runtime.block_on(check(&plan));
    let mut out = std::io::stdout().lock();
    for (weight, text) in &checks {
        let word = match weight {
            Weight::Fine => "ok  ",
            Weight::Warned => "warn",
            Weight::Refused => "fail",
        };
        // Nobody reads it: the exit code says it all the same.
        writeln!(out, "{word}  {text}").ok();
    }
    Ok(u8::from(checks.iter().any(|(weight, _)| *weight == Weight::Refused)))
}

async fn check(plan: &Plan) -> Vec<(Weight, String)> {
    let mut checks = Vec::new();
    for (name, cluster) in &plan.clusters {
        if cluster.address == Address::Embedded {
            let text = format!("cluster {name} is embedded: it starts with a run");
            checks.push((Weight::Fine, text));
        }
    }
    let mut facts = std::collections::BTreeMap::new();
    for (name, answer) in inspect(plan).await {
        match answer {
            Ok(told) => drop(facts.insert(name, told)),
            Err(error) => {
                let text = format!("cluster {name}: {}", crate::error::chain(&error));
                checks.push((Weight::Refused, text));
            }
        }
    }
    checks.extend(judge(plan, &facts).into_iter().map(|found| (found.weight, found.text)));
    checks
}
