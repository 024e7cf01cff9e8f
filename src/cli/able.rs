//! Which faults this machine can inject, and why not the others.

use std::net::TcpListener;

use crate::chaos::Fault;
use crate::controller::Broker;
use crate::guard::{Rehearsal, rehearse};

/// What this machine was seen to be able to do.
pub(super) struct Machine {
    stops: Result<(), String>,
    kills: Result<(), String>,
}

impl Machine {
    /// Tries it out, on a process of ours.
    pub(super) fn look() -> Self {
        let rehearsed = std::env::current_exe().and_then(rehearse);
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

    /// What makes a fault possible; else why it is not.
    pub(super) fn can(&self, fault: Fault) -> Result<String, String> {
        let fine = |what: &str| what.to_owned();
        // Whoever adds a fault says here what it takes.
        match fault {
            Fault::Kill => {
                let done = self.kills.clone().map(|()| fine("processes can be held and killed"));
                done.map_err(|why| format!("a process cannot be held and killed: {why}"))
            }
            Fault::Pause => {
                let done = self.stops.clone().map(|()| fine("processes can be stopped and woken"));
                done.map_err(|why| format!("a process cannot be stopped: {why}"))
            }
            Fault::Broker => brokers(),
            Fault::Noop => Ok(fine("it does nothing")),
        }
    }
}

fn brokers() -> Result<String, String> {
    let (file, brokers) = Broker::known();
    let running = brokers.iter().filter(|(_, runs)| *runs).count();
    let file = file.display();
    match (running, brokers.len()) {
        (_, 0) => Err(format!(
            "no broker is known that may be killed: `deploy/kafka/up` starts some, and writes \
             them down in {file}"
        )),
        (0, all) => Err(format!("none of the {all} brokers in {file} runs: `deploy/kafka/up`")),
        (running, all) => Ok(format!("{running} of the {all} brokers in {file} run")),
    }
}

/// Whether ports can be opened on this machine for itself, as embedded clusters want.
pub(super) fn listens() -> Result<(), String> {
    TcpListener::bind("127.0.0.1:0")
        .map(drop)
        .map_err(|error| format!("no port can be opened on 127.0.0.1: {error}"))
}
