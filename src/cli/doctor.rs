//! `tandem doctor`: whether the clusters of a topology, and this machine, will do.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Failure;
use super::capabilities::{Machine, listens};
use super::limits::{descriptors_for, diagnosis};
use super::topology_args::runtime;
use crate::chaos::{Choice, Kind, TOPOLOGY, load, load_chosen};
use crate::controller::{inspect, own_members};
use crate::guard::{runs, writable};
use crate::topology::{Address, ClusterFacts, Plan, Weight, judge};
use crate::verdict::Exit;
use crate::yaml::Override;

/// Ask the clusters of a topology what they allow, and this machine which faults it can inject.
///
/// Connects to each cluster as its members will: whether it answers, allows the session and the
/// topics, has no strangers in the consumer groups, and which broker coordinates each. Looks how
/// many files and sockets a process may open here, and whether the kernel says who connects. Then
/// tries, on a process of its own, what faults do to processes, and whether its state folder can be
/// written. Starts nothing else and makes no topic. Each heading says what a run asks again.
/// One line a check; exit code 1 where something will not work. A fault that cannot be injected is
/// a warning, unless the experiment of -x needs it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem doctor                                   the default topology, and all faults
  tandem doctor -f topologies/kafka-duo.yaml
  tandem doctor -x chaos/kill-coordinator.yaml    what this experiment needs, and its topology
  tandem doctor -f mine.yaml --set defaults.session=6s")]
pub(super) struct DoctorArgs {
    /// The topology; else the experiment's, else topologies/duo.yaml where there is one.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// Only the faults of this experiment, all of which must be possible.
    #[arg(short = 'x', long = "experiment", value_name = "EXPERIMENT")]
    experiment: Option<PathBuf>,
    /// Replace one value of the topology, as in defaults.session=300ms; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
}

/// One line.
type Check = (Weight, String);

/// Asks, and says; 1 where something will not work.
pub(super) fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let (plan, needed) = args.read()?;
    let mut sections = vec![("state folder: a run asks this again", state())];
    if let Some(plan) = &plan {
        let checks = runtime()?.block_on(check(plan));
        sections.push(("clusters: a run asks all of this again, and stops at a fail", checks));
    }
    let limits = vec![descriptors_for(plan.as_ref()), diagnosis()];
    sections.push(("limits: a run asks none of this", limits));
    let faults = faults(needed, plan.as_ref());
    sections.push(("faults: a run asks none of this; what cannot be injected is unknown", faults));
    let mut out = super::console::out();
    for (name, checks) in &sections {
        // Nobody reads it: the exit code says it all the same.
        writeln!(out, "{name}").ok();
        for (weight, text) in checks {
            let word = match weight {
                Weight::Fine => "ok  ",
                Weight::Warned => "warn",
                Weight::Refused => "fail",
            };
            writeln!(out, "{word}  {text}").ok();
        }
    }
    let mut checks = sections.iter().flat_map(|(_, checks)| checks);
    let refused = checks.any(|(weight, _)| *weight == Weight::Refused);
    Ok(if refused { Exit::Unable } else { Exit::Pass })
}

impl DoctorArgs {
    /// The topology, if there is one, and the faults that must be possible, if any must.
    fn read(&self) -> Result<(Option<Plan>, Option<Vec<Kind>>), Failure> {
        let wrong = |error: crate::yaml::FileError| Failure::text(Exit::Invalid, error.to_string());
        if let Some(path) = &self.experiment {
            let (topology, overrides) = (self.topology.clone(), self.overrides.clone());
            let choice = Choice { topology, overrides, ..Choice::default() };
            let prepared = load(path, &choice).map_err(wrong)?;
            let steps = &prepared.experiment.method;
            let kinds = steps.iter().map(|step| step.fault.kind());
            let strikes = prepared.experiment.strikes().map(|strike| strike.kind());
            let all: Vec<Kind> = kinds.chain(strikes).collect();
            let needs = |kind: &Kind| all.contains(kind);
            let needed = Kind::ALL.into_iter().filter(needs).collect();
            return Ok((Some(prepared.plan), Some(needed)));
        }
        let usual = Path::new(TOPOLOGY);
        // Away from the topologies that come with it, the machine alone is asked.
        let given = self.topology.is_some() || !self.overrides.is_empty() || usual.exists();
        let chosen = self.topology.as_deref();
        let plan = given.then(|| load_chosen(chosen, &self.overrides)).transpose();
        Ok((plan.map_err(wrong)?.map(|(plan, _)| plan), None))
    }
}

/// Whether what a run writes down before it does anything can be written.
fn state() -> Vec<Check> {
    let check = |folder: PathBuf| match writable(&folder) {
        Ok(()) => (Weight::Fine, format!("{} can be written", folder.display())),
        Err(error) => {
            let shown = folder.display();
            let hint = "set XDG_STATE_HOME to a folder of yours";
            (Weight::Refused, format!("{shown} cannot be written ({error}): {hint}"))
        }
    };
    vec![check(runs())]
}

/// Which faults this machine can inject: of all, or of those that are needed.
fn faults(needed: Option<Vec<Kind>>, plan: Option<&Plan>) -> Vec<Check> {
    let machine = Machine::look();
    let lacking = if needed.is_some() { Weight::Refused } else { Weight::Warned };
    let faults = needed.unwrap_or_else(|| Kind::ALL.to_vec()).into_iter();
    let check = |fault: Kind| match machine.can(fault, plan) {
        Ok(how) => (Weight::Fine, format!("{}: {how}", fault.as_str())),
        Err(why) => (lacking, format!("{}: {why}", fault.as_str())),
    };
    faults.map(check).collect()
}

async fn check(plan: &Plan) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, cluster) in &plan.clusters {
        if cluster.address == Address::Embedded {
            let text = format!("cluster {name} is embedded: it starts with a run");
            checks.push(match listens() {
                Ok(()) => (Weight::Fine, text),
                Err(why) => (Weight::Refused, format!("{text}, and {why}")),
            });
        }
    }
    let mut facts: BTreeMap<_, ClusterFacts> = BTreeMap::new();
    for (name, answer) in inspect(plan).await {
        match answer {
            Ok(told) => drop(facts.insert(name, told)),
            Err(error) => {
                let text = format!("cluster {name}: {}", crate::error::chain(&error));
                checks.push((Weight::Refused, text));
            }
        }
    }
    let own = own_members(plan, &mut facts).into_iter();
    checks.extend(own.map(|text| (Weight::Warned, text)));
    checks.extend(judge(plan, &facts).into_iter().map(|found| (found.weight, found.text)));
    checks
}
