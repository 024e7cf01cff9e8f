//! Whole runs on a cluster that requires authentication, with members connecting directly or
//! through edges: everything is undone, and no secret is anywhere afterwards.

use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use support::experiment::{Experiment, Finished};
use support::kafka::secrets::{command_lines, written};
use support::kafka::secured::{Secured, said};

const KILL: &str = "\
version: 1
name: kill
method:
  - {id: k, at: 500ms, fault: kill, target: {leader_of: any}}
recover: {within: 5m}
objective: {leaders_per_group: 0}
";

/// No stall of the host ends such a session, and none is waited for: the controller leaves for the
/// dead, with the rights of a member.
const PACE: &str = "--set defaults.session=6s --set defaults.on_death=leave \
                    --set defaults.restart.after=2s";

/// Two looks at all processes.
const LOOK: Duration = Duration::from_millis(100);

/// Which way the members of a run go; its topics have a name of their own.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    more: &'static str,
    proxied: bool,
}

const WAYS: [Way; 2] = [
    Way { name: "kafka-secure-direct", more: "", proxied: false },
    // Exclusive mode has its own membership, and commits.
    Way {
        name: "kafka-secure-edges",
        more: "--set defaults.mode=exclusive --set edges=proxied",
        proxied: true,
    },
];

fn experiment(secured: &Secured, way: Way) -> Experiment {
    let (solo, placed) = (secured.solo(), secured.kafka.placed().join(" "));
    let on = format!("-f {} --set name={} {placed}", solo.display(), way.name);
    let [member, controller] = &secured.passwords;
    Experiment::of("kill.yaml", KILL)
        .with(&format!("{on} {PACE} {}", way.more))
        .set("TANDEM_KAFKA_CA", &secured.file("ca.pem").display().to_string())
        .set("TANDEM_MEMBER_PASSWORD", member)
        .set("TANDEM_CONTROLLER_PASSWORD", controller)
        // What the client says of itself, too; and everything that an edge could say.
        .set("RUST_LOG", "info,tandem_edge=trace")
}

/// How the runs end. Meanwhile the command lines of their members are looked at.
fn play(secured: &Secured) -> [Finished; 2] {
    let start = |way| {
        let run = experiment(secured, way).start();
        thread::spawn(move || run.finish())
    };
    let runs = WAYS.map(start);
    let mut members = [0; 2];
    while !runs.iter().all(JoinHandle::is_finished) {
        for line in command_lines() {
            secured.is_free_of_secrets("a command line", line.as_bytes());
            for (way, members) in WAYS.iter().zip(&mut members) {
                let is_its = line.contains(way.name) && secured.is_member(&line, way.proxied);
                *members += usize::from(is_its);
            }
        }
        sleep(LOOK); // clock: a look takes a processor, which the runs need as well
    }
    let runs = runs.map(|run| run.join().unwrap());
    assert!(!members.contains(&0), "{members:?} members were seen: {}{}", runs[0], runs[1]);
    runs
}

#[test]
fn runs_leave_no_secret_anywhere() {
    let secured = Secured::sole();
    for (run, way) in play(&secured).iter().zip(WAYS) {
        run.sound();
        let edges = run.out.join("logs/edges.log");
        assert_eq!(edges.exists(), way.proxied);
        let files = written(run.folder.path());
        let holds = |name: &str, least: usize| {
            files.iter().any(|(file, text)| file.ends_with(name) && text.len() > least)
        };
        assert!(holds("journal.jsonl", 1_000), "{run}");
        assert!(files.iter().any(|(file, _)| file.ends_with("p1-1.log")), "{run}");
        assert!(!way.proxied || holds("edges.log", 0), "{run}");
        for (name, text) in &files {
            secured.is_free_of_secrets(name, text);
        }
    }
    let solo = secured.solo();
    for what in [&["plan"][..], &["plan", "-o", "json"], &["doctor"]] {
        let done = said(secured.tandem(&[what, &["-f", solo.to_str().unwrap()]].concat()));
        assert_eq!(done.code, Some(0), "{}", done.text);
        secured.is_free_of_secrets(what[0], done.text.as_bytes());
    }
}
