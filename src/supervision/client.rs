//! The client's end: finds the supervisors of this user, and reads what one says.

use std::io;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::codec::{FramedRead, LinesCodec};

use super::{About, Asked, ChangeOrder, MESSAGE_MAX, Message, Order, Request, VERSION, Wish};
use crate::status_socket::{Endpoint, Sockets, StatusError, endpoints};

/// How long the first line may take; the supervisor needs milliseconds.
const FIRST_LINE: Duration = Duration::from_secs(5);

/// A supervisor of this user.
#[derive(Debug, Clone)]
pub struct Found {
    endpoint: Endpoint,
    /// What it says of itself.
    pub about: About,
}

/// The lines of a supervisor.
#[derive(Debug)]
pub struct Watching {
    lines: FramedRead<OwnedReadHalf, LinesCodec>,
    /// Kept, because its end would be the end of the connection.
    asks: Option<Asks>,
    pid: u32,
}

/// The way on which a client asks more.
#[derive(Debug)]
pub struct Asks {
    line: OwnedWriteHalf,
    pid: u32,
}

/// The supervisors of this user on this machine. One that does not answer is left out, with a
/// warning.
///
/// # Errors
/// The folder of their sockets cannot be read.
pub async fn supervisors() -> Result<Vec<Found>, StatusError> {
    let mut found = Vec::new();
    for endpoint in endpoints(Sockets::Supervisors)? {
        match watch(&endpoint, Wish::About).await {
            Ok((about, _)) => found.push(Found { endpoint, about }),
            // It has ended, and its socket is removed now; or it runs in another container.
            Err(StatusError::Dead { .. } | StatusError::Elsewhere { .. }) => {}
            Err(error) => {
                let error = crate::error::chain(&error);
                tracing::warn!(error, "A supervisor does not answer.");
            }
        }
    }
    Ok(found)
}

impl Found {
    /// Watches this supervisor, in the place of others if `replace`.
    ///
    /// # Errors
    /// It has ended, or does not answer.
    pub async fn watch(&self, replace: bool) -> Result<(About, Watching), StatusError> {
        watch(&self.endpoint, Wish::Watch { pid: std::process::id(), replace }).await
    }

    /// Orders an experiment. It ends when what is returned last is dropped.
    ///
    /// # Errors
    /// It has ended, does not answer, or refuses the experiment.
    pub async fn order(&self, order: Order) -> Result<(Watching, Asks), StatusError> {
        let (about, mut watching) =
            watch(&self.endpoint, Wish::Experiment(Box::new(order))).await?;
        let asks = watching.asks.take().ok_or(StatusError::Dead { pid: about.pid })?;
        Ok((watching, asks))
    }

    /// Orders a change of the topology. It is carried out, whether or not the steps are read.
    ///
    /// # Errors
    /// It has ended, does not answer, or refuses the change.
    pub async fn change(&self, order: ChangeOrder) -> Result<Watching, StatusError> {
        watch(&self.endpoint, Wish::Change(Box::new(order))).await.map(|(_, watching)| watching)
    }

    /// Has the experiment that is under way healed and ended. Returns what it says of it; `None` if
    /// none was under way.
    ///
    /// # Errors
    /// It has ended, does not answer, or the experiment does not end `within` the time.
    pub async fn halt(&self, within: Duration) -> Result<Option<String>, StatusError> {
        let (about, mut watching) = watch(&self.endpoint, Wish::Halt).await?;
        let pid = about.pid;
        let said = tokio::time::timeout(within, watching.next()).await;
        match said.map_err(|_| StatusError::Silent { pid, within })?? {
            Some(Message::Halted { why, .. }) => Ok(Some(why)),
            Some(_) | None => Ok(None),
        }
    }
}

impl Asks {
    /// Asks one thing.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn ask(&mut self, asked: Asked) -> Result<(), StatusError> {
        let broken = |source| StatusError::Broken { pid: self.pid, source };
        let mut line = serde_json::to_vec(&asked).map_err(|error| broken(error.into()))?;
        line.push(b'\n');
        let sent = tokio::time::timeout(FIRST_LINE, self.line.write_all(&line)).await;
        let sent = sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        sent.map_err(|source| StatusError::Broken { pid: self.pid, source })
    }
}

impl Watching {
    /// Watches the supervisor of this process id.
    ///
    /// # Errors
    /// It has ended, does not answer, or another process watches it.
    pub async fn of(pid: u32) -> Result<(About, Self), StatusError> {
        let endpoints = endpoints(Sockets::Supervisors)?;
        let endpoint = endpoints.iter().find(|one| one.pid == pid && one.is_here);
        let endpoint = endpoint.ok_or(StatusError::Dead { pid })?;
        watch(endpoint, Wish::Watch { pid: std::process::id(), replace: false }).await
    }

    /// The next message; `None` after the last. Loses nothing if it is dropped before it is ready.
    ///
    /// # Errors
    /// The connection broke, or a line is not a message.
    pub async fn next(&mut self) -> Result<Option<Message>, StatusError> {
        let pid = self.pid;
        let broken = |source| StatusError::Broken { pid, source };
        let Some(line) = self.lines.next().await else { return Ok(None) };
        let line = line.map_err(|error| broken(io::Error::other(error)))?;
        let message = serde_json::from_str(&line).map_err(|error| broken(error.into()))?;
        if let Message::Refused(why) = message {
            return Err(StatusError::Refused { pid, why });
        }
        Ok(Some(message))
    }
}

async fn watch(endpoint: &Endpoint, wish: Wish) -> Result<(About, Watching), StatusError> {
    let pid = endpoint.pid;
    let broken = |source| StatusError::Broken { pid, source };
    let request = Request { tandem: VERSION, wish };
    let mut line = serde_json::to_vec(&request).map_err(|error| broken(error.into()))?;
    line.push(b'\n');
    let stream = endpoint.connect(&line).await?;
    // Its pid gets signals, so it must be one of this PID namespace.
    if stream.peer_cred().ok().and_then(|peer| peer.pid()) != i32::try_from(pid).ok() {
        return Err(StatusError::Elsewhere { pid });
    }
    let (heard, line) = stream.into_split();
    let lines = FramedRead::new(heard, LinesCodec::new_with_max_length(MESSAGE_MAX));
    let mut watching = Watching { lines, asks: Some(Asks { line, pid }), pid };
    let first = tokio::time::timeout(FIRST_LINE, watching.next()).await;
    match first.map_err(|_| StatusError::Silent { pid, within: FIRST_LINE })?? {
        Some(Message::About(about)) => Ok((*about, watching)),
        Some(_) => Err(broken(io::ErrorKind::InvalidData.into())),
        None => Err(broken(io::ErrorKind::UnexpectedEof.into())),
    }
}
