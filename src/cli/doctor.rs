//! `tandem doctor`: whether the clusters of a topology will do.

use std::io::Write;

use super::Failure;
use super::which::{TopologyArgs, runtime};
use crate::controller::inspect;
use crate::topology::{Address, Plan, Weight, judge};

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
    #[command(flatten)]
    topology: TopologyArgs,
}

/// Asks, and says; 1 where something will not work.
pub(super) fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let plan = args.topology.plan()?;
    let checks = runtime()?.block_on(check(&plan));
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
