//! Whole runs on clusters that require authentication pass, with members connecting directly or
//! through edges, and no secret is anywhere afterwards.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use support::kafka::secrets::{command_lines, written};
use support::kafka::secured::{SECURE, Secured, said};
use support::stores::unexplained_joint_gaps;
use tandem::journal;
use tandem::time::Mono;
use tandem::timeline::Timeline;

/// The test is about rights and messages: a busy host breaks claims about durations, so there are
/// none.
const KILL: &str = "\
version: 1
name: kill
trials: 1
method:
  - {id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any, group: any}}
objective: {leaders_per_group: 0}
";
const KILL_AND_LEAVE: &str = "\
version: 1
name: kill-and-leave
trials: 1
method:
  - {id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any, group: any}}
  - {id: l, at: 6s, fault: leave, target: {leader_of: any, group: any}}
objective: {leaders_per_group: 0}
";
const ISOLATE: &str = "\
version: 1
name: isolate
method:
  - {id: c, at: 500ms, fault: partition, for: 5s, target: {leader_of: any, group: any}}
objective: {leaders_per_group: 0}
";

// The controller leaves for the dead with the rights of a member.
const OWN: &[&str] = &["--set", "defaults.membership=own", "--set", "defaults.on_death=leave"];
// Exclusive mode has its own membership, and commits.
const EXCLUSIVE_BY_EDGES: &[&str] = &["--set", "defaults.mode=exclusive", "--set", "edges=proxied"];

/// A run, and which way its members go.
struct Way {
    experiment: &'static str,
    more: &'static [&'static str],
    proxied: bool,
}

/// How it ended, and how many command lines of members were looked at.
fn run(secured: &Secured, way: &Way, out: &Path) -> (Option<i32>, usize) {
    fs::create_dir_all(out).unwrap();
    let stream = |name: &str| File::create(out.join(name)).unwrap();
    let experiment = out.join("experiment.yaml");
    fs::write(&experiment, way.experiment).unwrap();
    let mut run = secured.tandem(&["chaos", "run", experiment.to_str().unwrap(), "-f", SECURE]);
    run.args(way.more).arg("--out").arg(out.join("run"));
    // What the client says of itself, too; and everything that an edge could say.
    run.env("RUST_LOG", "info,tandem_edge=trace");
    let mut run = run.stdout(stream("stdout")).stderr(stream("stderr")).spawn().unwrap();
    let mut members = 0;
    loop {
        for line in command_lines() {
            secured.is_free_of_secrets("a command line", line.as_bytes());
            members += usize::from(secured.is_member(&line, way.proxied));
        }
        if let Some(status) = run.try_wait().unwrap() {
            return (status.code(), members);
        }
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// A run passes.
fn passes(secured: &Secured, way: &Way, out: &Path) {
    let began = Mono::now();
    let (code, members) = run(secured, way, out);
    let said = fs::read_to_string(out.join("stdout")).unwrap();
    let wrong = fs::read_to_string(out.join("stderr")).unwrap();
    assert!(members > 10, "{members} command lines of members were seen: {said}{wrong}");
    assert_eq!(out.join("run/logs/edges.log").exists(), way.proxied);
    let took = Mono::now().since(began);
    eprintln!("{:?} after {took:?}: {said}", way.more);
    assert_eq!(code, Some(0), "{said}{wrong}");
    let recording = journal::read(&out.join("run/journal.jsonl")).unwrap();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    assert_eq!(unexplained_joint_gaps(&timeline), [], "{said}");
}

#[test]
fn runs_pass_and_leave_no_secret_anywhere() {
    let secured = Secured::alone(2);
    let folder = secured.kafka.folder.path().join("looked-at");
    let ways = [
        Way { experiment: KILL, more: &[], proxied: false },
        Way { experiment: KILL, more: &["--set", "edges=proxied"], proxied: true },
        Way { experiment: KILL_AND_LEAVE, more: OWN, proxied: false },
        Way { experiment: KILL_AND_LEAVE, more: EXCLUSIVE_BY_EDGES, proxied: true },
        // An experiment that cuts connections needs edges, even if the topology has none.
        Way { experiment: ISOLATE, more: &[], proxied: true },
    ];
    for (number, way) in ways.iter().enumerate() {
        passes(&secured, way, &folder.join(format!("way-{number}")));
    }

    for (name, arguments) in [
        ("plan", &["plan", "-f", SECURE][..]),
        ("json", &["plan", "-o", "json", "-f", SECURE][..]),
        ("doctor", &["doctor", "-f", SECURE][..]),
    ] {
        let done = said(secured.tandem(arguments));
        assert_eq!(done.code, Some(0), "{}", done.text);
        fs::write(folder.join(name), done.text).unwrap();
    }
    let files = written(&folder);
    let records = written(&secured.kafka.state());
    let files = [files, records].concat();
    assert!(
        files.iter().any(|(name, text)| name.ends_with("journal.jsonl") && text.len() > 10_000)
    );
    assert!(files.iter().any(|(name, _)| name.ends_with("p1-1.log")));
    assert!(files.iter().any(|(name, text)| name.ends_with("edges.log") && !text.is_empty()));
    for (name, text) in &files {
        secured.is_free_of_secrets(name, text);
    }
}
