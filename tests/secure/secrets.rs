//! A whole run on clusters that trust nobody passes, and no secret is anywhere afterwards.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use tandem::verdict::Report;

use super::support::{SECURE, Secured, said};

/// The command lines of all processes; one that ends meanwhile has none.
fn command_lines() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

/// All files under a folder.
fn written(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            files.extend(written(&entry.path()));
        } else {
            files.push((entry.path().display().to_string(), fs::read(entry.path()).unwrap()));
        }
    }
    files
}

fn holds(text: &[u8], secret: &str) -> bool {
    text.windows(secret.len()).any(|part| part == secret.as_bytes())
}

/// Kills leaders twice; the report, and how many command lines of members were looked at.
fn run(secured: &Secured, out: &Path) -> (Option<i32>, usize) {
    fs::create_dir_all(out).unwrap();
    let stream = |name: &str| File::create(out.join(name)).unwrap();
    let mut run = secured.tandem(&["chaos", "run", "chaos/kill-leader.yaml", "-f", SECURE]);
    run.args(["--trials", "2", "--out"]).arg(out.join("run"));
    // What the client says of itself, too.
    run.env("RUST_LOG", "info").stdout(stream("stdout")).stderr(stream("stderr"));
    let mut run = run.spawn().unwrap();
    let mut members = 0;
    loop {
        for line in command_lines() {
            for secret in &secured.passwords {
                assert!(!line.contains(secret), "a secret on a command line: {line}");
            }
            let shown = "--secret sasl.password=env:TANDEM_MEMBER_PASSWORD";
            members += usize::from(line.contains(" member p") && line.contains(shown));
        }
        if let Some(status) = run.try_wait().unwrap() {
            return (status.code(), members);
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn a_run_passes_and_leaves_no_secret_anywhere() {
    let secured = Secured::up(2);
    let folder = secured.kafka.folder.path().join("looked-at");
    // Again where the host did not let the instrument run.
    for attempt in 1.. {
        let out = folder.join(attempt.to_string());
        let (code, members) = run(&secured, &out);
        let said = fs::read_to_string(out.join("stdout")).unwrap();
        assert!(members > 10, "{members} command lines of members were seen: {said}");
        let result = fs::read(out.join("run/result.json")).unwrap_or_else(|_| panic!("{said}"));
        let report: Report = serde_json::from_slice(&result).unwrap();
        assert_eq!(report.joint.gap.count, 0, "{said}");
        if code == Some(0) {
            break;
        }
        assert!(!report.stalls.is_empty() && attempt < 5, "it ended with {code:?}: {said}");
    }

    for (name, arguments) in [
        ("plan", &["plan", "-f", SECURE][..]),
        ("json", &["plan", "-o", "json", "-f", SECURE][..]),
        ("doctor", &["doctor", "-f", SECURE][..]),
    ] {
        let told = said(secured.tandem(arguments), Duration::from_secs(60));
        assert_eq!(told.code, Some(0), "{}", told.text);
        fs::write(folder.join(name), told.text).unwrap();
    }
    let files = written(&folder);
    let records = secured.kafka.folder.path().join("records");
    let files = [files, written(&records)].concat();
    assert!(
        files.iter().any(|(name, text)| name.ends_with("journal.jsonl") && text.len() > 10_000)
    );
    assert!(files.iter().any(|(name, _)| name.ends_with("p1-1.log")));
    for (name, text) in &files {
        for secret in &secured.passwords {
            assert!(!holds(text, secret), "a secret is in {name}");
        }
    }
}
