//! TLS under librdkafka's properties, with the same OpenSSL.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    HandshakeError, SslConnector, SslConnectorBuilder, SslMethod, SslStream, SslVerifyMode,
};
use openssl::x509::X509;
use openssl::x509::store::X509StoreBuilder;

use super::stream::Failure;
use crate::kafka::{ALERT, Cluster, KafkaError, Trouble, tls};

/// Where systems keep their authorities, for an OpenSSL that was built elsewhere.
const AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The TLS settings of a member's connections. It holds a key, so it has no `Debug`.
pub(super) struct Tls {
    connector: SslConnector,
    verify: bool,
    verify_host: bool,
    /// The files of these properties, for messages.
    ca: Option<String>,
    certificate: Option<String>,
}

/// The client properties of one cluster.
struct Properties<'a>(&'a Cluster);

impl Properties<'_> {
    fn value(&self, key: &str) -> Result<Option<String>, KafkaError> {
        self.0.value(key)
    }

    fn says(&self, key: &str, words: &[&str]) -> Result<bool, KafkaError> {
        let value = self.value(key)?.unwrap_or_default();
        Ok(words.iter().any(|word| value.eq_ignore_ascii_case(word)))
    }

    fn wrong(&self, key: &str, why: &dyn std::fmt::Display) -> KafkaError {
        let source = Trouble::Tls(format!("cannot use `{key}`: {why}"));
        KafkaError::Closed { cluster: self.0.bootstrap.clone(), source }
    }

    /// Does something with the value of a property, if it has one.
    fn with<T, E: std::fmt::Display>(
        &self,
        key: &str,
        act: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, KafkaError> {
        let value = self.value(key)?;
        value.map(|value| act(&value).map_err(|why| self.wrong(key, &why))).transpose()
    }
}

impl Tls {
    /// Reads the properties, and the files that they name.
    ///
    /// # Errors
    /// A secret or a file cannot be read, or OpenSSL does not take it.
    pub(super) fn of(cluster: &Cluster) -> Result<Self, KafkaError> {
        let properties = Properties(cluster);
        let builder = SslConnector::builder(SslMethod::tls());
        let mut connector = builder.map_err(|why| properties.wrong("security.protocol", &why))?;
        trust(&mut connector, &properties)?;
        identify(&mut connector, &properties)?;
        properties.with("ssl.cipher.suites", |it| connector.set_cipher_list(it))?;
        properties.with("ssl.curves.list", |it| connector.set_groups_list(it))?;
        properties.with("ssl.sigalgs.list", |it| connector.set_sigalgs_list(it))?;
        let off = ["false", "f", "0"];
        let verify = !properties.says("enable.ssl.certificate.verification", &off)?;
        if !verify {
            connector.set_verify(SslVerifyMode::NONE);
        }
        let any_host = properties.says("ssl.endpoint.identification.algorithm", &["none"])?;
        Ok(Self {
            connector: connector.build(),
            verify,
            verify_host: verify && !any_host,
            ca: properties.value("ssl.ca.location")?,
            certificate: properties.value("ssl.certificate.location")?,
        })
    }

    /// Starts TLS on a connection to a host.
    pub(super) fn connect(
        &self,
        (host, port): (&str, u16),
        socket: TcpStream,
    ) -> Result<SslStream<TcpStream>, Failure> {
        let failed =
            |why: openssl::error::ErrorStack| Failure::Refused(Trouble::Tls(why.to_string()));
        let mut session = self.connector.configure().map_err(failed)?;
        session.set_verify_hostname(self.verify_host);
        // The verification refuses a certificate, which is kept here for the message.
        let seen: Arc<Mutex<Option<X509>>> = Arc::default();
        if self.verify {
            let refused = Arc::clone(&seen);
            session.set_verify_callback(SslVerifyMode::PEER, move |fine, store| {
                if let (false, Some(one)) = (fine, store.current_cert()) {
                    *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(one.to_owned());
                }
                fine
            });
        }
        let error = match session.connect(host, socket) {
            Ok(stream) => return Ok(stream),
            Err(HandshakeError::SetupFailure(why)) => return Err(failed(why)),
            Err(HandshakeError::Failure(it) | HandshakeError::WouldBlock(it)) => it,
        };
        let certificate = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (result, address) = (error.ssl().verify_result(), format!("{host}:{port}"));
        if let Some(certificate) = certificate
            && let Some(why) =
                tls::describe(result, Some(&certificate), &address, self.ca.as_deref())
        {
            return Err(Failure::Refused(Trouble::Certificate(why)));
        }
        let error = error.into_error();
        let text = error.to_string();
        if let Some(trouble) = self.alert(&text) {
            return Err(Failure::Refused(trouble));
        }
        // A broker that was stopped, or this member that gave up, closes the connection.
        match error.into_io_error() {
            Ok(error) => Err(Failure::Connection(error)),
            Err(error) if error.ssl_error().is_none() => {
                Err(Failure::Connection(ErrorKind::ConnectionAborted.into()))
            }
            Err(_) => Err(Failure::Refused(Trouble::Tls(text))),
        }
    }

    /// What an alert of the broker means, if this is one: it does not accept our certificate.
    pub(super) fn alert(&self, error: &str) -> Option<Trouble> {
        let refused = || Trouble::not_admitted(self.certificate.as_deref(), error.to_owned());
        error.contains(ALERT).then(refused)
    }
}

/// Which authorities are trusted: those that the properties name, and no others; else the system's.
fn trust(
    connector: &mut SslConnectorBuilder,
    properties: &Properties<'_>,
) -> Result<(), KafkaError> {
    const FILE: &str = "ssl.ca.location";
    const TEXT: &str = "ssl.ca.pem";
    let file = properties.value(FILE)?.filter(|file| file != "probe");
    let text = properties.value(TEXT)?;
    if file.is_none() && text.is_none() {
        // The builder has OpenSSL's own paths, which an OpenSSL built elsewhere has from there.
        let chosen = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(std::env::var_os);
        let place = AUTHORITIES.iter().find(|place| Path::new(place).is_file());
        if let Some(place) = place.filter(|_| chosen.iter().all(Option::is_none)) {
            connector.set_ca_file(place).map_err(|why| properties.wrong(FILE, &why))?;
        }
        return Ok(());
    }
    let none = X509StoreBuilder::new().map_err(|why| properties.wrong(FILE, &why))?;
    connector.set_cert_store(none.build());
    if let Some(file) = file {
        let path = Path::new(&file);
        let loaded = if path.is_dir() {
            connector.load_verify_locations(None, Some(path))
        } else {
            connector.set_ca_file(path)
        };
        loaded.map_err(|why| properties.wrong(FILE, &why))?;
    }
    let all = text.map(|text| X509::stack_from_pem(text.as_bytes())).transpose();
    for one in all.map_err(|why| properties.wrong(TEXT, &why))?.into_iter().flatten() {
        let added = connector.cert_store_mut().add_cert(one);
        added.map_err(|why| properties.wrong(TEXT, &why))?;
    }
    Ok(())
}

/// Our own certificate and its key.
fn identify(
    connector: &mut SslConnectorBuilder,
    properties: &Properties<'_>,
) -> Result<(), KafkaError> {
    properties.with("ssl.certificate.location", |it| connector.set_certificate_chain_file(it))?;
    properties.with("ssl.certificate.pem", |it| {
        let mut chain = X509::stack_from_pem(it.as_bytes())?.into_iter();
        if let Some(ours) = chain.next() {
            connector.set_certificate(&ours)?;
        }
        chain.try_for_each(|issuer| connector.add_extra_chain_cert(issuer))
    })?;
    let password = properties.value("ssl.key.password")?;
    let password = password.as_deref();
    properties.with("ssl.key.location", |it| {
        let pem = std::fs::read(it).map_err(|why| why.to_string())?;
        use_key(connector, &pem, password).map_err(|why| why.to_string())
    })?;
    properties.with("ssl.key.pem", |it| use_key(connector, it.as_bytes(), password))?;
    Ok(())
}

fn use_key(
    connector: &mut SslConnectorBuilder,
    pem: &[u8],
    password: Option<&str>,
) -> Result<(), openssl::error::ErrorStack> {
    // Without a callback OpenSSL would ask on the terminal.
    let key: PKey<Private> = PKey::private_key_from_pem_callback(pem, |buffer| {
        let bytes = password.unwrap_or_default().as_bytes();
        let length = bytes.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(bytes) {
            *to = *from;
        }
        Ok(length)
    })?;
    connector.set_private_key(&key)?;
    connector.check_private_key()
}
