//! Who may connect to what listens on this machine's loopback: the user who runs it, root, and
//! users who were named. Everybody else on the machine is refused.

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
    /// The kernel does not say who holds the other end.
    #[error("the kernel does not say who holds the other end")]
    Unknown(#[source] io::Error),
}

/// Who may connect to one listener.
#[derive(Debug)]
pub struct Callers {
    /// Nothing where the listener is not on the loopback: then everybody who can reach it may.
    users: Option<BTreeSet<u32>>,
    has_warned: AtomicBool,
}

impl Callers {
    /// Those who may connect to what listens at `local`: on the loopback this user, root, and
    /// `also`. Elsewhere everybody: the kernel knows nobody on another machine.
    #[must_use]
    pub fn of(local: SocketAddr, also: impl IntoIterator<Item = u32>) -> Self {
        let me = rustix::process::geteuid().as_raw();
        let users = || [me, 0].into_iter().chain(also).collect();
        Self { users: local.ip().is_loopback().then(users), has_warned: AtomicBool::new(false) }
    }

    /// Whether the one at `peer` may be connected to `local`, where the connection was accepted.
    ///
    /// # Errors
    /// Another user, nobody any more, or the kernel does not say.
    pub fn admit(&self, local: SocketAddr, peer: SocketAddr) -> Result<(), Refusal> {
        let Some(users) = &self.users else { return Ok(()) };
        match holder(local, peer).map_err(Refusal::Unknown)? {
            Some(user) if users.contains(&user) => Ok(()),
            Some(user) => Err(Refusal::Stranger(user)),
            None => Err(Refusal::Gone),
        }
    }

    /// Whether an accepted connection may stay. Refusals are logged: the first as a warning, the
    /// others where details are asked for, so that nobody can fill a log.
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

/// The number of the user called so, or with this number.
///
/// # Errors
/// There is none, or the system does not say.
pub fn user(name: &str) -> io::Result<u32> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let asked = Command::new("id").args(["-u", "--", name]).stdin(Stdio::null()).output()?;
    let number = String::from_utf8_lossy(&asked.stdout).trim().parse().ok();
    let none = || io::Error::new(io::ErrorKind::NotFound, format!("there is no user {name}"));
    number.filter(|_| asked.status.success()).ok_or_else(none)
}
