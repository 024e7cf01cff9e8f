//! Finds the status sockets of this user.
//!
//! A socket is named after the host, its boot, the PID namespace and the process, joined by dashes,
//! which no part has: two containers may have one host name, and process 1 each. A folder that
//! several hosts share holds their sockets as well; these are ignored. Sockets of dead processes
//! and former boots are removed. The path of a socket is limited to 108 bytes, so it is opened
//! through the descriptor of its folder.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, fstat, open};

use super::StatusError;
use crate::guard::{PidScope, state_home};

/// The sockets of one kind, which have a folder of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sockets {
    /// Those on which `tandem up` answers `tandem status` and `tandem events`.
    Status,
    /// Those on which supervisors answer `tandem up`.
    Supervisors,
}

impl Sockets {
    /// The folder of the sockets.
    #[must_use]
    pub fn folder(self) -> PathBuf {
        state_home().join(match self {
            Self::Status => "tandem/up",
            Self::Supervisors => "tandem/supervisors",
        })
    }
}

/// The socket of a process, which may have ended.
#[derive(Debug, Clone)]
pub struct Endpoint {
    folder: Arc<Folder>,
    name: String,
    /// The process that listens on it.
    pub pid: u32,
    /// Whether that number is of this PID namespace, as far as the name says.
    pub is_here: bool,
}

/// A folder that only this user can access, held open.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    fd: OwnedFd,
}

impl Folder {
    /// Opens the folder, and creates it if it is missing.
    pub(super) fn make(path: &Path) -> Result<Self, StatusError> {
        let refused = |source| StatusError::Folder { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        Self::enter(path)
    }

    /// Opens the folder, which must be accessible only to this user.
    fn enter(path: &Path) -> Result<Self, StatusError> {
        let refused = |error: rustix::io::Errno| StatusError::Folder {
            path: path.to_owned(),
            source: error.into(),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(refused)?;
        let found = fstat(&fd).map_err(refused)?;
        let me = rustix::process::geteuid().as_raw();
        if found.st_uid != me || found.st_mode & 0o077 != 0 {
            return Err(StatusError::Open { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), fd })
    }

    /// A path to `name` through the folder's descriptor, which is always short.
    pub(super) fn way(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    /// The full path of `name`, for messages.
    pub(super) fn shown(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// The name of this process's socket, without its extension.
pub(super) fn own_name() -> String {
    let (host, boot) = host_and_boot();
    format!("{host}-{boot}-{}-{}", own_pids(), std::process::id())
}

/// The number of this process's PID namespace.
fn own_pids() -> String {
    PidScope::here().pids.chars().filter(char::is_ascii_digit).collect()
}

fn host_and_boot() -> (String, String) {
    let pid_scope = PidScope::here();
    let legal = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
    let host: String = pid_scope.host.chars().filter(legal).take(32).collect();
    (host, pid_scope.boot.chars().filter(char::is_ascii_hexdigit).take(12).collect())
}

/// The host, the boot, the PID namespace and the process in the name of a socket. Earlier versions
/// named no namespace.
fn parts(name: &str) -> Option<(&str, &str, Option<&str>, u32)> {
    let parts: Vec<&str> = name.strip_suffix(".sock")?.split('-').collect();
    match *parts {
        [host, boot, pid] => Some((host, boot, None, pid.parse().ok()?)),
        [host, boot, pids, pid] => Some((host, boot, Some(pids), pid.parse().ok()?)),
        _ => None,
    }
}

/// The sockets of a kind on this host, ordered by process id. Those of former boots are removed.
///
/// # Errors
/// The folder cannot be read, or other users can access it.
pub fn endpoints(sockets: Sockets) -> Result<Vec<Endpoint>, StatusError> {
    let path = sockets.folder();
    let folder = match Folder::enter(&path) {
        Err(StatusError::Folder { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        folder => Arc::new(folder?),
    };
    let refused = |source| StatusError::Folder { path: path.clone(), source };
    let ((host, boot), here) = (host_and_boot(), own_pids());
    let mut found = Vec::new();
    for entry in fs::read_dir(&path).map_err(refused)? {
        let entry = entry.map_err(refused)?.file_name();
        let Some(name) = entry.to_str() else { continue };
        let Some((on, when, pids, pid)) = parts(name) else { continue };
        let (folder, is_here) = (Arc::clone(&folder), pids.is_none_or(|pids| pids == here));
        let endpoint = Endpoint { folder, name: name.to_owned(), pid, is_here };
        if on == host && when == boot {
            found.push(endpoint);
        } else if on == host {
            endpoint.remove();
        }
    }
    found.sort_by_key(|endpoint| endpoint.pid);
    Ok(found)
}

impl Endpoint {
    /// A short path to its socket.
    pub(super) fn way(&self) -> PathBuf {
        self.folder.way(&self.name)
    }

    /// Removes the socket of a dead process.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_file(self.way())
            && error.kind() != io::ErrorKind::NotFound
        {
            let path = self.folder.shown(&self.name);
            tracing::warn!(%error, path = %path.display(), "A dead socket could not be removed.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_as_it_was() {
        let (name, (host, boot)) = (format!("{}.sock", own_name()), host_and_boot());
        let (here, pid) = (own_pids(), std::process::id());
        assert_eq!(parts(&name), Some((host.as_str(), boot.as_str(), Some(here.as_str()), pid)));
        assert_eq!(parts("h-b-7.sock"), Some(("h", "b", None, 7)));
        for other in ["h-b-7", "h-7.sock", "h-b-1-2-7.sock", "h-b-x.sock"] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
