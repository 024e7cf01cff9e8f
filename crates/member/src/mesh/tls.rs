//! TLS with certificates at both ends. What counts is the authority, which is the mesh's own: a
//! name adds nothing where each member dials and is dialed, and addresses of members come and go.

use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error,
    RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};

use super::session::Session;
use super::trust::MeshCertificates;

/// The settings of both ends.
pub(super) struct Keys {
    dials: Arc<ClientConfig>,
    accepts: Arc<ServerConfig>,
}

impl Keys {
    /// # Errors
    /// A file cannot be read, or used.
    pub(super) fn of(files: &MeshCertificates) -> io::Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for one in certificates(&files.authority)? {
            roots.add(one).map_err(|why| unusable(&files.authority, &why))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(&files.certificate)?;
        let key =
            || PrivateKeyDer::from_pem_file(&files.key).map_err(|why| unusable(&files.key, &why));
        let wrong = |why: &dyn Display| unusable(&files.authority, why);
        let theirs =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let theirs = Arc::new(OfAuthority(theirs.build().map_err(|why| wrong(&why))?));
        let mut dials = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|why| wrong(&why))?
            .dangerous()
            .with_custom_certificate_verifier(theirs)
            .with_client_auth_cert(chain.clone(), key()?)
            .map_err(|why| unusable(&files.key, &why))?;
        dials.resumption = rustls::client::Resumption::disabled();
        let guests = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let guests = guests.build().map_err(|why| wrong(&why))?;
        let mut accepts = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| wrong(&why))?
            .with_client_cert_verifier(guests)
            .with_single_cert(chain, key()?)
            .map_err(|why| unusable(&files.key, &why))?;
        accepts.send_tls13_tickets = 0;
        Ok(Self { dials: Arc::new(dials), accepts: Arc::new(accepts) })
    }

    pub(super) fn dials(&self, to: IpAddr) -> io::Result<Session> {
        let name = ServerName::IpAddress(to.into());
        let session = ClientConnection::new(Arc::clone(&self.dials), name);
        let session = session.map_err(io::Error::other)?;
        Ok(Session::Tls(Box::new(Connection::Client(session))))
    }

    pub(super) fn accepts(&self) -> io::Result<Session> {
        let session = ServerConnection::new(Arc::clone(&self.accepts)).map_err(io::Error::other)?;
        Ok(Session::Tls(Box::new(Connection::Server(session))))
    }
}

fn unusable(path: &Path, why: &dyn Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("cannot use {}: {why}", path.display()))
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.map_err(|why| unusable(path, &why))?;
    if all.is_empty() { Err(unusable(path, &"it holds no certificate in PEM")) } else { Ok(all) }
}

/// Accepts every certificate of the authority, for any name.
#[derive(Debug)]
struct OfAuthority(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for OfAuthority {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The name is the last that it looks at.
        match self.0.verify_server_cert(own, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            judged @ (Ok(_) | Err(_)) => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
