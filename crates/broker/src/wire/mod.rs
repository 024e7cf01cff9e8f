//! Kafka's framing and requests around the `kafka-protocol` crate: conversion between bytes and
//! values, pure.
//!
//!   bytes -- frame_length --> frame -- parse --> Request -- (a broker) --> encode --> bytes
//!
//! Every request is checked against its expected shape before it is decoded, because the decoder
//! allocates memory for as many elements as an array claims to have.

mod addresses;
mod api;
mod batch;
mod frame;
mod names;
mod request;
mod response;
mod shape;
mod shapes;
mod versions;

pub use addresses::{
    BrokerAddress, BrokerAddresses, Naming, broker_addresses, naming, newest_naming,
};
pub use api::{Api, SUPPORTED, number, supported};
pub use batch::{Batch, BatchError, HEADER_BYTES};
pub use frame::{FRAME_BYTES_MAX, frame_length};
pub use names::{
    COORDINATOR, DATA, FETCH, api_name, api_named, api_names, error_named, error_names, is_error,
};
pub use request::{Incoming, Request, newest_readable, parse, parse_foreign};
pub use response::encode;
pub use versions::cap_versions;

/// Why bytes are not a request. The connection cannot be used any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The length is negative, too short for a header, or above the limit.
    #[error("a frame of {0} bytes is refused")]
    Length(i32),
    /// The API or its version is not supported.
    #[error("version {version} of API {key} is not supported")]
    Unsupported {
        /// The API key.
        key: i16,
        /// The version.
        version: i16,
    },
    /// The bytes do not follow the shape of the request.
    #[error("the request does not have the shape of API {key} in version {version}")]
    Malformed {
        /// The API key.
        key: i16,
        /// The version.
        version: i16,
    },
    /// A value cannot be encoded in the answer's version.
    #[error("the answer cannot be encoded in version {version} of API {key}: {reason}")]
    Encode {
        /// The API key.
        key: i16,
        /// The version.
        version: i16,
        /// The encoder's error.
        reason: String,
    },
}
