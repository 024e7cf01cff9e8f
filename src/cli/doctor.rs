//! `tandem doctor`: checks whether the clusters of a topology, and this machine, can run it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Failure;
use super::capabilities::{Machine, listens};
use super::limits::{descriptors_for, diagnosis};
use super::topology_args::runtime;
use crate::chaos::{Choice, Kind, TOPOLOGY, load, load_chosen};
use crate::controller::{etcd_findings, inspect, nats_findings, own_members, zookeeper_findings};
use crate::guard::{runs, writable};
use crate::topology::{Address, ClusterFacts, Plan, Weight, judge};
use crate::verdict::Exit;
use crate::yaml::Override;

/// Check the clusters of a topology, and which faults this machine can inject.
///
/// Connects to each cluster as its members will, and checks that it answers, that it allows the
/// session timeout and the topics, and that the consumer groups have no foreign members; prints the
/// coordinator of each group. Checks how many files and sockets a process may open, whether the
/// kernel identifies the user of a connection, whether the state folder can be written, and, on a
/// process of its own, what faults do to processes. Starts nothing else and creates no topic. Each
/// heading says whether a run repeats the checks. Prints one line per check. The exit code is 1 if
/// something will not work. A fault that cannot be injected is a warning, unless the experiment of
/// -x needs it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem doctor                                   the default topology and all faults
  tandem doctor -f topologies/kafka-duo.yaml
  tandem doctor -x chaos/kill-coordinator.yaml    what this experiment needs, and its topology
  tandem doctor -f mine.yaml --set defaults.session=6s")]
pub(super) struct DoctorArgs {
    /// The topology [default: that of the experiment, or topologies/duo.yaml if it exists].
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// Check only the faults of this experiment, all of which must be possible.
    #[arg(short = 'x', long = "experiment", value_name = "EXPERIMENT")]
    experiment: Option<PathBuf>,
    /// Replace one value of the topology, as in defaults.session=300ms; can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
}

/// One line of the output.
type Check = (Weight, String);

/// Checks and prints. Returns 1 if something will not work.
pub(super) fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let (plan, needed) = args.read()?;
    let mut sections = vec![("state folder: a run checks this again", state())];
    if let Some(plan) = &plan {
        let checks = runtime()?.block_on(check(plan));
        sections.push(("clusters: a run checks all of this again, and stops at a fail", checks));
    }
    let limits = vec![descriptors_for(plan.as_ref()), diagnosis()];
    sections.push(("limits: a run does not check these", limits));
    let faults = faults(needed, plan.as_ref());
    sections.push((
        "faults: a run does not check these; a fault that cannot be injected makes it unknown",
        faults,
    ));
    let mut out = super::console::out();
    for (name, checks) in &sections {
        // A closed standard output is not an error; the exit code counts.
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
    /// The topology, if there is one, and the faults that must be possible, if there are any.
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
        // Without a topology, only the machine is checked.
        let given = self.topology.is_some() || !self.overrides.is_empty() || usual.exists();
        let chosen = self.topology.as_deref();
        let plan = given.then(|| load_chosen(chosen, &self.overrides)).transpose();
        Ok((plan.map_err(wrong)?.map(|(plan, _)| plan), None))
    }
}

/// Whether the ledger of a run can be written.
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

/// Which faults this machine can inject, of all faults or of the needed ones.
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
    let of = |(name, group)| Some((name, plan.electorate_of(group)?.election));
    checks.extend(plan.groups.iter().filter_map(of).map(|(name, by)| {
        let text = format!(
            "group {name} elects among its members by {by}, over sockets of a run's folder"
        );
        (Weight::Fine, text)
    }));
    let stores = etcd_findings(plan).await.into_iter().chain(zookeeper_findings(plan).await);
    let stores = stores.chain(nats_findings(plan).await);
    checks.extend(stores.map(|found| (found.weight, found.text)));
    let mut facts: BTreeMap<_, ClusterFacts> = BTreeMap::new();
    for (name, answer) in inspect(plan).await {
        match answer {
            Ok(answer) => drop(facts.insert(name, answer)),
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
