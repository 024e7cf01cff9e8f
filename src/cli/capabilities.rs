//! Checks which faults this machine can inject, and why it cannot inject the others.

use std::net::TcpListener;

use crate::chaos::{Kind, Need};
use crate::controller::Broker;
use crate::guard::{Rehearsal, rehearse};
use crate::host::own_program;
use crate::topology::{Plan, PlannedCluster};

/// What this machine can do, as tested.
pub(super) struct Machine {
    stops: Result<(), String>,
    kills: Result<(), String>,
}

impl Machine {
    /// Tests it on a process of our own.
    pub(super) fn look() -> Self {
        let rehearsed = rehearse(own_program());
        let refused = |error: std::io::Error| error.to_string();
        match rehearsed {
            Ok(Rehearsal { stops, kills }) => {
                Self { stops: stops.map_err(refused), kills: kills.map_err(refused) }
            }
            Err(error) => {
                let why = format!("no process can be started: {error}");
                Self { stops: Err(why.clone()), kills: Err(why) }
            }
        }
    }

    /// What makes a fault possible on the clusters of the plan, or on any cluster without a plan.
    ///
    /// # Errors
    /// The fault is not possible; the reason.
    pub(super) fn can(&self, fault: Kind, plan: Option<&Plan>) -> Result<String, String> {
        let word = fault.word();
        let mut reason = String::new();
        for need in word.needs {
            reason = match need {
                Need::Kill => self.kills()?,
                Need::Stop => self.stops()?,
                Need::Listen => listens().map(|()| "ports can be opened".to_owned())?,
                Need::Brokers => brokers(plan)?,
            };
        }
        Ok(if word.able.is_empty() { reason } else { word.able.to_owned() })
    }

    fn kills(&self) -> Result<String, String> {
        let done = self.kills.clone().map(|()| "processes can be held and killed".to_owned());
        done.map_err(|why| format!("a process cannot be held and killed: {why}"))
    }

    fn stops(&self) -> Result<String, String> {
        let done = self.stops.clone().map(|()| "processes can be stopped and woken".to_owned());
        done.map_err(|why| format!("a process cannot be stopped: {why}"))
    }
}

/// Whether brokers can be killed: embedded ones, and those in the state file of `deploy/kafka/up`.
fn brokers(plan: Option<&Plan>) -> Result<String, String> {
    let outlives = |plan: &Plan| plan.clusters.values().any(PlannedCluster::outlives_runs);
    if plan.is_some_and(|plan| !outlives(plan)) {
        return Ok("embedded brokers are the run's own".to_owned());
    }
    let (file, brokers) = Broker::known();
    let brokers =
        brokers.map_err(|error| format!("{} cannot be trusted: {error}", file.display()))?;
    let running = brokers.iter().filter(|(_, runs)| *runs).count();
    let file = file.display();
    match (running, brokers.len()) {
        (_, 0) => Err(format!(
            "no broker is known that may be killed: `deploy/kafka/up` starts some and lists them \
             in {file}"
        )),
        (0, all) => Err(format!("none of the {all} brokers in {file} runs: `deploy/kafka/up`")),
        (running, all) => Ok(format!("{running} of the {all} brokers in {file} run")),
    }
}

/// Whether ports can be opened on the loopback, as embedded clusters need.
pub(super) fn listens() -> Result<(), String> {
    TcpListener::bind("127.0.0.1:0")
        .map(drop)
        .map_err(|error| format!("no port can be opened on 127.0.0.1: {error}"))
}
