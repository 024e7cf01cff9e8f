//! Why nobody could be asked, or nobody answered.

use std::io;
use std::path::PathBuf;

/// Why nobody could be asked, or nobody answered.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The folder of the sockets cannot be made, read or entered.
    #[error("cannot use the folder {}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others could enter it. Final until somebody mends it.
    #[error(
        "{} must belong to the user who runs this, and be closed to all others: chmod 700, or set \
         XDG_STATE_HOME",
        path.display()
    )]
    Open {
        /// Which.
        path: PathBuf,
    },
    /// The socket cannot be made.
    #[error("cannot listen on {}", path.display())]
    Listen {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Whoever listened there is dead; its socket was removed.
    #[error("process {pid} has ended")]
    Dead {
        /// Which.
        pid: u32,
    },
    /// It is there, and does not answer. Worth another try.
    #[error("process {pid} does not answer within {within:?}: it may be stopped")]
    Silent {
        /// Which.
        pid: u32,
        /// How long it was waited for.
        within: std::time::Duration,
    },
    /// It is somebody else's.
    #[error("process {pid} belongs to another user")]
    Stranger {
        /// Which.
        pid: u32,
    },
    /// It does not want to.
    #[error("process {pid} refuses: {why}")]
    Refused {
        /// Which.
        pid: u32,
        /// Why, in its words.
        why: String,
    },
    /// The connection broke, or what came is no answer.
    #[error("process {pid} broke off")]
    Broken {
        /// Which.
        pid: u32,
        /// How.
        source: io::Error,
    },
}
