//! The TLS module of builds without TLS.

use super::command::Tls;

/// TLS is not available.
#[derive(Debug, thiserror::Error)]
#[error("this tandem was built without TLS: build it with --features tls")]
pub(super) struct TlsError;

/// TLS settings, of which this build has none.
#[derive(Debug, Clone)]
pub(super) enum Security {}

impl Security {
    /// Always fails.
    pub(super) const fn of(_: &Tls) -> Result<Self, TlsError> {
        Err(TlsError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_what_to_build() {
        let tls: Tls = serde_json::from_str("{}").unwrap();
        let why = Security::of(&tls).unwrap_err().to_string();
        assert!(why.contains("--features tls"), "{why}");
    }
}
