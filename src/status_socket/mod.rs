//! The Unix socket on which `tandem up` serves its status and events: server and client.
//!
//! ```text
//!  tandem up ---> StatusServer <--- status, events --- Source
//!                      ^
//!                      |  one line of request, lines of replies; JSON
//!  tandem status, events ---> Endpoint
//! ```
//!
//! The socket is in `$XDG_STATE_HOME/tandem/up`, in a folder that only its owner can access, and
//! the server refuses other users. A client sends one line of at most [`ASK_MAX`] bytes:
//! `{"tandem":1,"ask":"status"}` or `{"tandem":1,"ask":"events","follow":true}`. Each line of the
//! server is an object with `tandem`, the version, and one more key: `status`, `event`, `end` (no
//! more events), `dropped` (the client is too slow and is disconnected) or `refused`. The replies
//! to `events` start with a `status`.
//!
//! Everything is bounded: the number of clients, the size of a request, how far a client may be
//! behind, and how long it may take to read. A slow client affects neither the run nor other
//! clients.

mod client;
mod connection;
mod endpoint;
mod error;
mod protocol;
mod server;

pub use client::Replies;
pub use connection::{Feed, Source};
pub use endpoint::{Endpoint, Sockets, endpoints};
pub use error::StatusError;
pub use protocol::{ANSWER_MAX, ASK_MAX, Ask, Reply, Request, VERSION};
pub use server::{Listening, StatusServer};
