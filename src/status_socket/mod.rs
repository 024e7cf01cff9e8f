//! The socket on which a run that goes on is asked how it stands, and both ends of it.
//!
//! ```text
//!  tandem up ---> StatusServer ----- picture, events ----> Source
//!                  ^
//!                  |  one line asks, lines answer; JSON
//!  tandem status, events ---> Endpoint
//! ```
//!
//! The socket stands in `$XDG_STATE_HOME/tandem/up`, in a folder that only its owner may enter, and
//! takes no word from another user. Who asks sends one line, `{"tandem":1,"ask":"status"}` or
//! `{"tandem":1,"ask":"events","follow":true}`, of [`ASK_MAX`] bytes at most. Each line of the
//! answer is an object with `tandem`, the version, and one key more: `status`, `event`, `end` (all
//! was said), `dropped` (who asks is too slow, and is told no more) or `refused`. The answer to
//! `events` begins with a `status`.
//!
//! Everything is bounded: how many ask at once, what one may send, how far one may be behind, and
//! how long one may take to read. Who does not read disturbs nobody.

mod client;
mod connection;
mod endpoint;
mod error;
mod protocol;
mod server;

pub use client::Replies;
pub use connection::{Feed, Source};
pub use endpoint::{Endpoint, endpoints, folder};
pub use error::StatusError;
pub use protocol::{ANSWER_MAX, ASK_MAX, Ask, Reply, Request, VERSION};
pub use server::StatusServer;
