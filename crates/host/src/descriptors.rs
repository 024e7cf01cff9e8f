//! The limits on open files, sockets and pipes of a process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limits on descriptors of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// The soft limit; none if there is no limit.
    pub now: Option<u64>,
    /// The hard limit, up to which the process may raise the soft one.
    pub most: Option<u64>,
}

/// The limits on descriptors of this process.
#[must_use]
pub fn descriptors() -> Descriptors {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    Descriptors { now: current, most: maximum }
}

/// Raises the soft limit on descriptors to the hard one. Child processes inherit it.
///
/// # Errors
/// The system refuses; the limit stays as it is.
pub fn raise_descriptors() -> io::Result<()> {
    let Descriptors { now, most } = descriptors();
    if now == most {
        return Ok(());
    }
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).map_err(io::Error::from)
}
