//! Finds out what is wrong with a broker's certificate. librdkafka reports only that it could not
//! verify it, so this module repeats the handshake under the same rules, without sending anything.

use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openssl::asn1::Asn1Time;
use openssl::ssl::{HandshakeError, SslConnector, SslMethod, SslVerifyMode};
use openssl::x509::{X509, X509Ref, X509VerifyResult};
use rdkafka::ClientConfig;

const WAIT: Duration = Duration::from_secs(3);

// RFC 5280 path validation, as OpenSSL numbers its results (`x509_vfy.h`).
const NOT_YET_VALID: i32 = 9;
const EXPIRED: i32 = 10;
const SELF_SIGNED: i32 = 18;
const SELF_SIGNED_IN_CHAIN: i32 = 19;
const NO_LOCAL_ISSUER: i32 = 20;
const NO_FIRST_ISSUER: i32 = 21;
const OTHER_HOST: i32 = 62;
const OTHER_ADDRESS: i32 = 64;

/// The reason why the certificate of `address` is not accepted, if it is not.
pub(super) fn explain(config: &ClientConfig, address: &str) -> Option<String> {
    let (host, _) = address.rsplit_once(':')?;
    let mut connector = SslConnector::builder(SslMethod::tls()).ok()?;
    if let Some(file) = config.get("ssl.ca.location") {
        connector.set_ca_file(file).ok()?;
    }
    let socket = address.to_socket_addrs().ok()?.next()?;
    let stream = TcpStream::connect_timeout(&socket, WAIT).ok()?;
    stream.set_read_timeout(Some(WAIT)).ok()?;
    stream.set_write_timeout(Some(WAIT)).ok()?;
    let verified = config.get("ssl.endpoint.identification.algorithm") != Some("none");
    let mut session = connector.build().configure().ok()?.verify_hostname(verified);
    // The verification refuses a certificate, which is kept here for the message.
    let seen: Arc<Mutex<Option<X509>>> = Arc::default();
    let refused = Arc::clone(&seen);
    session.set_verify_callback(SslVerifyMode::PEER, move |fine, store| {
        if let (false, Some(one)) = (fine, store.current_cert()) {
            *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(one.to_owned());
        }
        fine
    });
    let result = match session.connect(host, stream) {
        Err(HandshakeError::Failure(failed)) => failed.ssl().verify_result(),
        Err(HandshakeError::SetupFailure(_) | HandshakeError::WouldBlock(_)) | Ok(_) => {
            return None;
        }
    };
    let certificate = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    describe(result, certificate.as_deref(), address, config.get("ssl.ca.location"))
}

/// What is wrong with our own certificate, as far as we can see without the broker.
pub(super) fn ours(file: &str) -> Option<String> {
    let certificate = X509::from_pem(&std::fs::read(file).ok()?).ok()?;
    let now = Asn1Time::days_from_now(0).ok()?;
    let until = certificate.not_after();
    (*until < *now).then(|| format!("the certificate {file} expired on {until}: renew it"))
}

/// What the result of a verification means, where the authorities are those in the file `ca`.
pub(crate) fn describe(
    result: X509VerifyResult,
    certificate: Option<&X509Ref>,
    address: &str,
    ca: Option<&str>,
) -> Option<String> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let shown = |what: &dyn Fn(&X509Ref) -> String| certificate.map(what);
    Some(match result.as_raw() {
        0 => return None,
        EXPIRED => {
            let until = shown(&|it| format!(" on {}", it.not_after())).unwrap_or_default();
            format!("the certificate of {address} expired{until}: renew it there")
        }
        NOT_YET_VALID => {
            let from = shown(&|it| it.not_before().to_string()).unwrap_or_default();
            format!("the certificate of {address} is valid from {from} only: compare the clocks")
        }
        OTHER_HOST | OTHER_ADDRESS => {
            let names = shown(&names).unwrap_or_default();
            format!(
                "the certificate of {address} is for another host than {host}{names}: use a name \
                 of the certificate in `bootstrap`, and let the brokers advertise it"
            )
        }
        SELF_SIGNED | SELF_SIGNED_IN_CHAIN | NO_LOCAL_ISSUER | NO_FIRST_ISSUER => {
            let known = match ca {
                Some(file) => format!("is not in `ssl.ca.location` {file}"),
                None => "this machine does not know; name its file as `ssl.ca.location`".to_owned(),
            };
            format!("the certificate of {address} is from an authority that {known}")
        }
        _ => format!("the certificate of {address} is refused: {}", result.error_string()),
    })
}

/// The hosts that a certificate names.
fn names(certificate: &X509Ref) -> String {
    let all = certificate.subject_alt_names();
    let names: Vec<String> = all
        .iter()
        .flatten()
        .filter_map(|name| {
            let address = name.ipaddress().and_then(|bytes| match bytes.len() {
                4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
                _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
            });
            name.dnsname().map(str::to_owned).or(address.map(|it| it.to_string()))
        })
        .collect();
    if names.is_empty() { String::new() } else { format!(" (it is for {})", names.join(", ")) }
}
