//! An authority of a test's own, and what it has signed for 127.0.0.1; made with `openssl`.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// Certificates and keys, as PEM files in a folder.
pub(crate) struct Certificates {
    folder: TempDir,
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let certificates = Self { folder: tempfile::tempdir().unwrap() };
        certificates.make("authority", &["-addext", "keyUsage=keyCertSign"]);
        let signed = ["-CA", "authority.pem", "-CAkey", "authority.key"];
        let server = ["-addext", "subjectAltName=IP:127.0.0.1"];
        let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
        certificates.make("server", &[&signed[..], &server[..], &leaf[..]].concat());
        certificates.make("client", &[&signed[..], &leaf[..]].concat());
        certificates
    }

    /// One of the files: `authority.pem`, `server.key` and so on.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn make(&self, name: &str, more: &[&str]) {
        let made = Command::new("openssl")
            .current_dir(self.folder.path())
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-days", "2", "-subj", &format!("/CN={name}")])
            .args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.pem")])
            .args(more)
            .output()
            .expect("openssl, which tests/all --install brings");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}
