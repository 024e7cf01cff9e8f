//! Why a connection ends, and why the process of the edges does.

use std::io;

use tandem_broker::wire::WireError;

/// Why a connection ends. The client may connect again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Parting {
    /// One side failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
    /// The broker cannot be reached.
    #[error("the broker cannot be reached")]
    Dial(#[source] io::Error),
    /// No frame has that length.
    #[error("a frame of {0} bytes is refused")]
    Length(i32),
    /// Too short, or cut off where its header should be.
    #[error("this is no request")]
    Nonsense,
    /// The broker answered what nobody asked, or in another order.
    #[error("an answer numbered {0} was not asked for")]
    Unasked(i32),
    /// Too many requests wait for their answers.
    #[error("too many requests wait for their answers")]
    Outstanding,
    /// What rules hold exceeds what may be held.
    #[error("requests or answers that are held are too many or too long")]
    Held,
    /// All connections together hold too much.
    #[error("all edges together hold too many bytes")]
    Buffered,
    /// What must be read to be rewritten or answered cannot be.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A rule resets it.
    #[error("a rule resets the connection")]
    Reset,
    /// An address for which there can be no edge must not reach the client.
    #[error("there can be no edge to {host}:{port}")]
    Edge {
        /// The broker's host.
        host: String,
        /// The broker's port.
        port: i32,
    },
    /// The client is gone, and the broker does not close.
    #[error("the other side does not close")]
    Lingering,
}

/// Why the process of the edges cannot run.
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// Threads, signals: the system did not give what a process needs.
    #[error("the process of the edges cannot be set up")]
    System(#[source] io::Error),
}
