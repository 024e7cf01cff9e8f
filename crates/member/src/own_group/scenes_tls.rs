//! Scenes of one connection over TLS: whom it trusts, and whom it shows itself to.

use std::io::Read;
use std::net::TcpListener;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{HandshakeError, SslAcceptor, SslMethod, SslVerifyMode};
use openssl::symm::Cipher;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};

use super::scenes::{SOON, Scene, Seen, serve};
use super::security::Security;
use crate::kafka::{Access, Cluster};

/// A certificate for `name` that is its own authority, and its key.
struct Identity {
    key: PKey<Private>,
    certificate: X509,
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
        Self { key, certificate: builder.build() }
    }

    fn pem(&self) -> String {
        String::from_utf8(self.certificate.to_pem().unwrap()).unwrap()
    }

    fn locked_key(&self) -> String {
        let (cipher, password) = (Cipher::aes_256_cbc(), b"open");
        let key = self.key.private_key_to_pem_pkcs8_passphrase(cipher, password);
        String::from_utf8(key.unwrap()).unwrap()
    }

    /// A broker with this certificate, for one connection; it asks for that of the guest.
    fn serves(&self, guest: Option<&Self>) -> u16 {
        let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
        acceptor.set_private_key(&self.key).unwrap();
        acceptor.set_certificate(&self.certificate).unwrap();
        if let Some(guest) = guest {
            acceptor.cert_store_mut().add_cert(guest.certificate.clone()).unwrap();
            acceptor.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
        }
        let acceptor = acceptor.build();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            match acceptor.accept(listener.accept().unwrap().0) {
                Ok(stream) => drop(serve(stream, &Seen::default(), 0)),
                // With bytes unread the socket would be reset, and take the alert along.
                Err(HandshakeError::Failure(mut failed)) => {
                    drop(failed.get_mut().read_to_end(&mut Vec::new()));
                }
                Err(other) => panic!("{other}"),
            }
        });
        port
    }
}

const SSL: (&str, &str) = ("security.protocol", "SSL");

fn find(port: u16, more: &[(&str, &str)]) -> Result<(), (String, bool)> {
    Scene::of(port, &[&[SSL], more].concat(), &[]).find()
}

/// Why it was refused, by either side.
fn refused(port: u16, more: &[(&str, &str)]) -> String {
    let (why, refused) = find(port, more).unwrap_err();
    assert!(refused, "{why}");
    why
}

#[test]
fn a_broker_is_trusted_by_its_authority_and_its_name_unless_properties_say_otherwise() {
    let (broker, other) = (Identity::of("127.0.0.1"), Identity::of("elsewhere.example"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem").display().to_string();
    std::fs::write(&file, broker.pem()).unwrap();
    let (pem, other_pem) = (broker.pem(), other.pem());
    let any_host = ("ssl.endpoint.identification.algorithm", "none");
    let unverified = ("enable.ssl.certificate.verification", "false");

    find(broker.serves(None), &[("ssl.ca.location", &file)]).unwrap();
    find(broker.serves(None), &[("ssl.ca.pem", &pem)]).unwrap();
    find(broker.serves(None), &[("ssl.ca.pem", &format!("{other_pem}{pem}"))]).unwrap();
    let why = refused(broker.serves(None), &[]);
    assert!(why.contains("an authority that this machine does not know"), "{why}");
    let why = refused(broker.serves(None), &[("ssl.ca.pem", &other_pem), any_host]);
    assert!(why.contains("is from an authority"), "{why}");
    let why = refused(other.serves(None), &[("ssl.ca.pem", &other_pem)]);
    assert!(why.contains("for another host than 127.0.0.1 (it is for elsewhere.exam"), "{why}");
    find(other.serves(None), &[("ssl.ca.pem", &other_pem), any_host]).unwrap();
    find(other.serves(None), &[unverified]).unwrap();
}

#[test]
fn a_member_shows_its_certificate_and_a_broker_that_misses_it_is_quoted() {
    let (broker, guest) = (Identity::of("127.0.0.1"), Identity::of("member"));
    let (ca, pem, key) = (broker.pem(), guest.pem(), guest.locked_key());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (pem_file, key_file) = (file("c.pem", &pem), file("k.pem", &key));
    let ca = ("ssl.ca.pem", ca.as_str());
    let secrets = [("ssl.key.pem", key.as_str()), ("ssl.key.password", "open")];
    let properties = [SSL, ca, ("ssl.certificate.pem", &pem)];
    let port = broker.serves(Some(&guest));
    Scene::of(port, &properties, &secrets).find().unwrap();
    let shown = [("ssl.certificate.location", pem_file.as_str()), ("ssl.key.location", &key_file)];
    let properties = [&[SSL, ca][..], &shown].concat();
    let port = broker.serves(Some(&guest));
    Scene::of(port, &properties, &[("ssl.key.password", "open")]).find().unwrap();
    let why = refused(broker.serves(Some(&guest)), &[ca]);
    assert!(why.contains("a client without a certificate: set `ssl.certificate.loc"), "{why}");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("k.pem");
    std::fs::write(&key, Identity::of("member").locked_key()).unwrap();
    let key = key.display().to_string();
    for (property, value) in [
        ("ssl.ca.location", "/nowhere/at/all"),
        ("ssl.certificate.location", "/nowhere/at/all"),
        ("ssl.key.location", "/nowhere/at/all"),
        // It is locked, and nothing asks for its password on the terminal.
        ("ssl.key.location", &key),
        ("ssl.cipher.suites", "NO-SUCH-CIPHER"),
    ] {
        let set = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let properties = [set(SSL), set((property, value))].into();
        let access = Access { properties, ..Access::default() };
        let cluster = Cluster { bootstrap: "h:1".to_owned(), access };
        let error = Security::of(&cluster, SOON).err().unwrap();
        let text = tandem_host::error::chain(&error);
        let expected = format!("cannot connect to h:1: TLS fails: cannot use `{property}`: ");
        assert!(text.starts_with(&expected), "{text}");
    }
}
