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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_to_build() {
        let tls: Tls = serde_json::from_str("{}").unwrap();
        let why = Security::of(&tls).unwrap_err().to_string();
        assert!(why.contains("--features tls"), "{why}");
    }
}
