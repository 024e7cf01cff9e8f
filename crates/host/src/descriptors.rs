//! How many files, sockets and pipes a process may open at once.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many descriptors this process may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    /// So many now; nothing where there is no limit.
    pub now: Option<u64>,
    /// So many once it asks for them.
    pub most: Option<u64>,
}

/// How many descriptors this process may have.
#[must_use]
pub fn descriptors() -> Descriptors {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    Descriptors { now: current, most: maximum }
}

/// Asks for as many descriptors as the system lets this process have. The processes that it starts
/// inherit them.
///
/// # Errors
/// The system refuses; the process goes on with what it has.
pub fn raise_descriptors() -> io::Result<()> {
    let Descriptors { now, most } = descriptors();
    if now == most {
        return Ok(());
    }
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).map_err(io::Error::from)
}
