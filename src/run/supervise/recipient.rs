//! Whom a connection of a supervisor is for: what is said to that client alone, and what it says.

use super::connection::Gone;
use super::experiments::Client;
use super::hub::Entered;
use crate::observation::{Fact, RunEvent, What};
use crate::run::judging::TRIAL;
use crate::supervision::{Asked, Message};

/// The longest line that a client sends later, in bytes.
const LINE_MAX: usize = 256;

/// Whom a connection is for.
pub(super) enum To {
    /// A process that watches.
    Watch(Entered),
    /// A process that has ordered an experiment.
    Experiment(Client),
}

impl To {
    /// What is said to this client alone.
    pub(super) async fn next(&mut self) -> Message {
        match self {
            Self::Watch(entered) => entered.next().await,
            Self::Experiment(client) => match client.says().await {
                Some(message) => message,
                // The client reads the facts of the last instants, and then it disconnects.
                None => std::future::pending().await,
            },
        }
    }

    /// All facts so far are sent: from now on the client must say that it is there.
    pub(super) fn begin(&self) {
        if let Self::Experiment(client) = self {
            client.hear();
        }
    }

    /// Takes the lines that the client has sent.
    pub(super) fn hear(&mut self, heard: &mut Vec<u8>) -> Result<(), Gone> {
        let Self::Experiment(client) = self else {
            // A client that watches has nothing to say.
            heard.clear();
            return Ok(());
        };
        while let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = heard.drain(..=end).collect();
            client.hear();
            match serde_json::from_slice(&line) {
                Ok(Asked::Here) => {}
                Ok(Asked::Stop) => client.stop(),
                Ok(Asked::Play(trial)) => client.play(trial).map_err(|_| Gone)?,
                Err(_) => return Err(Gone),
            }
        }
        if heard.len() > LINE_MAX { Err(Gone) } else { Ok(()) }
    }
}

/// Whether the fact begins or ends a trial of an experiment; what is up is one trial by itself.
pub(super) fn is_of_an_experiment(fact: &Fact) -> bool {
    if let What::Run(RunEvent::TrialBegan { trial } | RunEvent::TrialEnded { trial, .. }) =
        fact.what
    {
        return trial != TRIAL;
    }
    false
}
