//! The sidecar: answers a program over HTTP what the member leads, and for how long.

mod access;
mod answers;
mod events;
mod listener;
mod openapi;
mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub use access::Access;
pub use answers::{EventBody, HealthBody, Leading, NotLeading, Problem, Roles as PartitionRoles};
pub use openapi::openapi;

use super::Holder;
use access::Ends;
use listener::Bounded;

/// A sidecar that listens, and answers once it is served.
#[derive(Debug)]
pub struct Sidecar {
    listener: std::net::TcpListener,
    /// Where it listens.
    pub address: SocketAddr,
    access: Access,
}

impl Sidecar {
    /// Listens on `address`, exclusively.
    ///
    /// # Errors
    /// The address is in use, or cannot be bound.
    pub fn bind(address: SocketAddr, access: Access) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, access })
    }

    /// Answers for `holder`, until it is dropped.
    ///
    /// # Errors
    /// The listener cannot be used.
    pub async fn serve(self, holder: Arc<Holder>) -> io::Result<()> {
        let listener = Bounded::new(self.listener)?;
        let app = routes::router(holder, self.access);
        axum::serve(listener, app.into_make_service_with_connect_info::<Ends>()).await
    }
}
