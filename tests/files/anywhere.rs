//! The program alone, copied into an empty folder: what it ships is at hand there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::experiment::output;
use tandem::chaos::SHIPPED;
use tempfile::TempDir;

/// The program, in a folder in which there is nothing else.
struct Elsewhere {
    home: TempDir,
}

impl Elsewhere {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("bin")).unwrap();
        fs::create_dir(home.path().join("empty")).unwrap();
        support::install(&home.path().join("bin/tandem"));
        Self { home }
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("empty")
    }

    fn said(&self, args: &str) -> (Option<i32>, String, String) {
        let mut command = Command::new(self.home.path().join("bin/tandem"));
        command.current_dir(self.folder()).env("XDG_STATE_HOME", self.home.path().join("state"));
        command.env("NO_COLOR", "1").env_remove("RUST_LOG").args(args.split_whitespace());
        let done = output(&mut command);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    fn good(&self, args: &str) -> (String, String) {
        let (code, stdout, stderr) = self.said(args);
        assert_eq!(code, Some(0), "tandem {args}\n{stdout}\n{stderr}");
        (stdout, stderr)
    }
}

#[test]
fn every_file_that_we_ship_is_inside() {
    let mut there = BTreeSet::new();
    for folder in ["topologies", "chaos", "chaos/suites"] {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        there.extend(files.filter(|file| file.extension().is_some_and(|it| it == "yaml")));
    }
    let schemas = ["experiment", "suite", "topology"];
    there.extend(schemas.map(|name| PathBuf::from(format!("deploy/schema/{name}.json"))));
    let inside: BTreeSet<_> = SHIPPED.iter().map(|file| PathBuf::from(file.path)).collect();
    assert_eq!(inside, there);
    for file in SHIPPED {
        assert_eq!(fs::read_to_string(file.path).unwrap(), file.text, "{}", file.path);
    }
}

#[test]
fn shipped_files_are_found_from_an_empty_folder() {
    let tandem = Elsewhere::new();
    let (said, _) = tandem.good("validate chaos/kill-leader.yaml chaos/host-down.yaml");
    assert!(said.contains("chaos/host-down.yaml: ok, an experiment"), "{said}");
    let (said, _) = tandem.good("validate chaos/suites/shipped.yaml topologies/trio.yaml");
    assert!(said.contains("chaos/suites/shipped.yaml: ok, a suite"), "{said}");
    let (said, stderr) = tandem.good("chaos run chaos/kill-leader.yaml --dry-run");
    assert!(said.starts_with("kill-leader on duo: 8 trials"), "{said}");
    let shipped = "shipped:/chaos/kill-leader.yaml, shipped:/topologies/duo.yaml";
    assert_eq!(stderr, format!("not in this folder, so shipped files are used: {shipped}\n"));
    let (said, _) = tandem.good("chaos run chaos/storm.yaml -f topologies/trio.yaml --dry-run");
    assert!(said.starts_with("storm on trio: "), "{said}");
    let (said, _) = tandem.good("plan -x chaos/host-down.yaml");
    assert!(said.contains("what host-down may cost, ms"), "{said}");
    let (said, _) = tandem.good("plan --set groups.p1.members=4");
    assert!(said.contains("p1-4"), "{said}");
    // The command wrote nothing, and touched no state.
    assert_eq!(fs::read_dir(tandem.folder()).unwrap().count(), 0);
    assert!(!tandem.home.path().join("state").exists());
}

#[test]
fn a_file_that_is_there_goes_before_the_shipped_one() {
    let tandem = Elsewhere::new();
    fs::create_dir(tandem.folder().join("topologies")).unwrap();
    let duo = fs::read_to_string("topologies/duo.yaml").unwrap();
    let own = duo.replace("name: duo", "name: mine");
    fs::write(tandem.folder().join("topologies/duo.yaml"), own).unwrap();
    let (said, stderr) = tandem.good("chaos run chaos/kill-leader.yaml --dry-run");
    assert!(said.starts_with("kill-leader on mine: "), "{said}");
    assert_eq!(
        stderr,
        "not in this folder, so shipped files are used: shipped:/chaos/kill-leader.yaml\n"
    );
    // What a shipped file names is shipped, too.
    let (said, _) = tandem.good("chaos run chaos/host-down.yaml --dry-run");
    assert!(said.starts_with("host-down on duo: "), "{said}");
    // The other one has a name of its own.
    let (said, stderr) =
        tandem.good("chaos run shipped:/chaos/calm.yaml -f shipped:/topologies/duo.yaml --dry-run");
    assert!(said.starts_with("calm on duo: ") && stderr.is_empty(), "{said}\n{stderr}");
}

#[test]
fn an_error_names_where_the_file_came_from() {
    let tandem = Elsewhere::new();
    let (code, _, stderr) = tandem.said("plan -f topologies/trio.yaml --set groups.p9.members=4");
    let meant = "--set groups.p9.members=4: there is no group `p9`\n  one of `p1`, `p2`, `p3`\n";
    assert_eq!((code, stderr.as_str()), (Some(2), meant));
    let (code, _, stderr) =
        tandem.said("chaos run chaos/kill-coordinator.yaml -f topologies/none.yaml");
    assert_eq!(code, Some(2));
    assert!(stderr.starts_with("topologies/none.yaml: cannot be read: "), "{stderr}");
    let (_, _, stderr) = tandem.said("validate shipped:/chaos/none.yaml");
    let meant = "shipped:/chaos/none.yaml: is not shipped; `tandem init --list` shows what is\n";
    assert_eq!(stderr, meant);
    // The place in a file inside is a place in that file.
    let (code, _, stderr) = tandem.said("chaos run chaos/host-down.yaml -f topologies/solo.yaml");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.starts_with("shipped:/chaos/host-down.yaml:"), "{stderr}");
}

#[test]
fn init_writes_the_shipped_files_and_overwrites_nothing() {
    let tandem = Elsewhere::new();
    let (said, _) = tandem.good("init mine");
    assert!(said.contains("mine/chaos"), "{said}");
    let mine = tandem.folder().join("mine");
    for file in SHIPPED {
        assert_eq!(fs::read_to_string(mine.join(file.path)).unwrap(), file.text);
    }
    let (said, stderr) =
        tandem.good("validate mine/chaos/host-down.yaml mine/chaos/suites/shipped.yaml");
    assert!(said.ends_with("a suite\n"), "{said}{stderr}");
    // A second time, and where only one of them is there.
    let part = tandem.folder().join("part");
    fs::create_dir_all(part.join("topologies")).unwrap();
    fs::write(part.join("topologies/trio.yaml"), "mine").unwrap();
    for (dir, there) in [("mine", SHIPPED[0].path), ("part", "topologies/trio.yaml")] {
        let (code, _, stderr) = tandem.said(&format!("init {dir}"));
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.starts_with(&format!("{dir}/{there} exists already")), "{stderr}");
    }
    assert_eq!(fs::read_to_string(part.join("topologies/trio.yaml")).unwrap(), "mine");
    assert!(!part.join("chaos").exists());
    let (code, _, _) = tandem.said("init");
    assert_eq!(code, Some(2));
    let (said, _) = tandem.good("init --list");
    let line = said.lines().find(|line| line.starts_with("chaos/calm.yaml ")).unwrap();
    assert!(line.contains("Injects no fault for a minute"), "{said}");
    assert!(said.lines().all(|line| !Path::new(line).is_absolute()));
}

/// A suite is inside with all that it names; its runs are processes that find it, too.
#[test]
fn a_shipped_suite_runs_from_an_empty_folder() {
    let tandem = Elsewhere::new();
    let text = "version: 1\nname: two\nruns: [{experiment: 'shipped:/chaos/calm.yaml'}]\n";
    fs::write(tandem.folder().join("two.yaml"), text).unwrap();
    let (code, _, stderr) = tandem.said("chaos suite two.yaml --set groups.p9.members=4");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("there is no group `p9`"), "{stderr}");
    // What it names is found as on a command line, from a folder of its own as well.
    let text = "version: 1\nname: own\nruns: [{experiment: chaos/calm.yaml, topology: \
                topologies/trio.yaml}, {experiment: mine.yaml}]\n";
    let mine = "version: 1\nname: mine\ntopology: topologies/solo.yaml\nmethod:\n  \
                - {id: n, at: 0s, fault: noop, for: 1s}\n";
    fs::create_dir(tandem.folder().join("own")).unwrap();
    fs::write(tandem.folder().join("own/suite.yaml"), text).unwrap();
    fs::write(tandem.folder().join("own/mine.yaml"), mine).unwrap();
    let (said, _) = tandem.good("validate own/suite.yaml own/mine.yaml");
    assert_eq!(said.lines().count(), 2, "{said}");
    let set = "--set defaults.session=7s --set defaults.heartbeat=9s";
    let (code, _, stderr) = tandem.said(&format!("chaos suite chaos/suites/shipped.yaml {set}"));
    assert_eq!(code, Some(2), "a heartbeat above the session is a mistake: {stderr}");
    assert!(stderr.contains("--set defaults.heartbeat=9s"), "{stderr}");
    assert!(!tandem.folder().join("tandem-out").exists());
}
