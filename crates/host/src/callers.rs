//! Access control for listeners on this machine's loopback: the user who runs the process, root,
//! and named users may connect. All other users of the machine are refused.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use super::holder;

/// Why a connection is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Another user of this machine holds the other end.
    #[error("user {0} of this machine may not connect")]
    Stranger(u32),
    /// No process holds the other end any more.
    #[error("no process of this machine holds the other end")]
    Gone,
    /// The kernel does not report who holds the other end.
    #[error("the kernel does not report who holds the other end")]
    Unknown(#[source] io::Error),
}

/// The users who may connect to one listener.
#[derive(Debug)]
pub struct Callers {
    /// The admitted users; none where the listener is not on the loopback and admits every
    /// connection.
    users: Option<BTreeSet<u32>>,
    has_warned: AtomicBool,
}

impl Callers {
    /// The callers admitted to a listener at `local`: on the loopback this user, root, and `also`.
    /// A listener on any other address admits every caller, since the kernel does not know the
    /// users of other machines.
    #[must_use]
    pub fn of(local: SocketAddr, also: impl IntoIterator<Item = u32>) -> Self {
        let me = rustix::process::geteuid().as_raw();
        let users = || [me, 0].into_iter().chain(also).collect();
        Self { users: local.ip().is_loopback().then(users), has_warned: AtomicBool::new(false) }
    }

    /// Checks whether the caller at `peer` may use a connection that was accepted at `local`.
    ///
    /// # Errors
    /// The caller is another user, is gone, or the kernel does not report its user.
    pub fn admit(&self, local: SocketAddr, peer: SocketAddr) -> Result<(), Refusal> {
        let Some(users) = &self.users else { return Ok(()) };
        match holder(local, peer).map_err(Refusal::Unknown)? {
            Some(user) if users.contains(&user) => Ok(()),
            Some(user) => Err(Refusal::Stranger(user)),
            None => Err(Refusal::Gone),
        }
    }

    /// Whether an accepted connection may stay. The first refusal is logged as a warning, later
    /// ones at debug level, so that callers cannot fill the log.
    #[must_use]
    pub fn admits(&self, local: io::Result<SocketAddr>, peer: SocketAddr) -> bool {
        let admitted = local.map_err(Refusal::Unknown).and_then(|local| self.admit(local, peer));
        let Err(refusal) = admitted else { return true };
        let why = crate::error::chain(&refusal);
        if matches!(refusal, Refusal::Gone) || self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::debug!(%peer, why, "A connection was refused.");
        } else {
            tracing::warn!(%peer, why, "A connection was refused; more are not reported.");
        }
        false
    }
}

/// The id of the user with this name or number.
///
/// # Errors
/// There is no such user, or the system does not report it.
pub fn user(name: &str) -> io::Result<u32> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let output = Command::new("id").args(["-u", "--", name]).stdin(Stdio::null()).output()?;
    let number = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    let none = || io::Error::new(io::ErrorKind::NotFound, format!("there is no user {name}"));
    number.filter(|_| output.status.success()).ok_or_else(none)
}
