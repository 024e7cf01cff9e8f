//! Finds the run of `tandem up` that a command refers to: the only one, or the named one.

use std::path::PathBuf;

use super::Failure;
use crate::chaos::load_topology;
use crate::ids::TopologyName;
use crate::live_view::{Picture, clock};
use crate::status_socket::{
    Ask, Endpoint, Replies, Reply, Request, StatusError, VERSION, endpoints,
};
use crate::verdict::Exit;

/// Selects a run.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RunningArgs {
    /// The topology of the run, if there are several runs.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// The process id of the run, if several runs keep that topology up.
    #[arg(long, value_name = "NUMBER")]
    pid: Option<u32>,
}

/// A run, and its state a moment ago.
pub(super) struct Found {
    pub(super) endpoint: Endpoint,
    pub(super) picture: Picture,
}

impl RunningArgs {
    /// Finds the selected run.
    ///
    /// # Errors
    /// There is none, or there are several, which the message lists.
    pub(super) async fn find(&self) -> Result<Found, Failure> {
        let topology = self.topology()?;
        let (mut found, mut silent) = (Vec::new(), Vec::new());
        for endpoint in endpoints().map_err(|error| Failure::new(Exit::Unable, &error))? {
            if self.pid.is_some_and(|pid| pid != endpoint.pid) {
                continue;
            }
            match ask(&endpoint).await {
                Ok(picture) => found.push(Found { endpoint, picture }),
                // It has ended, and its socket is removed now.
                Err(StatusError::Dead { .. }) => {}
                Err(error) => silent.push(crate::error::chain(&error)),
            }
        }
        found.retain(|one| topology.as_ref().is_none_or(|name| *name == one.picture.run.topology));
        let mut found = found.into_iter();
        match (found.next(), found.len()) {
            (Some(only), 0) => Ok(only),
            (first, _) => {
                Err(Failure::text(Exit::Unable, listed(first.into_iter().chain(found), &silent)))
            }
        }
    }

    fn topology(&self) -> Result<Option<TopologyName>, Failure> {
        let Some(path) = &self.topology else { return Ok(None) };
        let loaded = load_topology(path, &[]);
        let (plan, _) = loaded.map_err(|error| Failure::text(Exit::Invalid, error.to_string()))?;
        Ok(Some(plan.topology))
    }
}

/// The error message, with the runs to choose from.
fn listed(found: impl Iterator<Item = Found>, silent: &[String]) -> String {
    let line = |Found { picture, .. }: Found| {
        let run = picture.run;
        let (since, health) = (clock(run.began), picture.health.word());
        format!("  {} since {since}, {health}: process {}", run.topology, run.pid)
    };
    let lines: Vec<_> = found.map(line).collect();
    let mut message = match lines.len() {
        0 => vec!["no `tandem up` of yours is running on this machine".to_owned()],
        _ => vec!["several topologies are kept up; name one with -f, or with --pid:".to_owned()],
    };
    message.extend(lines);
    message.extend(silent.iter().map(|one| format!("  {one}")));
    message.join("\n")
}

/// Asks a run for its state.
pub(super) async fn ask(endpoint: &Endpoint) -> Result<Picture, StatusError> {
    let request = Request { tandem: VERSION, ask: Ask::Status, follow: false };
    let mut answers = endpoint.ask(request).await?;
    status(endpoint, &mut answers).await
}

/// The first reply, which has the state of the run.
pub(super) async fn status(
    endpoint: &Endpoint,
    answers: &mut Replies,
) -> Result<Picture, StatusError> {
    match answers.next().await? {
        Reply::Status(picture) => Ok(*picture),
        Reply::Event(_) | Reply::End { .. } | Reply::Dropped { .. } | Reply::Refused { .. } => {
            let source = std::io::Error::other("its reply does not fit the request");
            Err(StatusError::Broken { pid: endpoint.pid, source })
        }
    }
}
