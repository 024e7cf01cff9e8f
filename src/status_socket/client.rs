//! The client's end of the status socket.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::protocol::{ANSWER_MAX, Reply, ReplyLine, Request};
use super::{Endpoint, StatusError};

/// How long the first line of a reply may take; the server needs milliseconds.
const FIRST_LINE: Duration = Duration::from_secs(5);

/// The replies to one request, in the order of their lines.
#[derive(Debug)]
pub struct Replies {
    lines: BufReader<UnixStream>,
    pid: u32,
    begun: bool,
}

impl Endpoint {
    /// Connects, and sends a request.
    ///
    /// # Errors
    /// The process has ended (the socket is then removed), does not answer, or belongs to another
    /// user.
    pub async fn ask(&self, request: Request) -> Result<Replies, StatusError> {
        let mut line = serde_json::to_vec(&request)
            .map_err(|error| StatusError::Broken { pid: self.pid, source: error.into() })?;
        line.push(b'\n');
        let stream = self.connect(&line).await?;
        Ok(Replies { lines: BufReader::new(stream), pid: self.pid, begun: false })
    }

    /// Connects, and sends a line.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub async fn connect(&self, line: &[u8]) -> Result<UnixStream, StatusError> {
        let pid = self.pid;
        let asked = async {
            let mut stream = UnixStream::connect(self.way()).await?;
            let peer = stream.peer_cred()?.uid();
            if peer != rustix::process::geteuid().as_raw() {
                return Ok(None);
            }
            stream.write_all(line).await?;
            Ok(Some(stream))
        };
        match tokio::time::timeout(FIRST_LINE, asked).await {
            Err(_) => Err(StatusError::Silent { pid, within: FIRST_LINE }),
            Ok(Ok(None)) => Err(StatusError::Stranger { pid }),
            Ok(Ok(Some(stream))) => Ok(stream),
            Ok(Err(error)) if is_dead(&error) => {
                self.remove();
                Err(StatusError::Dead { pid })
            }
            Ok(Err(source)) => Err(StatusError::Broken { pid, source }),
        }
    }
}

/// Whether no process listens on the socket any more.
fn is_dead(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
}

impl Replies {
    /// The next reply. The first one is waited for within a bound.
    ///
    /// # Errors
    /// The server refuses, does not answer, or the connection broke.
    pub async fn next(&mut self) -> Result<Reply, StatusError> {
        let pid = self.pid;
        let broken = |source| StatusError::Broken { pid, source };
        let mut line = Vec::new();
        let mut bounded = (&mut self.lines).take(ANSWER_MAX);
        let read = bounded.read_until(b'\n', &mut line);
        if self.begun {
            read.await.map_err(broken)?;
        } else {
            let silent = |_| StatusError::Silent { pid, within: FIRST_LINE };
            tokio::time::timeout(FIRST_LINE, read).await.map_err(silent)?.map_err(broken)?;
            self.begun = true;
        }
        if !line.ends_with(b"\n") {
            return Err(broken(io::ErrorKind::UnexpectedEof.into()));
        }
        let line: ReplyLine =
            serde_json::from_slice(&line).map_err(|error| broken(error.into()))?;
        if let Reply::Refused { why } = line.reply {
            return Err(StatusError::Refused { pid, why });
        }
        Ok(line.reply)
    }
}
