//! Errors of the status socket.

use std::io;
use std::path::PathBuf;

/// The status socket cannot be served, or a request failed.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The folder of the sockets cannot be created, read or opened.
    #[error("cannot use the folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users can access the folder. The user has to change that; a retry does not help.
    #[error(
        "{} must belong to the user who runs this, and be closed to all others: chmod 700, or set \
         XDG_STATE_HOME",
        path.display()
    )]
    Open {
        /// The folder.
        path: PathBuf,
    },
    /// The socket cannot be created.
    #[error("cannot listen on {}", path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The process that listened has ended; its socket was removed.
    #[error("process {pid} has ended")]
    Dead {
        /// The process.
        pid: u32,
    },
    /// The process does not answer. A retry may help.
    #[error("process {pid} does not answer within {within:?}: it may be stopped")]
    Silent {
        /// The process.
        pid: u32,
        /// How long the client waited.
        within: std::time::Duration,
    },
    /// The socket belongs to another user.
    #[error("process {pid} belongs to another user")]
    Stranger {
        /// The process.
        pid: u32,
    },
    /// The process is in another PID namespace.
    #[error("process {pid} runs in another container")]
    Elsewhere {
        /// The process, as it is numbered there.
        pid: u32,
    },
    /// The server refuses the request.
    #[error("process {pid} refuses: {why}")]
    Refused {
        /// The process.
        pid: u32,
        /// The server's reason.
        why: String,
    },
    /// The connection broke, or a line is not a reply.
    #[error("the connection to process {pid} broke off")]
    Broken {
        /// The process.
        pid: u32,
        /// The error.
        source: io::Error,
    },
}
