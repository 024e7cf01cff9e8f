//! Whether a topology is still kept up.

use super::running::ask;
use super::topology_args::runtime;
use crate::status_socket::{Sockets, endpoints};

/// Whether a process of this user still keeps this up. Other users' processes cannot be asked.
pub(super) fn goes_on(run: &str) -> bool {
    let endpoints = endpoints(Sockets::Status).unwrap_or_default();
    // Most reports are on what has ended long ago, where nothing is to be asked.
    if endpoints.is_empty() {
        return false;
    }
    let Ok(runtime) = runtime() else { return false };
    let named =
        |endpoint| runtime.block_on(ask(endpoint)).is_ok_and(|picture| picture.run.name == run);
    endpoints.iter().any(named)
}
