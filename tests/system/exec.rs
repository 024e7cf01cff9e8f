//! `exec`: commands of the user's own. They are refused unless they are allowed; they are run, and
//! undone, by the controller or in its stead by its guard. What a busy host does to the members
//! meanwhile is not asked: facts, marks and reasons are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Running, eventually, output, tandem};
use support::facts::life;
use support::leftovers::family_in_trial;
use support::measured::BRISK;
use tandem::guard::{UserCommand, started};
use tandem::ids::Life;
use tandem::observation::{Fact, FaultClass, Outcome, RunEvent, What};

/// Nothing here takes longer, however loaded the machine: a run has to start meanwhile.
const SOON: Duration = Duration::from_secs(60);

/// An experiment with this step, which may run commands.
fn experiment(step: &str) -> Experiment {
    let text = format!(
        "version: 1\nname: own\nrecover: {{within: 2m}}\nobjective: {{leaders_per_group: 0}}\n\
         method:\n  - {{id: x, at: 500ms, fault: exec, {step}}}\n"
    );
    Experiment::of("own.yaml", &text).with(BRISK)
}

/// Commands that leave marks in this folder, and what they find in their environment.
fn marks(folder: &Path) -> String {
    let mark = |name: &str| {
        let file = folder.join(name).display().to_string();
        format!("[sh, -c, 'env | grep ^TANDEM_ | sort > {file}.new && mv {file}.new {file}']")
    };
    format!("command: {}, undo: {}", mark("done"), mark("undone"))
}

fn appears(path: &Path) -> String {
    eventually(&path.display().to_string(), SOON, || fs::read_to_string(path).ok())
}

/// The same, and its first line: a shell makes a file before it writes to it.
fn is_written(path: &Path) -> String {
    let line = || fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'));
    eventually(&path.display().to_string(), SOON, line)
}

fn kinds(facts: &[Fact]) -> Vec<(&'static str, Option<Life>)> {
    let kind = |fact: &Fact| {
        let what = match &fact.what {
            What::Run(RunEvent::FaultAsked { class: FaultClass::Other, .. }) => "asked",
            What::Run(RunEvent::FaultInForce { .. }) => "in force",
            What::Run(RunEvent::FaultHealed { .. }) => "healed",
            What::Run(RunEvent::FaultFailed { .. }) => "failed",
            _ => return None,
        };
        Some((what, fact.life.clone()))
    };
    facts.iter().filter_map(kind).collect()
}

/// A shell between the two would drop it: its name is no identifier.
#[test]
fn a_command_and_its_undo_have_the_environment_of_the_run() {
    let step = "for: 1s, command: [env], undo: [env]";
    let run = experiment(step).set("app.region", "eu").with("--allow-exec").finish();
    let log = fs::read_to_string(run.out.join("logs/exec-1.x.log")).unwrap();
    assert_eq!(log.lines().filter(|line| *line == "app.region=eu").count(), 2, "{run}\n{log}");
}

#[test]
fn a_command_is_run_for_its_time_and_undone() {
    let marks_are = tempfile::tempdir().unwrap();
    let step = format!("for: 1s, target: {{member: p1-1}}, {}", marks(marks_are.path()));
    let run = experiment(&step).with("--allow-exec").finish();
    let life = life("p1-1.1");
    let noted = kinds(&run.recording().facts);
    assert_eq!(noted, ["asked", "in force", "healed"].map(|it| (it, Some(life.clone()))), "{run}");
    let done = fs::read_to_string(marks_are.path().join("done")).unwrap();
    for line in ["TANDEM_FAULT=1.x", "TANDEM_LIVES=p1-1.1", "TANDEM_TOPOLOGY=duo", "TANDEM_TRIAL=1"]
    {
        assert!(done.lines().any(|it| it == line), "{line} in {done}");
    }
    let pid = done.lines().find_map(|it| it.strip_prefix("TANDEM_PIDS=")).unwrap();
    assert!(pid.parse::<u32>().is_ok() && done.contains("TANDEM_RUN=own-"), "{done}");
    assert_eq!(fs::read_to_string(marks_are.path().join("undone")).unwrap(), done);
    let log = fs::read_to_string(run.out.join("logs/exec-1.x.log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.starts_with("$ sh -c 'env")).count(), 2, "{log}");
}

#[test]
fn one_that_fails_fails_the_fault_and_is_undone_all_the_same() {
    let marks_are = tempfile::tempdir().unwrap();
    let undone = marks_are.path().join("undone");
    let step = format!(
        "for: 1s, command: [sh, -c, 'echo no such device; exit 2'], undo: [touch, {}]",
        undone.display()
    );
    let run = experiment(&step).with("--allow-exec").finish();
    assert_ne!(run.code(), Some(0), "{run}");
    let reasons = run.report().reasons;
    assert!(reasons.iter().any(|why| why.contains("exit 2'` failed: exit status: 2")), "{run}");
    assert!(undone.exists(), "{run}");
    // It has no target, and so it concerns every group.
    assert_eq!(kinds(&run.recording().facts)[0], ("asked", None), "{run}");
    let log = fs::read_to_string(run.out.join("logs/exec-1.x.log")).unwrap();
    assert!(log.contains("\nno such device\n"), "{log}");
}

#[test]
fn one_that_takes_too_long_is_ended_and_undone() {
    let step = "for: 1s, timeout: 5s, command: [sleep, '600'], undo: ['true']";
    let run = experiment(step).with("--allow-exec").finish();
    assert_ne!(run.code(), Some(0), "{run}");
    let reasons = run.report().reasons;
    let late = "`sleep 600` did not end within 5s, and was killed";
    assert!(reasons.iter().any(|why| why.contains(late)), "{run}");
}

/// A run with a command that is in force until it is healed, and where its undo leaves a mark.
fn under_way(state: &Path) -> (Running, PathBuf) {
    let (done, undone) = (state.join("done"), state.join("undone"));
    let step = format!(
        "for: 5m, command: [touch, {}], undo: [sh, -c, 'echo $TANDEM_FAULT >> {}']",
        done.display(),
        undone.display()
    );
    let run = experiment(&step).in_state(state).with("--allow-exec").start();
    appears(&done);
    (run, undone)
}

#[test]
fn a_controller_that_is_killed_has_its_guard_run_the_undo() {
    let state = tempfile::tempdir().unwrap();
    let (run, undone) = under_way(state.path());
    let family = family_in_trial(&run);
    run.signal(Signal::KILL);
    assert_eq!(is_written(&undone), "1.x\n");
    run.finish();
    family.is_gone();
    eventually("the end of the ledger", SOON, || {
        let ledgers = fs::read_dir(state.path().join("tandem/runs")).unwrap().count();
        (ledgers == 0).then_some(())
    });
    assert_eq!(fs::read_to_string(&undone).unwrap(), "1.x\n", "once");
}

#[test]
fn a_command_under_way_is_ended_with_all_that_it_started_and_undone() {
    let state = tempfile::tempdir().unwrap();
    let (begun, undone) = (state.path().join("begun"), state.path().join("undone"));
    let step = format!(
        "for: 1s, timeout: 5m, command: [sh, -c, 'sleep 600 & echo $! > {0}.new && mv {0}.new {0}; \
         wait'], undo: [touch, {1}]",
        begun.display(),
        undone.display()
    );
    let run = experiment(&step).in_state(state.path()).with("--allow-exec").start();
    let sleeper: u32 = appears(&begun).trim().parse().unwrap();
    assert!(started(sleeper).is_some());
    run.signal(Signal::KILL);
    appears(&undone);
    eventually("the end of what it started", SOON, || started(sleeper).is_none().then_some(()));
    run.finish();
}

#[test]
fn an_interrupted_run_undoes_its_command() {
    let state = tempfile::tempdir().unwrap();
    let (run, undone) = under_way(state.path());
    run.signal(Signal::INT);
    let run = run.finish();
    assert_eq!(run.report().outcome, Some(Outcome::Interrupted), "{run}");
    assert_eq!(fs::read_to_string(&undone).unwrap(), "1.x\n", "{run}");
}

#[test]
fn forbidden_faults_are_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = "chaos/own-command.yaml:13:12: a command fault must be allowed";
    for args in [
        &["chaos", "run", "chaos/own-command.yaml"][..],
        &["chaos", "run", "chaos/own-command.yaml", "-f", "topologies/trio.yaml"],
    ] {
        let mut command = tandem(folder.path());
        command.args(args).arg("--out").arg(folder.path().join("out"));
        let done = output(&mut command);
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted) && said.contains("--allow-exec"), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{said}");
    }
    let suite = folder.path().join("suite.yaml");
    let experiment = fs::canonicalize("chaos/own-command.yaml").unwrap();
    let text =
        format!("version: 1\nname: own\nruns:\n  - {{experiment: \"{}\"}}\n", experiment.display());
    fs::write(&suite, text).unwrap();
    for more in [&[][..], &["-f", "topologies/duo.yaml"]] {
        let mut command = tandem(folder.path());
        command.args(["chaos", "suite"]).arg(&suite).args(more);
        command.arg("--out").arg(folder.path().join("out"));
        let done = output(&mut command);
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(":13:12: a command fault must be allowed"), "{said}");
    }
}

/// As on a disk that the fault has filled: what undoes it still has to run.
#[test]
fn a_command_runs_though_its_log_takes_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("undone");
    let command = UserCommand {
        command: vec!["touch".to_owned(), mark.display().to_string()],
        folder: folder.path().to_owned(),
        environment: BTreeMap::new(),
        timeout: tandem::time::Span(SOON),
        log: PathBuf::from("/dev/full"),
    };
    command.run().unwrap();
    assert!(mark.exists());
}
