//! The reasons why a connection ends, and the errors of the process of the edges.

use std::io;

use tandem_broker::wire::WireError;

/// Why a connection ends. The client may connect again.
#[derive(Debug, thiserror::Error)]
pub(super) enum CloseReason {
    /// One side failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
    /// The broker cannot be reached.
    #[error("the broker cannot be reached")]
    Dial(#[source] io::Error),
    /// The length prefix of a frame is not valid.
    #[error("a frame of {0} bytes is refused")]
    Length(i32),
    /// The frame is too short, or ends within its header.
    #[error("this is no request")]
    Nonsense,
    /// The broker sent an answer without a request, or out of order.
    #[error("the broker sent answer {0} without a request")]
    Unasked(i32),
    /// Too many requests wait for their answers.
    #[error("too many requests wait for their answers")]
    Outstanding,
    /// Rules hold more bytes than allowed.
    #[error("rules hold too many or too long requests or answers")]
    Held,
    /// All connections together hold too many bytes.
    #[error("all edges together hold too many bytes")]
    Buffered,
    /// A request or answer cannot be parsed, although it has to be rewritten or answered.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A rule resets the connection.
    #[error("a rule resets the connection")]
    Reset,
    /// The address of a broker without an edge, which must not reach the client.
    #[error("cannot open an edge to {host}:{port}")]
    Edge {
        /// The broker's host.
        host: String,
        /// The broker's port.
        port: i32,
    },
    /// The client has closed, and the broker does not.
    #[error("the other side does not close")]
    Lingering,
}

/// Why the process of the edges cannot run.
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// The system refuses threads or signal handlers.
    #[error("cannot set up the process of the edges")]
    System(#[source] io::Error),
}
