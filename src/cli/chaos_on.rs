//! `tandem chaos run --on NAME`: finds what is up under a name, and ends experiments on it.

use std::path::Path;
use std::time::Duration;

use super::Failure;
use super::topology_args::runtime;
use crate::chaos::{Choice, Prepared, load_on, with_outside};
use crate::ids::TopologyName;
use crate::supervision::{Found, supervisors};
use crate::verdict::Exit;
use crate::yaml::FileError;

/// How long an experiment has to heal when it is halted.
const HEALS: Duration = Duration::from_secs(25);

/// Finds the supervisor that keeps this topology up.
pub(super) fn find(name: &TopologyName) -> Result<Found, Failure> {
    let mut found = all()?;
    let others: Vec<_> = found.iter().map(|one| one.about.header.plan.topology.as_str()).collect();
    let up = if others.is_empty() { "nothing".to_owned() } else { others.join(", ") };
    found.retain(|one| one.about.header.plan.topology == *name);
    let refused = |why: String| Err(Failure::text(Exit::Unable, why));
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (Some(last), _) => {
            let pids = found.iter().chain([&last]).map(|one| one.about.pid.to_string());
            let pids = pids.collect::<Vec<_>>().join(", ");
            refused(format!("{name} is up several times, by processes {pids}: end all but one"))
        }
        (None, _) => refused(format!(
            "nothing is up under the name {name}; up is {up}: start it with `tandem up -f FILE`"
        )),
    }
}

/// Finds the supervisor that keeps this topology up; if none does, the only one that is there.
pub(super) fn find_or_only(name: &TopologyName) -> Result<Found, Failure> {
    let mut found = all()?;
    let is_other = |one: &Found| one.about.header.plan.topology != *name;
    match (found.pop(), found.is_empty()) {
        (Some(only), true) if is_other(&only) => Ok(only),
        (_, _) => find(name),
    }
}

/// Reads an experiment, which must fit what is up.
pub(super) fn load(found: &Found, path: &Path, choice: &Choice) -> Result<Prepared, FileError> {
    let header = &found.about.header;
    let plan = with_outside(&header.plan, &found.about.outside);
    load_on(path, choice, &plan, (&header.topology, &header.overrides))
}

/// Ends each experiment on what is up, and says so. Returns a line for each that is not ended.
pub(super) fn halt(
    topology: Option<&TopologyName>,
    say: &mut impl FnMut(String),
) -> Result<Vec<String>, Failure> {
    let mut left = Vec::new();
    for found in all()? {
        let name = &found.about.header.plan.topology;
        if found.about.experiment.is_none() || topology.is_some_and(|wanted| wanted != name) {
            continue;
        }
        match runtime()?.block_on(found.halt(HEALS)) {
            Ok(Some(said)) => say(format!("{said}; {name} stays up")),
            // It ended by itself meanwhile.
            Ok(None) => {}
            Err(error) => left.push(format!("{name}: {}", crate::error::chain(&error))),
        }
    }
    Ok(left)
}

/// The supervisors of this user.
fn all() -> Result<Vec<Found>, Failure> {
    runtime()?.block_on(supervisors()).map_err(|error| Failure::new(Exit::Unable, &error))
}
