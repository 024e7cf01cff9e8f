//! Edges to brokers that want TLS: the client speaks without, and what the certificate must be is
//! verified as clients do it.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslAcceptor, SslMethod, SslVerifyMode};
use openssl::symm::Cipher;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};
use tandem::edge::{Direction, Effect, Tls};
use tandem::topology::Secret;
use tempfile::TempDir;

use crate::proxy::upstream::{Seen, repeat};
use support::edge::process::{Client, Edges, request, rule};

const ANY: i16 = 12;

/// A certificate for `name`, its own authority, in a file with its key.
struct Identity {
    key: PKey<Private>,
    certificate: X509,
    folder: TempDir,
}

impl Identity {
    fn of(name: &str) -> Self {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let mut subject = X509NameBuilder::new().unwrap();
        subject.append_entry_by_text("CN", name).unwrap();
        let subject = subject.build();
        let mut builder = X509::builder().unwrap();
        builder.set_version(2).unwrap();
        let serial = BigNum::from_u32(std::process::id()).unwrap().to_asn1_integer().unwrap();
        builder.set_serial_number(&serial).unwrap();
        builder.set_subject_name(&subject).unwrap();
        builder.set_issuer_name(&subject).unwrap();
        builder.set_pubkey(&key).unwrap();
        builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
        builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
        builder.append_extension(BasicConstraints::new().ca().build().unwrap()).unwrap();
        let mut names = SubjectAlternativeName::new();
        let names =
            if name.starts_with(char::is_numeric) { names.ip(name) } else { names.dns(name) };
        let names = names.build(&builder.x509v3_context(None, None)).unwrap();
        builder.append_extension(names).unwrap();
        builder.sign(&key, MessageDigest::sha256()).unwrap();
        let identity = Self { key, certificate: builder.build(), folder: TempDir::new().unwrap() };
        let file = |name: &str, text: Vec<u8>| fs::write(identity.folder.path().join(name), text);
        file("certificate.pem", identity.certificate.to_pem().unwrap()).unwrap();
        let key = identity.key.private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), b"open");
        file("key.pem", key.unwrap()).unwrap();
        file("password", b"open\n".to_vec()).unwrap();
        identity
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What a client needs to know of it.
    fn trusted(&self) -> Tls {
        let ca = Some(self.file("certificate.pem"));
        let (verify, verify_host) = (true, true);
        Tls { ca, certificate: None, key: None, key_password: None, verify, verify_host }
    }
}

/// A broker that echoes what it receives over TLS; with `guest`, it requires that client
/// certificate.
fn echo(identity: &Identity, guest: Option<&Identity>) -> (String, Arc<Seen>) {
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
    acceptor.set_private_key(&identity.key).unwrap();
    acceptor.set_certificate(&identity.certificate).unwrap();
    if let Some(guest) = guest {
        acceptor.cert_store_mut().add_cert(guest.certificate.clone()).unwrap();
        acceptor.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    }
    let acceptor = acceptor.build();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen = Arc::new(Seen::default());
    let shared = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (seen, acceptor) = (Arc::clone(&shared), acceptor.clone());
            std::thread::spawn(move || acceptor.accept(stream).map(|it| repeat(it, &seen)).is_ok());
        }
    });
    (address, seen)
}

#[test]
fn traffic_over_tls_is_complete_and_follows_rules() {
    let identity = Identity::of("127.0.0.1");
    let (broker, seen) = echo(&identity, None);
    let mut edges = Edges::start();
    let address = edges.open_by("p1-1", &broker, Some(identity.trusted())).unwrap();
    let mut client = Client::connect(&address);
    for (at, size) in [10, 20_000, 3, 4_000_000, 100].into_iter().enumerate() {
        let mut writer = client.0.try_clone().unwrap();
        let request = request(ANY, at as i32, size);
        let sent = request.clone();
        let write = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &sent));
        let (correlation, body) = client.answer();
        assert_eq!((correlation, &body[..]), (at as i32, &request[12..]));
        write.join().unwrap().unwrap();
    }
    edges.put("k", rule("p1-1", Direction::ToBroker, &[], Effect::Stall));
    let before = seen.bytes.load(std::sync::atomic::Ordering::SeqCst);
    client.ask(ANY, 9, 10);
    assert!(client.hears_nothing());
    assert_eq!(seen.bytes.load(std::sync::atomic::Ordering::SeqCst), before);
    edges.heal("k");
    assert_eq!(client.answer().0, 9);
    edges.put("k", rule("p1-1", Direction::Both, &[], Effect::Reset));
    assert!(client.is_reset());
}

#[test]
fn a_broker_with_the_wrong_certificate_is_rejected() {
    let (identity, other) = (Identity::of("broker.example"), Identity::of("127.0.0.1"));
    let (broker, seen) = echo(&identity, None);
    let mut edges = Edges::start();
    let stranger = Tls { ca: other.trusted().ca, ..identity.trusted() };
    let unnamed = Tls { verify_host: false, ..identity.trusted() };
    let blind = Tls { verify: false, ..other.trusted() };
    for (name, tls, fine) in [
        ("host", identity.trusted(), false),
        ("authority", stranger, false),
        ("unnamed", unnamed, true),
        ("blind", blind, true),
    ] {
        let mut client = Client::connect(&edges.open_by(name, &broker, Some(tls)).unwrap());
        let before = seen.bytes.load(std::sync::atomic::Ordering::SeqCst);
        if fine {
            client.ask(ANY, 1, 10);
            assert_eq!(client.answer().0, 1, "{name}");
        } else {
            assert!(client.is_reset_at(ANY, 1, 10), "{name}");
            assert_eq!(seen.bytes.load(std::sync::atomic::Ordering::SeqCst), before);
        }
    }
}

#[test]
fn authorities_that_are_named_are_the_only_ones() {
    let (identity, other) = (Identity::of("127.0.0.1"), Identity::of("127.0.0.1"));
    let (broker, _) = echo(&identity, None);
    let mut tandem = Command::new(env!("CARGO_BIN_EXE_tandem"));
    // What this machine knows.
    let mut edges = Edges::start_as(tandem.env("SSL_CERT_FILE", identity.file("certificate.pem")));
    let any_authority = Tls { ca: None, ..identity.trusted() };
    let mut client = Client::connect(&edges.open_by("p1-1", &broker, Some(any_authority)).unwrap());
    client.exchange(ANY, 1);
    let named = edges.open_by("p1-2", &broker, Some(other.trusted())).unwrap();
    let mut client = Client::connect(&named);
    assert!(client.is_reset_at(ANY, 1, 10));
}

#[test]
fn an_edge_shows_the_certificate_of_its_client() {
    let (identity, guest) = (Identity::of("127.0.0.1"), Identity::of("p1-1"));
    let (broker, _) = echo(&identity, Some(&guest));
    let mut edges = Edges::start();
    let shown = |place| Tls {
        certificate: Some(guest.file("certificate.pem")),
        key: Some(guest.file("key.pem")),
        key_password: Some(place),
        ..identity.trusted()
    };
    let tls = shown(Secret::File(guest.file("password")));
    let mut client = Client::connect(&edges.open_by("p1-1", &broker, Some(tls)).unwrap());
    client.exchange(ANY, 1);
    let mut stranger =
        Client::connect(&edges.open_by("p1-2", &broker, Some(identity.trusted())).unwrap());
    // The broker may have refused it by now.
    stranger.0.write_all(&request(ANY, 1, 10)).ok();
    assert!(!matches!(stranger.end(), Ok(1..)));
    let why = edges.open_by("p1-3", &broker, Some(shown(Secret::Env("NOBODY_SETS".to_owned()))));
    assert!(why.unwrap_err().contains("variable NOBODY_SETS"));
    let nowhere = Tls { ca: Some("/nowhere".to_owned()), ..identity.trusted() };
    assert!(edges.open_by("p1-4", &broker, Some(nowhere)).unwrap_err().contains("/nowhere"));
}
