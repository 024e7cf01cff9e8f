//! Errors of a journal.

use std::io;
use std::path::PathBuf;

/// Errors of a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file system refused. A retry may succeed if it was full.
    #[error("cannot {action} the journal {}", path.display())]
    File {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The journal has reached its size limit. Not retryable.
    #[error("the journal {} has reached its limit of {limit} bytes", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The most that it may hold.
        limit: u64,
    },
    /// A value that JSON cannot express: a bug. Not retryable.
    #[error("cannot write a fact as JSON")]
    Unwritable {
        /// The cause.
        source: serde_json::Error,
    },
    /// A line is not a fact, or the first line is not a header. Not retryable.
    #[error("{}:{line}: not a line of a journal", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// The cause.
        source: serde_json::Error,
    },
    /// A line is longer than any valid one. Not retryable.
    #[error("{}:{line}: longer than {most} bytes", path.display())]
    Long {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// The most that a line may have.
        most: u64,
    },
    /// The file has no complete header. Not retryable.
    #[error("{} is empty or breaks off in its first line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A later version of Tandem wrote the file. Not retryable.
    #[error(
        "{} has format {found}, and this Tandem reads up to format {known}: use a newer version",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        found: u32,
        /// The latest version that this program reads.
        known: u32,
    },
    /// An earlier version of Tandem wrote the file. Not retryable.
    #[error(
        "{} has format {found}, which lacks the class of each fault; this Tandem reads format \
         {known}: use the version that wrote it",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
}
