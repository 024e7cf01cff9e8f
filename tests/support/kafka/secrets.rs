//! Where a secret could be: on the command line of a process, or in a file.

use std::fs;
use std::io;
use std::path::Path;

use super::secured::Secured;

/// The command lines of all processes; one that ends meanwhile has none.
pub fn command_lines() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

/// All files under a folder, but for those of the clusters: these come and go, and hold the
/// passwords. A guard that outlives its run may still remove what is looked at.
pub fn written(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in there(fs::read_dir(folder)).into_iter().flatten().flatten() {
        if entry.path().ends_with("tandem/kafka") {
            continue;
        }
        if entry.path().is_dir() {
            files.extend(written(&entry.path()));
        } else if let Some(text) = there(fs::read(entry.path())) {
            files.push((entry.path().display().to_string(), text));
        }
    }
    files
}

/// What was looked at, if it was there.
fn there<T>(looked: io::Result<T>) -> Option<T> {
    match looked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        looked => Some(looked.unwrap()),
    }
}

fn holds(text: &[u8], secret: &str) -> bool {
    text.windows(secret.len()).any(|part| part == secret.as_bytes())
}

impl Secured {
    /// No password is in this text.
    pub fn is_free_of_secrets(&self, what: &str, text: &[u8]) {
        for secret in &self.passwords {
            assert!(!holds(text, secret), "a secret is in {what}");
        }
    }

    /// Whether a command line is that of a member, through an edge or directly; it shows where its
    /// password is, and not the password.
    pub fn is_member(&self, line: &str, proxied: bool) -> bool {
        let shown = "--secret sasl.password=env:TANDEM_MEMBER_PASSWORD";
        let member = line.contains(" member p") && line.contains(shown);
        if member && proxied {
            // It is given an edge, to which it speaks as the same user, without TLS.
            assert!(line.contains("security.protocol=sasl_plaintext"), "{line}");
            let direct = self.kafka.bootstraps.iter().any(|it| line.contains(it));
            assert!(!direct && !line.contains("ssl."), "{line}");
        }
        member
    }
}
