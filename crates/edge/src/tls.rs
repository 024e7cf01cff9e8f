//! TLS towards brokers, with the same library and rules as the clients' own.

use std::io::{self, Read, Write};
use std::path::Path;

use openssl::pkey::PKey;
use openssl::ssl::{ErrorCode, SslConnector, SslMethod, SslStream, SslVerifyMode};
use openssl::x509::store::X509StoreBuilder;
use tokio::net::TcpStream;

use super::command::Tls;
use tandem_host::secret::{SecretError, fetch};

/// Why the TLS settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error("cannot use {what} {path}: {why}")]
    File { what: &'static str, path: String, why: String },
    #[error("cannot read the password of the key")]
    Password(#[from] SecretError),
    #[error("cannot set up TLS: {0}")]
    Library(#[from] openssl::error::ErrorStack),
}

/// A socket for OpenSSL that never waits.
#[derive(Debug)]
pub(super) struct Socket(pub TcpStream);

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The TLS settings of a client's connections.
#[derive(Debug, Clone)]
pub(super) struct Security {
    connector: SslConnector,
    verify_host: bool,
}

impl Security {
    /// Reads the files that a command names.
    ///
    /// # Errors
    /// A file cannot be read, or its content is not valid.
    pub(super) fn of(settings: &Tls) -> Result<Self, TlsError> {
        let mut connector = SslConnector::builder(SslMethod::tls())?;
        if let Some(path) = &settings.ca {
            let wrong = wrong("the authority", path);
            // Clients trust these authorities alone, without those of this machine.
            connector.set_cert_store(X509StoreBuilder::new()?.build());
            if Path::new(path).is_dir() {
                connector.load_verify_locations(None, Some(Path::new(path))).map_err(wrong)?;
            } else {
                connector.set_ca_file(path).map_err(wrong)?;
            }
        }
        if let Some(path) = &settings.certificate {
            connector.set_certificate_chain_file(path).map_err(wrong("the certificate", path))?;
        }
        if let Some(path) = &settings.key {
            let pem = std::fs::read(path).map_err(wrong("the key", path))?;
            let key = match &settings.key_password {
                None => PKey::private_key_from_pem(&pem),
                Some(place) => {
                    PKey::private_key_from_pem_passphrase(&pem, fetch(place)?.as_bytes())
                }
            };
            connector.set_private_key(&*key.map_err(wrong("the key", path))?)?;
            connector.check_private_key().map_err(wrong("the key", path))?;
        }
        if !settings.verify {
            connector.set_verify(SslVerifyMode::NONE);
        }
        Ok(Self {
            connector: connector.build(),
            verify_host: settings.verify && settings.verify_host,
        })
    }

    /// Starts TLS on a connection to a host.
    pub(super) async fn secure(
        &self,
        host: &str,
        socket: TcpStream,
    ) -> io::Result<SslStream<Socket>> {
        let mut session = self.connector.configure()?;
        session.set_verify_hostname(self.verify_host);
        let mut stream = SslStream::new(session.into_ssl(host)?, Socket(socket))?;
        loop {
            let Err(error) = stream.connect() else { return Ok(stream) };
            match error.code() {
                ErrorCode::WANT_READ => stream.get_ref().0.readable().await?,
                ErrorCode::WANT_WRITE => stream.get_ref().0.writable().await?,
                _ => return Err(error.into_io_error().unwrap_or_else(io::Error::other)),
            }
        }
    }
}

fn wrong<E: std::fmt::Display>(what: &'static str, path: &str) -> impl FnOnce(E) -> TlsError {
    let path = path.to_owned();
    move |why| TlsError::File { what, path, why: why.to_string() }
}
