//! The mesh over TLS: members with certificates of one authority link, and no one else does.

use std::io::Read;
use std::path::{Path, PathBuf};

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::BasicConstraints;
use openssl::x509::{X509, X509Name, X509NameBuilder};

use super::scenes::{Member, greeting, played, statement};
use super::{MeshCertificates, MeshTrust};

/// An authority, and what it signs.
struct Authority {
    key: PKey<Private>,
    certificate: X509,
}

fn key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

fn name(text: &str) -> X509Name {
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", text).unwrap();
    name.build()
}

/// A certificate for `subject` and its key, signed by `issuer`, or by itself.
fn signed(subject: &str, key: &PKey<Private>, issuer: Option<&Authority>) -> X509 {
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    let serial = BigNum::from_u32(u32::try_from(subject.len()).unwrap()).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    let subject = name(subject);
    builder.set_subject_name(&subject).unwrap();
    let by = issuer.map_or(&*subject, |it| it.certificate.subject_name());
    builder.set_issuer_name(by).unwrap();
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    let mut constraints = BasicConstraints::new();
    if issuer.is_none() {
        constraints.ca();
    }
    builder.append_extension(constraints.critical().build().unwrap()).unwrap();
    builder.sign(issuer.map_or(key, |it| &it.key), MessageDigest::sha256()).unwrap();
    builder.build()
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = key();
        Self { certificate: signed(name, &key, None), key }
    }

    /// The files of a member that trusts this authority, and shows a certificate of `signer`.
    fn files(&self, folder: &Path, member: &str, signer: &Self) -> MeshTrust {
        let file = |name: &str, bytes: Vec<u8>| -> PathBuf {
            let path = folder.join(format!("{member}-{name}.pem"));
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let own = key();
        let certificate = signed(member, &own, Some(signer));
        MeshTrust::Certificates(MeshCertificates {
            authority: file("ca", self.certificate.to_pem().unwrap()),
            certificate: file("own", certificate.to_pem().unwrap()),
            key: file("key", own.private_key_to_pem_pkcs8().unwrap()),
        })
    }
}

/// One that dials the other, and the other.
fn pair(dials: MeshTrust, accepts: MeshTrust) -> (Member, Member) {
    let accepts = Member::trusting(accepts, "p1-2.1", &[1, 2]);
    let dials = Member::trusting(dials, "p1-1.1", &[0]);
    dials.mesh.ledger(statement("p1-2.1", &[1, 2], Some(accepts.mesh.address())));
    (dials, accepts)
}

#[test]
fn members_of_one_authority_link() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Authority::new("ours");
    let trust = |member| ours.files(folder.path(), member, &ours);
    let (mut one, mut two) = pair(trust("one"), trust("two"));
    one.await_statement("p1-2.1");
    two.await_statement("p1-1.1");
    // More than a record of TLS holds arrives whole.
    let all: Vec<u32> = (0..60_000).collect();
    let many = statement("p1-1.1", &all, Some(one.mesh.address()));
    one.mesh.own(Some(many));
    two.await_that("a long statement", |it| it.stated.iter().any(|it| it.holds.len() == 60_000));
    one.mesh.leave();
    let third = Member::trusting(trust("three"), "p1-0.1", &[3]);
    third.mesh.ledger(statement("p1-2.1", &[1, 2], Some(two.mesh.address())));
    two.await_statement("p1-0.1");
    assert_eq!(two.stands_in(), [], "a goodbye over TLS is no death");
}

#[test]
fn strangers_learn_nothing_and_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, others) = (Authority::new("ours"), Authority::new("others"));
    let trust = || ours.files(folder.path(), "two", &ours);
    let stranger = ours.files(folder.path(), "stranger", &others);
    let deceived = others.files(folder.path(), "deceived", &ours);
    // A certificate of another authority; a member that would not trust this one; plain text.
    for dials in [stranger, deceived, MeshTrust::SameUser] {
        let what = format!("{dials:?}");
        let (one, mut two) = pair(dials, trust());
        // A member that is welcome, in the end, so that there is something to wait for.
        let welcome = Member::trusting(trust(), "p1-0.1", &[]);
        welcome.mesh.ledger(statement("p1-2.1", &[1, 2], Some(two.mesh.address())));
        two.await_statement("p1-0.1");
        let linked = two.heard.stated.iter().any(|it| it.life.to_string() == "p1-1.1");
        assert!(!linked, "{what}");
        assert!(one.mesh.news().stated.is_empty(), "{what}");
    }
    let two = Member::trusting(trust(), "p1-2.1", &[1]);
    let mut stream = played(&two.mesh.address(), &greeting("p1-1.1", "p1-2.1"), &[0]);
    let mut read = Vec::new();
    stream.read_to_end(&mut read).ok();
    let life = b"p1-2.1";
    assert!(!read.windows(life.len()).any(|part| part == life), "it does not say who it is");
    let missing = MeshTrust::Certificates(MeshCertificates {
        authority: folder.path().join("none.pem"),
        certificate: folder.path().join("none.pem"),
        key: folder.path().join("none.pem"),
    });
    let refused = super::trust::Guard::of(&missing).err().unwrap().to_string();
    assert!(refused.starts_with("cannot use ") && refused.contains("none.pem"), "{refused}");
}
