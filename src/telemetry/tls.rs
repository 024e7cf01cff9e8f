//! The certificate authorities that a collector or a store must be verified by, and the client's
//! identity, from PEM files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// Certificates and key, as in their files. Without named authorities, the system's are trusted.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Trust {
    authorities: Option<Vec<u8>>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Why certificates or a key cannot be used. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file lacks what is needed.
    #[error("{} holds no {what} in PEM", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// What is missing from it.
        what: &'static str,
    },
    /// The content cannot be used.
    #[error("{} cannot be used", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rustls::Error,
    },
    /// No authorities of the system could be read.
    #[error(
        "this system has no certificate authorities: name a file with some, of a collector with \
         OTEL_EXPORTER_OTLP_CERTIFICATE, of a store with `ssl.ca.location`"
    )]
    NoAuthorities,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Setup(#[source] rustls::Error),
}

/// Does not show keys.
impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = self.authorities.is_some();
        let identity = self.identity.is_some();
        f.debug_struct("Trust").field("named", &named).field("identity", &identity).finish()
    }
}

impl Trust {
    /// Trusts the authorities in `path`, and no others.
    pub(crate) fn authorities(&mut self, path: &Path) -> Result<(), TrustError> {
        let pem = read(path)?;
        named(path, &pem)?;
        self.authorities = Some(pem);
        Ok(())
    }

    /// Uses the certificate chain in `chain` and the key in `key` as the client's identity.
    pub(crate) fn identity(&mut self, chain: &Path, key: &Path) -> Result<(), TrustError> {
        let (chain_pem, key_pem) = (read(chain)?, read(key)?);
        if certificates(&chain_pem).is_empty() {
            return Err(TrustError::Empty { path: chain.to_owned(), what: "certificate" });
        }
        let Ok(secret) = PrivateKeyDer::from_pem_slice(&key_pem) else {
            return Err(TrustError::Empty { path: key.to_owned(), what: "private key" });
        };
        let unusable = |source| TrustError::Unusable { path: key.to_owned(), source };
        builder()?
            .with_root_certificates(RootCertStore::empty())
            .with_client_auth_cert(certificates(&chain_pem), secret)
            .map_err(unusable)?;
        self.identity = Some((chain_pem, key_pem));
        Ok(())
    }

    /// The configuration for HTTP, and for connections to stores.
    pub(crate) fn http(&self) -> Result<ClientConfig, TrustError> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            Some(pem) => roots.add_parsable_certificates(certificates(pem)),
            None => roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
        };
        if roots.is_empty() {
            return Err(TrustError::NoAuthorities);
        }
        let builder = builder()?.with_root_certificates(roots);
        let Some((chain, key)) = &self.identity else { return Ok(builder.with_no_client_auth()) };
        let none = |_| TrustError::Setup(rustls::Error::General("no private key".to_owned()));
        let key = PrivateKeyDer::from_pem_slice(key).map_err(none)?;
        builder.with_client_auth_cert(certificates(chain), key).map_err(TrustError::Setup)
    }

    /// The configuration for gRPC.
    pub(super) fn grpc(&self) -> ClientTlsConfig {
        let config = ClientTlsConfig::new();
        let config = match &self.authorities {
            Some(pem) => config.ca_certificate(Certificate::from_pem(pem)),
            None => config.with_native_roots(),
        };
        match &self.identity {
            Some((chain, key)) => config.identity(Identity::from_pem(chain, key)),
            None => config,
        }
    }
}

/// The configuration for plain connections: it trusts no authority.
pub fn none() -> Result<ClientConfig, TrustError> {
    Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>;

fn builder() -> Result<Builder, TrustError> {
    // An explicit provider, because the process may have installed no default.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    builder.with_safe_default_protocol_versions().map_err(TrustError::Setup)
}

fn read(path: &Path) -> Result<Vec<u8>, TrustError> {
    fs::read(path).map_err(|source| TrustError::File { path: path.to_owned(), source })
}

fn named(path: &Path, pem: &[u8]) -> Result<(), TrustError> {
    let mut roots = RootCertStore::empty();
    let mut found = false;
    for one in certificates(pem) {
        found = true;
        let unusable = |source| TrustError::Unusable { path: path.to_owned(), source };
        roots.add(one).map_err(unusable)?;
    }
    let empty = || TrustError::Empty { path: path.to_owned(), what: "certificate" };
    found.then_some(()).ok_or_else(empty)
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}
