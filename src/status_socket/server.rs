//! The end that is asked: the socket, and how many may ask at once.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::StatusError;
use super::connection::{Source, attend, turn_away};
use super::endpoint::{Folder, folder, own_name};

/// How many may ask at once; each follower is one.
const CLIENTS_MAX: usize = 16;
/// How long those who follow have to hear that it is over.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long nobody is let in after the system refused.
const RETRY: Duration = Duration::from_millis(100);

/// A socket that listens. Dropped, it is gone.
#[derive(Debug)]
pub struct StatusServer {
    listener: UnixListener,
    folder: Folder,
    name: String,
}

impl StatusServer {
    /// Makes the socket of this process, which only its owner may open.
    ///
    /// # Errors
    /// The folder or the socket cannot be made, or others could reach it.
    pub fn open() -> Result<Self, StatusError> {
        let folder = Folder::make(&folder())?;
        let name = own_name();
        let (unfinished, name) = (format!("{name}.new"), format!("{name}.sock"));
        let refused = |source| StatusError::Listen { path: folder.shown(&name), source };
        let way = folder.way(&unfinished);
        // Somebody with our number died right here.
        fs::remove_file(&way).ok();
        let listener = UnixListener::bind(&way).map_err(refused)?;
        fs::set_permissions(&way, Permissions::from_mode(0o600)).map_err(refused)?;
        // Whoever finds it finds somebody who listens: what does not answer is taken for dead.
        fs::rename(&way, folder.way(&name)).map_err(refused)?;
        Ok(Self { listener, folder, name })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.shown(&self.name)
    }

    /// Replies whoever asks, until stopped; then those who follow are told that it is over.
    pub async fn serve(self, source: Arc<dyn Source>, stop: CancellationToken) {
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
                    turn_away(&stream, format!("{CLIENTS_MAX} others are asking; try again"));
                }
                Ok((stream, _)) => {
                    let (source, stop) = (Arc::clone(&source), stop.clone());
                    clients.spawn(attend(stream, source, stop));
                }
                Err(error) => {
                    tracing::warn!(%error, "Nobody can be let in.");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
        let all = async { while clients.join_next().await.is_some() {} };
        tokio::time::timeout(FAREWELL, all).await.ok();
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        let gone = fs::remove_file(self.folder.way(&self.name));
        if let Err(error) = gone
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %self.path().display(), "The socket stays.");
        }
    }
}
