//! Why a run could not begin.

use std::io;
use std::path::PathBuf;

use crate::controller::{ClusterError, ProvisionError, Unflushed};
use crate::guard::GuardError;
use crate::journal::JournalError;
use crate::status_socket::InquiryError;

/// Why a run could not begin: exit code 1, or 130 where it was interrupted. Or why nothing can be
/// said of it although it was played: exit code 4.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The output folder cannot be made or read.
    #[error("cannot write to {}", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Nothing is ever overwritten.
    #[error("{} is not empty: name another folder with --out, or remove it", folder.display())]
    NotEmpty {
        /// Which.
        folder: PathBuf,
    },
    /// The journal cannot be begun.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Nothing runs without its guard.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// An embedded broker does not start.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A topic cannot be made, or must not be used.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// Nobody could ask how it stands.
    #[error(transparent)]
    Inquiry(#[from] InquiryError),
    /// The canary's thread was refused.
    #[error("the host's stalls cannot be watched")]
    Canary(#[source] io::Error),
    /// The thread that writes the journal was refused, or the one that notes suspends.
    #[error("the run cannot be recorded")]
    Thread(#[source] io::Error),
    /// The run is over, everything is healed, and the disk did not take its journal.
    #[error(transparent)]
    Unflushed(#[from] Unflushed),
    /// A signal came before the members were started.
    #[error("interrupted before anything was measured")]
    Interrupted,
}
