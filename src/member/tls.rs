//! TLS to a store, as the properties of its cluster say.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::telemetry::{Trust, TrustError};

/// The properties of a store's cluster, by name.
pub type Properties = BTreeMap<String, String>;

/// The configuration for TLS: the authorities of `ssl.ca.location`, else those of the system; and
/// the member's certificate, if it has one.
///
/// # Errors
/// A file cannot be read, or does not hold what it should.
pub fn config(properties: &Properties) -> Result<ClientConfig, TrustError> {
    let file = |name: &str| properties.get(name).map(Path::new);
    let mut trust = Trust::default();
    if let Some(authorities) = file("ssl.ca.location") {
        trust.authorities(authorities)?;
    }
    let certificate = file("ssl.certificate.location").zip(file("ssl.key.location"));
    if let Some((chain, key)) = certificate {
        trust.identity(chain, key)?;
    }
    trust.http()
}

/// Opens TLS on connections.
#[derive(Clone)]
pub struct Tls(TlsConnector);

impl Tls {
    /// As the properties of a cluster say; none if they do not ask for it.
    ///
    /// # Errors
    /// A file cannot be read, or does not hold what it should.
    pub fn of(properties: &Properties) -> Result<Option<Self>, TrustError> {
        properties.contains_key("security.protocol").then(|| Self::always(properties)).transpose()
    }

    /// The same of a cluster whose address asks for it.
    ///
    /// # Errors
    /// A file cannot be read, or does not hold what it should.
    pub fn always(properties: &Properties) -> Result<Self, TrustError> {
        Ok(Self(TlsConnector::from(Arc::new(config(properties)?))))
    }

    /// Opens TLS with the server at `address`, which is `host:port`: its certificate must be of
    /// that host.
    ///
    /// # Errors
    /// The handshake fails, or the host is no name of a certificate.
    pub async fn connect(
        &self,
        stream: TcpStream,
        address: &str,
    ) -> io::Result<TlsStream<TcpStream>> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        self.0.connect(name, stream).await
    }
}

/// The arguments of a member that say so.
pub(super) fn arguments(properties: &Properties) -> impl Iterator<Item = String> {
    properties.iter().map(|(name, value)| format!("--property={name}={value}"))
}
