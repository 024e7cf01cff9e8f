//! The sidecar: answers a program over HTTP what the member leads, and for how long.

mod access;
mod answers;
mod events;
mod listener;
mod openapi;
mod place;
mod routes;

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

pub use access::Access;
pub use answers::{EventBody, HealthBody, Leading, NotLeading, Problem, Roles as PartitionRoles};
pub use openapi::openapi;
pub use place::ServeAt;

use super::Holder;
use crate::http::serve;
use listener::{CONNECTIONS_MAX, Listener, Socket, bind_unix};

/// A sidecar that listens, and answers once it is served.
#[derive(Debug)]
pub struct Sidecar {
    socket: Socket,
    /// Where it listens.
    pub at: ServeAt,
    access: Access,
}

impl Sidecar {
    /// Listens there, exclusively.
    ///
    /// # Errors
    /// The address is in use, or cannot be bound.
    pub fn bind(at: &ServeAt, access: Access) -> io::Result<Self> {
        let (socket, at) = match at {
            ServeAt::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let at = ServeAt::Tcp(listener.local_addr()?);
                (Socket::Tcp(listener), at)
            }
            ServeAt::Unix(path) => {
                // A program may run in another folder.
                let path: PathBuf = std::path::absolute(path)?;
                (bind_unix(&path)?, ServeAt::Unix(path))
            }
        };
        Ok(Self { socket, at, access })
    }

    /// Answers for `holder`, until it is dropped.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub async fn serve(self, holder: Arc<Holder>) -> io::Result<()> {
        let listener = Listener::new(self.socket)?;
        match serve(listener, CONNECTIONS_MAX, routes::router(holder, self.access)).await {}
    }
}
