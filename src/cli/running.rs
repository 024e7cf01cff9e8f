//! Which run of `tandem up` a command is about: the only one, or the one that was named.

use std::path::PathBuf;

use super::Failure;
use crate::chaos::load_topology;
use crate::ids::TopologyName;
use crate::live_view::{Picture, clock};
use crate::status_socket::{
    Ask, Endpoint, Replies, Reply, Request, StatusError, VERSION, endpoints,
};
use crate::verdict::Exit;

/// Which run.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RunningArgs {
    /// The topology that it keeps up, where several run.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// Its process, where several keep that topology up.
    #[arg(long, value_name = "NUMBER")]
    pid: Option<u32>,
}

/// A run, and how it stood a moment ago.
pub(super) struct Found {
    pub(super) endpoint: Endpoint,
    pub(super) picture: Picture,
}

impl RunningArgs {
    /// The run that is meant.
    ///
    /// # Errors
    /// There is none, or several, which are listed.
    pub(super) async fn find(&self) -> Result<Found, Failure> {
        let topology = self.topology()?;
        let (mut found, mut silent) = (Vec::new(), Vec::new());
        for endpoint in endpoints().map_err(|error| Failure::new(Exit::Unable, &error))? {
            if self.pid.is_some_and(|pid| pid != endpoint.pid) {
                continue;
            }
            match ask(&endpoint).await {
                Ok(picture) => found.push(Found { endpoint, picture }),
                // It was there a moment ago, and its socket is removed.
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

/// What there is to choose from.
fn listed(found: impl Iterator<Item = Found>, silent: &[String]) -> String {
    let line = |Found { picture, .. }: Found| {
        let run = picture.run;
        let (since, health) = (clock(run.began), picture.health.word());
        format!("  {} since {since}, {health}: process {}", run.topology, run.pid)
    };
    let lines: Vec<_> = found.map(line).collect();
    let mut told = match lines.len() {
        0 => vec!["no `tandem up` of yours is running on this machine".to_owned()],
        _ => vec!["several topologies are kept up; name one with -f, or with --pid:".to_owned()],
    };
    told.extend(lines);
    told.extend(silent.iter().map(|one| format!("  {one}")));
    told.join("\n")
}

/// How a run stands.
pub(super) async fn ask(endpoint: &Endpoint) -> Result<Picture, StatusError> {
    let request = Request { tandem: VERSION, ask: Ask::Status, follow: false };
    let mut answers = endpoint.ask(request).await?;
    status(endpoint, &mut answers).await
}

/// The first line of an answer, which says how the run stands.
pub(super) async fn status(
    endpoint: &Endpoint,
    answers: &mut Replies,
) -> Result<Picture, StatusError> {
    match answers.next().await? {
        Reply::Status(picture) => Ok(*picture),
        Reply::Event(_) | Reply::End { .. } | Reply::Dropped { .. } | Reply::Refused { .. } => {
            let source = std::io::Error::other("it answers what was not asked");
            Err(StatusError::Broken { pid: endpoint.pid, source })
        }
    }
}
