//! TLS towards brokers, where this program was built without it.

use super::order::Tls;

/// There can be none.
#[derive(Debug, thiserror::Error)]
#[error("this tandem was built without TLS: build it with --features tls")]
pub(super) struct TlsError;

/// Nobody has one.
#[derive(Debug, Clone)]
pub(super) enum Security {}

impl Security {
    /// There can be none.
    pub(super) const fn of(_: &Tls) -> Result<Self, TlsError> {
        Err(TlsError)
    }
}
