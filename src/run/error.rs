//! Errors of a run.

use std::io;
use std::path::PathBuf;

use crate::controller::{ClusterError, ProvisionError, Unflushed};
use crate::guard::GuardError;
use crate::hold::HoldError;
use crate::journal::JournalError;
use crate::status_socket::StatusError;

/// The run could not start: exit code 1, or 130 if it was interrupted. Or its journal is
/// incomplete, so it cannot be judged: exit code 4.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The output folder cannot be made or read.
    #[error("cannot write to {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The output folder has files in it, and a run overwrites nothing.
    #[error("{} is not empty: name another folder with --out, or remove it", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// The journal cannot be created.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The guard failed, and nothing runs without it.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// An embedded broker does not start.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A topic cannot be created, or must not be used.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The status socket cannot be opened.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// The supervisor's process cannot be started, or has ended at once.
    #[error("the supervisor cannot be started")]
    Spawn(#[source] io::Error),
    /// The supervisor could not start what it is to keep up.
    #[error("{why}")]
    Unsupervised {
        /// Its reason.
        why: String,
    },
    /// A cluster that is to be observed has no address.
    #[error("a cluster cannot be observed")]
    Unreachable(#[source] HoldError),
    /// The canary's thread cannot be started.
    #[error("stalls of the host cannot be measured")]
    Canary(#[source] io::Error),
    /// A thread that records the run cannot be started.
    #[error("the run cannot be recorded")]
    Thread(#[source] io::Error),
    /// The run is over and healed, but the disk did not accept the whole journal.
    #[error(transparent)]
    Unflushed(#[from] Unflushed),
    /// The run is over, but its journal cannot be read back.
    #[error("cannot judge the run")]
    Unjudged(#[source] JournalError),
    /// A signal came before the members were started.
    #[error("interrupted before anything was measured")]
    Interrupted,
}
