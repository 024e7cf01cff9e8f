//! Finds the run of `tandem up` that a command refers to: the only one, or the named one.

use std::path::PathBuf;

use super::Failure;
use crate::chaos::load_topology;
use crate::ids::TopologyName;
use crate::live_view::{Picture, Run, clock};
use crate::status_socket::{
    Ask, Endpoint, Replies, Reply, Request, Sockets, StatusError, VERSION, endpoints,
};
use crate::supervision::{About, supervisors};
use crate::verdict::Exit;

/// Selects a run.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RunningArgs {
    /// The topology of the run, if there are several runs.
    #[arg(short = 'f', long = "file", value_name = "TOPOLOGY")]
    topology: Option<PathBuf>,
    /// The process id of the run, or of its supervisor, if several runs keep that topology up.
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
        for endpoint in
            endpoints(Sockets::Status).map_err(|error| Failure::new(Exit::Unable, &error))?
        {
            match ask(&endpoint).await {
                Ok(Picture { run, .. }) if !self.means(&run) => {}
                Ok(picture) => found.push(Found { endpoint, picture }),
                // It has ended, and its socket is removed now.
                Err(StatusError::Dead { .. }) => {}
                Err(_) if self.pid.is_some_and(|pid| pid != endpoint.pid) => {}
                Err(error) => silent.push(crate::error::chain(&error)),
            }
        }
        let wanted =
            |one: &Found| topology.as_ref().is_none_or(|name| *name == one.picture.run.topology);
        let (mut wanted, others): (Vec<_>, Vec<_>) = found.into_iter().partition(wanted);
        let message = match (wanted.pop(), topology.clone()) {
            (Some(only), _) if wanted.is_empty() => return Ok(only),
            (Some(last), topology) => {
                wanted.push(last);
                let by = if topology.is_some() { "--pid" } else { "-f, or with --pid" };
                listed(&format!("several topologies are kept up; name one with {by}:"), &wanted)
            }
            (None, Some(topology)) if !others.is_empty() => {
                let first = format!("no `tandem up` of yours keeps {topology} up; running are:");
                listed(&first, &others)
            }
            (None, _) => match unwatched(topology.as_ref()).await {
                Some(message) => message,
                None => "no `tandem up` of yours is running on this machine".to_owned(),
            },
        };
        let silent = silent.iter().map(|one| format!("\n  {one}")).collect::<String>();
        Err(Failure::text(Exit::Unable, message + &silent))
    }

    /// Whether the process that was named, if any, is that of this run.
    fn means(&self, run: &Run) -> bool {
        self.pid.is_none_or(|pid| pid == run.pid || Some(pid) == run.supervisor)
    }

    fn topology(&self) -> Result<Option<TopologyName>, Failure> {
        let Some(path) = &self.topology else { return Ok(None) };
        let loaded = load_topology(path, &[]);
        let (plan, _) = loaded.map_err(|error| Failure::text(Exit::Invalid, error.to_string()))?;
        Ok(Some(plan.topology))
    }
}

/// A sentence about a supervisor that no `tandem up` watches, if there is one.
async fn unwatched(topology: Option<&TopologyName>) -> Option<String> {
    let found = supervisors().await.unwrap_or_default();
    let mut found = found.into_iter().map(|found| found.about);
    let wanted = |about: &About| topology.is_none_or(|name| *name == about.header.plan.topology);
    let About { header, pid, folder, .. } = found.find(|about| wanted(about))?;
    Some(format!(
        "process {pid} keeps {} up, and no `tandem up` watches it: start `tandem up` with its file \
         again to see how it stands; its journal is in {}",
        header.plan.topology,
        folder.display()
    ))
}

/// An error message that ends with these runs, one a line.
fn listed(first: &str, runs: &[Found]) -> String {
    let line = |Found { picture, .. }: &Found| {
        let run = &picture.run;
        let (since, health) = (clock(run.began), picture.health.word());
        format!("\n  {} since {since}, {health}: process {}", run.topology, run.pid)
    };
    runs.iter().map(line).fold(first.to_owned(), |text, line| text + &line)
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
