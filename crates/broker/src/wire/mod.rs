//! Kafka's framing and requests around the `kafka-protocol` crate: bytes to values and back, pure.
//!
//!   bytes -- frame_length --> frame -- parse --> Request -- (a broker) --> encode --> bytes
//!
//! Whatever arrives is measured against the shape of its request before it is decoded, for the
//! decoder reserves memory for as many elements as an array claims to have.

mod api;
mod batch;
mod frame;
mod names;
mod places;
mod request;
mod response;
mod shape;
mod shapes;
mod versions;

pub use api::{Api, SUPPORTED, number, supported};
pub use batch::{Batch, BatchError, HEADER_BYTES};
pub use frame::{FRAME_BYTES_MAX, frame_length};
pub use names::{
    COORDINATOR, DATA, api_name, api_named, api_names, error_named, error_names, is_error,
};
pub use places::{Naming, Place, Places, naming, newest_naming, places};
pub use request::{Incoming, Request, newest_readable, parse, parse_foreign};
pub use response::encode;
pub use versions::cap_versions;

/// Why bytes are no request. None of these may be tried again; the connection is of no more use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Negative, too small for a header, or absurd.
    #[error("a frame of {0} bytes is refused")]
    Length(i32),
    /// Not one of those that are spoken here.
    #[error("the API {key} in version {version} is not spoken here")]
    Unsupported {
        /// The API's number.
        key: i16,
        /// The version of it.
        version: i16,
    },
    /// The bytes do not follow the shape of the request.
    #[error("the request does not have the shape of API {key} in version {version}")]
    Malformed {
        /// The API's number.
        key: i16,
        /// The version of it.
        version: i16,
    },
    /// A value does not fit into the answer's version.
    #[error("the answer cannot be written in version {version} of API {key}: {reason}")]
    Encode {
        /// The API's number.
        key: i16,
        /// The version of it.
        version: i16,
        /// What the encoder said.
        reason: String,
    },
}
