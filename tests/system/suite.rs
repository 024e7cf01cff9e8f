//! `tandem chaos suite`: what it runs, what it says, and with what it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{LONELY, PATIENCE, eventually, output, signal_pid, tandem};
use tempfile::TempDir;

/// A folder of experiments, the topology `lonely` beside it, and where a suite of them goes.
struct Stage {
    folder: TempDir,
}

/// What a suite ended with.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
    out: PathBuf,
}

impl Stage {
    fn set(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("x")).unwrap();
        for (name, text) in files {
            fs::write(folder.path().join("x").join(name), text).unwrap();
        }
        fs::write(folder.path().join("lonely.yaml"), LONELY).unwrap();
        Self { folder }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = tandem(&self.folder.path().join("state"));
        command.args(["chaos", "suite"]).arg(self.folder.path().join("x"));
        command.args(["--seed", "1"]).args(args);
        command.arg("--out").arg(self.folder.path().join("out"));
        command
    }

    /// A topology on which nothing happens that no experiment does, on any host.
    fn lonely(&self) -> String {
        self.folder.path().join("lonely.yaml").display().to_string()
    }

    fn run(&self, args: &[&str]) -> Ended {
        self.end(self.start(args))
    }

    fn start(&self, args: &[&str]) -> Child {
        let file = |name: &str| fs::File::create(self.folder.path().join(name)).unwrap();
        let mut command = self.command(args);
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        command.spawn().unwrap()
    }

    fn end(&self, mut child: Child) -> Ended {
        let ended = || child.try_wait().unwrap();
        let status = eventually("the end of the suite", PATIENCE, ended);
        let read = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap();
        let out = self.folder.path().join("out");
        let code = status.code().unwrap();
        Ended { code, stdout: read("stdout"), stderr: read("stderr"), out }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n{}\n----\n{}", self.code, self.stdout, self.stderr)
    }
}

/// An experiment that does nothing for so long, and claims this of it, if anything.
fn calm(lasts: &str, claim: &str) -> String {
    let claims = if claim.is_empty() { String::new() } else { format!("assert: [{claim}]\n") };
    format!(
        "version: 1\nname: calm\ntopology: ../lonely.yaml\nobjective: {{leaders_per_group: 0}}\n\
         steady_state: {{settled: 100ms}}\nmethod: [{{fault: noop, for: {lasts}}}]\n{claims}"
    )
}

/// An address without a listener.
const NOWHERE: &str = "version: 1\nname: nowhere\nroles: [a]\nclusters: {c: {bootstrap: \
                       \"127.0.0.1:1\"}}\ngroups: {p: {cluster: c}}\n";

fn exists(out: &Path, name: &str) -> bool {
    out.join(name).exists()
}

#[test]
fn the_worst_outcome_is_the_exit_code_and_all_are_in_the_summary() {
    let stage = Stage::set(&[
        ("a.yaml", &calm("100ms", "")),
        // Where nothing is done there are not that many.
        ("b.yaml", &calm("100ms", "group.overlap.count >= 1000")),
        ("c.yaml", &calm("100ms", "joint.gap.count <= 1000")),
    ]);
    let suite = stage.run(&["-f", &stage.lonely(), "-o", "json"]);
    assert_eq!(suite.code, 3, "{suite}");
    let summary: serde_json::Value = serde_json::from_str(&suite.stdout).unwrap();
    let outcomes: Vec<&str> = summary["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["pass", "fail", "pass"], "{suite}");
    assert_eq!(summary["code"], 3);
    for name in ["01-a-lonely", "02-b-lonely", "03-c-lonely"] {
        assert!(exists(&suite.out, &format!("{name}/journal.jsonl")), "{name}: {suite}");
        assert!(exists(&suite.out, &format!("{name}/result.json")), "{name}: {suite}");
    }
    let text = fs::read_to_string(suite.out.join("summary.txt")).unwrap();
    assert!(text.contains("2 of 3 passed: exit code 3"), "{text}");
    let junit = fs::read_to_string(suite.out.join("junit.xml")).unwrap();
    assert_eq!(junit.matches("<testsuite ").count(), 3, "{junit}");
    assert_eq!(junit.matches("<failure").count(), 1, "{junit}");
    // The folder holds something now.
    let again = stage.run(&["-f", &stage.lonely()]);
    assert_eq!(again.code, 1, "{again}");
    assert!(again.stderr.contains("is not empty"), "{again}");
}

#[test]
fn an_experiment_that_cannot_run_is_reported_and_may_be_skipped() {
    let near = calm("100ms", "");
    let far = near.replace("../lonely.yaml", "nowhere.txt");
    let all: [(&str, &str); 3] = [("a.yaml", &near), ("b.yaml", &far), ("nowhere.txt", NOWHERE)];
    let stage = Stage::set(&all);
    let suite = stage.run(&[]);
    assert_eq!(suite.code, 1, "{suite}");
    assert!(suite.stdout.contains("1 of 2 passed: exit code 1"), "{suite}");
    assert!(suite.stdout.contains("no answer"), "it says why: {suite}");
    let junit = fs::read_to_string(suite.out.join("junit.xml")).unwrap();
    assert_eq!(junit.matches("<error").count(), 1, "no CI is green for it: {junit}");
    let stage = Stage::set(&all[1..]);
    let suite = stage.run(&["--skip-unable"]);
    assert_eq!(suite.code, 0, "{suite}");
    assert!(suite.stdout.contains("unable"), "it is reported all the same: {suite}");
    let junit = fs::read_to_string(suite.out.join("junit.xml")).unwrap();
    assert_eq!(junit.matches("<skipped").count(), 1, "{junit}");
}

#[test]
fn a_misfit_with_a_chosen_topology_is_not_a_mistake_in_the_file() {
    let host = "version: 1\nname: host\nmethod: [{fault: host, target: {host: any}}]\n";
    let stage = Stage::set(&[("a.yaml", host)]);
    let suite = stage.run(&["-f", "topologies/solo.yaml"]);
    assert_eq!(suite.code, 1, "{suite}");
    assert!(suite.stdout.contains("no group says which host it is on"), "{suite}");
}

#[test]
fn a_file_that_is_wrong_keeps_all_from_starting() {
    let stage = Stage::set(&[("a.yaml", &calm("100ms", "")), ("b.yaml", "version: 1\nname: x\n")]);
    let suite = stage.run(&[]);
    assert_eq!(suite.code, 2, "{suite}");
    assert!(suite.stderr.contains("b.yaml") && !exists(&suite.out, ""), "{suite}");
    let torn = "version: 1\nname: z\nmethod: [{fault: noop, for: 1s\n";
    let torn = Stage::set(&[("calm.yaml", &calm("100ms", "")), ("z.yaml", torn)]).run(&[]);
    assert_eq!(torn.code, 2, "{torn}");
    assert!(torn.stderr.contains("z.yaml:3:10: unclosed bracket"), "{torn}");
    let empty = Stage::set(&[]).run(&[]);
    assert_eq!(empty.code, 2, "{empty}");
    assert!(empty.stderr.contains("the folder has no experiments"), "{empty}");
}

/// A suite of two long runs, of which the first is in its trial.
fn under_way() -> (Stage, Child) {
    let stage = Stage::set(&[("a.yaml", &calm("5m", "")), ("b.yaml", &calm("5m", ""))]);
    let child = stage.start(&["-f", &stage.lonely()]);
    let journal = stage.folder.path().join("out/01-a-lonely/journal.jsonl");
    let began = || {
        let text = fs::read_to_string(&journal).unwrap_or_default();
        text.contains("trial_began").then_some(())
    };
    eventually("a trial", Duration::from_secs(60), began);
    (stage, child)
}

/// It was interrupted in its first run, and left nothing.
fn is_interrupted(stage: &Stage, suite: &Ended) {
    assert_eq!(suite.code, 130, "{suite}");
    let outcomes = ["interrupted", "not played"];
    assert!(outcomes.iter().all(|outcome| suite.stdout.contains(outcome)), "{suite}");
    assert!(!exists(&suite.out, "02-b-lonely"), "{suite}");
    let line = suite.stderr.lines().last().unwrap();
    assert_eq!(line, "  not played: the suite was interrupted before", "{suite}");
    for folder in ["runs", "suites"] {
        let left = fs::read_dir(stage.folder.path().join("state/tandem").join(folder));
        assert_eq!(left.map_or(0, Iterator::count), 0, "nothing is left in {folder}");
    }
}

#[test]
fn an_interrupt_ends_the_run_under_way_and_starts_no_other() {
    let (stage, child) = under_way();
    signal_pid(child.id(), Signal::INT);
    let suite = stage.end(child);
    is_interrupted(&stage, &suite);
    let first = fs::read_to_string(suite.out.join("01-a-lonely.stdout")).unwrap();
    assert!(first.starts_with("INTERRUPTED calm on lonely: 0 of 1 trials"), "{first}");
}

#[test]
fn a_suite_is_halted_with_its_run() {
    let (stage, child) = under_way();
    let pid = child.id();
    let halt = |args: &[&str]| {
        let said = output(tandem(&stage.folder.path().join("state")).arg("halt").args(args));
        (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned())
    };
    let of_another = halt(&["-f", "topologies/trio.yaml"]);
    assert_eq!(of_another, (Some(0), "nothing of trio is left to halt\n".to_owned()));
    // The caller waits for it.
    let (suite, (code, said)) = std::thread::scope(|scope| {
        let halted = scope.spawn(|| halt(&["-f", &stage.lonely()]));
        (stage.end(child), halted.join().unwrap())
    });
    assert_eq!(code, Some(0), "{said}\n{suite}");
    assert!(said.contains(&format!("suite {pid} ended when asked")), "{said}");
    is_interrupted(&stage, &suite);
    assert_eq!(halt(&[]), (Some(0), "nothing is left to halt\n".to_owned()));
}

/// Every run gets what the suite is given, and says so where it cannot use it.
#[test]
fn options_of_a_suite_reach_its_runs() {
    let stage = Stage::set(&[("a.yaml", &calm("100ms", ""))]);
    let set = ["--set", "defaults.session=11s", "--set", "name=other"];
    let topology = stage.lonely();
    let ended = stage.run(&[&set[..], &["-f", &topology, "--metrics", "127.0.0.1:0"]].concat());
    assert_eq!(ended.code, 0, "{ended}");
    let journal = fs::read_to_string(ended.out.join("01-a-lonely/journal.jsonl")).unwrap();
    let header = journal.lines().next().unwrap();
    assert!(header.contains("defaults.session=11s") && header.contains("name=other"), "{header}");
    let said = fs::read_to_string(ended.out.join("01-a-lonely.stderr")).unwrap();
    assert!(said.contains("metrics: http://127.0.0.1:"), "{said}");
    // Whether there is a gap is for the host to say.
    assert!(said.contains("trial 1 of 1: no fault was injected: "), "{said}");

    let stage = Stage::set(&[("a.yaml", &calm("100ms", ""))]);
    let ended = stage.run(&["-f", &stage.lonely(), "--otlp", "nowhere"]);
    assert_eq!(ended.code, 2, "an invalid collector is reported before anything starts: {ended}");
    assert!(!ended.out.join("01-a-lonely").exists(), "{ended}");
}
