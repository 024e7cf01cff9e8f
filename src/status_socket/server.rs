//! The server's end of the status socket: listens, and accepts a limited number of clients.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::StatusError;
use super::connection::{Source, attend};
use super::endpoint::{Folder, Sockets, own_name};
use super::protocol::Reply;

/// How many clients may be connected; each follower is one.
const CLIENTS_MAX: usize = 16;
/// How long followers have to read that the run is over.
const FAREWELL: Duration = Duration::from_millis(500);
/// The wait after a failed `accept`.
const RETRY: Duration = Duration::from_millis(100);

/// A listening socket. Dropping it removes the file.
#[derive(Debug)]
pub struct Listening {
    listener: UnixListener,
    folder: Folder,
    name: String,
}

/// The status socket of this process.
#[derive(Debug)]
pub struct StatusServer(Listening);

impl StatusServer {
    /// Creates the socket of this process, which only its owner may open.
    ///
    /// # Errors
    /// The folder or the socket cannot be created, or other users could open it.
    pub fn open() -> Result<Self, StatusError> {
        Listening::open(Sockets::Status).map(Self)
    }

    /// Answers clients until `stop` is cancelled; then followers get the end of the run.
    pub async fn serve(self, source: Arc<dyn Source>, stop: CancellationToken) {
        let attend = |stream| attend(stream, Arc::clone(&source), stop.clone());
        self.0.serve(attend, |why| Reply::refused(why).line(), FAREWELL, &stop).await;
    }
}

impl Listening {
    /// Creates the socket of this process, which only its owner may open.
    ///
    /// # Errors
    /// The folder or the socket cannot be created, or other users could open it.
    pub fn open(sockets: Sockets) -> Result<Self, StatusError> {
        let folder = Folder::make(&sockets.folder())?;
        let name = own_name();
        let (unfinished, name) = (format!("{name}.new"), format!("{name}.sock"));
        let refused = |source| StatusError::Listen { path: folder.shown(&name), source };
        let way = folder.way(&unfinished);
        // An earlier process with this pid may have died at this point.
        fs::remove_file(&way).ok();
        let listener = UnixListener::bind(&way).map_err(refused)?;
        fs::set_permissions(&way, Permissions::from_mode(0o600)).map_err(refused)?;
        // It gets its final name once it listens: clients take a socket that refuses for dead.
        fs::rename(&way, folder.way(&name)).map_err(refused)?;
        Ok(Self { listener, folder, name })
    }

    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.shown(&self.name)
    }

    /// Lets `attend` answer each client until `stop` is cancelled; then all have the time of
    /// `farewell` to end. A client too many gets what `refusal` says.
    pub async fn serve<A>(
        self,
        attend: impl Fn(UnixStream) -> A,
        refusal: impl Fn(String) -> Vec<u8>,
        farewell: Duration,
        stop: &CancellationToken,
    ) where
        A: Future<Output = ()> + Send + 'static,
    {
        let mut clients = JoinSet::new();
        loop {
            let stream = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = clients.join_next(), if !clients.is_empty() => continue,
                stream = self.listener.accept() => stream,
            };
            match stream {
                Ok((stream, _)) if clients.len() >= CLIENTS_MAX => {
                    let why = format!("{CLIENTS_MAX} other clients are connected; try again");
                    // A client that cannot take it is disconnected all the same.
                    stream.try_write(&refusal(why)).ok();
                }
                Ok((stream, _)) => {
                    clients.spawn(attend(stream));
                }
                Err(error) => {
                    tracing::warn!(%error, "A client cannot connect.");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
        let all = async { while clients.join_next().await.is_some() {} };
        tokio::time::timeout(farewell, all).await.ok();
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let gone = fs::remove_file(self.folder.way(&self.name));
        if let Err(error) = gone
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %self.path().display(), "The socket was not removed.");
        }
    }
}
