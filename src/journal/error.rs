//! What can go wrong with a journal.

use std::io;
use std::path::PathBuf;

/// What can go wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file system refused. Worth another try where it was full.
    #[error("cannot {action} the journal {}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The run has said more than a journal may hold. Final.
    #[error("the journal {} has reached its limit of {limit} bytes", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The most that it may hold.
        limit: u64,
    },
    /// A value that JSON cannot express. Final, and a mistake of ours.
    #[error("cannot write a fact as JSON")]
    Unwritable {
        /// Why not.
        source: serde_json::Error,
    },
    /// A line that is no fact, or a first line that is no header. Final.
    #[error("{}:{line}: not a line of a journal", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// Why not.
        source: serde_json::Error,
    },
    /// A line longer than any that was ever written. Final.
    #[error("{}:{line}: longer than {most} bytes", path.display())]
    Long {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// The most that a line may have.
        most: u64,
    },
    /// Not even a header. Final.
    #[error("{} is empty or breaks off in its first line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Written by a later Tandem. Final.
    #[error(
        "{} has the format {found}, and this Tandem reads up to {known}: use a newer one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The highest that is understood.
        known: u32,
    },
    /// Written by an earlier Tandem. Final.
    #[error(
        "{} has the format {found}, whose faults do not say what they do to whom they strike; this \
         Tandem reads {known}: use the one that wrote it",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The one that is understood.
        known: u32,
    },
}
