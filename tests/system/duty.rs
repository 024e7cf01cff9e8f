//! Members that run a program of the user: what it learns, and what becomes of one that crashes,
//! does not end when it is asked to, or leaves processes behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use support::duty::{ALONE, calm, log, said, with_program};
use support::experiment::{Experiment, eventually, output, tandem};
use support::leftovers::{Family, stands_still};
use tandem::observation::{Fact, RunEvent, What};

const SOON: Duration = Duration::from_secs(60);
/// Until the test ends it.
const LONG: &str = "5m";

/// Runs until it is asked to end, and says so.
const OBEYS: &str = r#"trap 'echo asked >> "$1/$TANDEM_ROLE.asked"; exit 0' TERM
env > "$1/$TANDEM_ROLE.new"
mv "$1/$TANDEM_ROLE.new" "$1/$TANDEM_ROLE.env"
while :; do sleep 0.02; done
"#;
/// A program that finds out whether another one runs, or what that has started: the kernel keeps
/// the lock until the last of them has ended.
const LOCKS: &str = r#"exec 9>"$1/$TANDEM_ROLE.lock"
flock -n 9 || { echo "$TANDEM_NAME" >> "$1/two"; exit 9; }
echo x >> "$1/$TANDEM_ROLE.begun"
"#;
/// Detached, deaf to SIGTERM, and with an environment that is not that of its parent.
const FORKS: &str = "setsid env -i sh -c 'trap \"\" TERM; while :; do sleep 1; done' &\n";

/// No member that a busy host leaves out for a moment is expelled from this group.
const EXCLUSIVE: &str = "members: 2, partitions: 1, mode: exclusive, session: 10s, heartbeat: \
                         200ms, hold: 2s, on_death: leave, restart: {after: 3s}";

/// Waits until a file has this text.
fn await_text(file: &Path, text: &str) -> String {
    eventually(&format!("{text:?} in {}", file.display()), SOON, || {
        fs::read_to_string(file).ok().filter(|it| it.contains(text))
    })
}

#[test]
fn a_program_learns_its_role_and_ends_in_order() {
    let order = with_program(calm(LONG), "r, s", ALONE, "grace: 2s", ("duty.sh", OBEYS));
    let folder = order.folder.path().to_owned();
    let run = order.start();
    for role in ["r", "s"] {
        await_text(&folder.join(format!("{role}.env")), "TANDEM_ROLE");
    }
    run.signal(Signal::INT);
    let run = run.finish();
    assert_eq!(run.code(), Some(130), "{run}");
    for role in ["r", "s"] {
        let environment = said(&run, &format!("{role}.env"));
        for line in [
            &format!("TANDEM_ROLE={role}"),
            "TANDEM_GROUP=p1",
            "TANDEM_TOPOLOGY=duty",
            "TANDEM_NAME=p1-1",
            "TANDEM_INCARNATION=1",
        ] {
            assert!(environment.lines().any(|one| one == line), "{line}: {environment}");
        }
        assert!(!environment.contains("TANDEM_TICK_FD"), "it does not tick: {environment}");
        assert_eq!(said(&run, &format!("{role}.asked")), "asked\n", "{run}");
    }
}

#[test]
fn the_output_of_a_program_is_in_the_log_of_its_member() {
    let text = "echo to-output; echo to-error >&2; exec sleep 300\n";
    let runs = ["", "ticks: true"].map(|duty| {
        let order = with_program(calm(LONG), "r", ALONE, duty, ("duty.sh", text));
        (order.out().join("logs/p1-1.log"), order.start())
    });
    for (log, run) in runs {
        await_text(&log, "to-output");
        await_text(&log, "to-error");
        run.signal(Signal::INT);
        let run = run.finish();
        let bad = "A member wrote a bad line";
        assert!(!run.stderr.contains(bad), "the facts have a pipe of their own\n{run}");
    }
}

#[test]
fn a_program_that_crashes_is_started_again_and_what_it_left_is_ended_before() {
    let text = format!("{LOCKS}{FORKS}sleep 0.5\nexit 3\n");
    let order = with_program(calm(LONG), "r", ALONE, "grace: 100ms", ("duty.sh", &text));
    let begun = order.folder.path().join("r.begun");
    let run = order.start();
    run.await_facts("the trial", |facts| {
        let began = |what: &What| matches!(what, What::Run(RunEvent::TrialBegan { .. }));
        facts.iter().any(|fact| began(&fact.what)).then_some(())
    });
    let starts = || fs::read_to_string(&begun).unwrap_or_default().lines().count();
    // The one that begins first from now on crashes within the trial.
    let before = starts();
    eventually("two more starts", SOON, || (starts() >= before + 2).then_some(()));
    run.signal(Signal::INT);
    let run = run.finish();
    assert_eq!(run.code(), Some(130), "{run}");
    assert_eq!(said(&run, "two"), "", "two ran at a time\n{run}");
    assert!(log(&run, "p1-1").contains("was killed: exit status 3"), "{}", log(&run, "p1-1"));
    // Each crash is a gap: nothing serves until the next one runs.
    let gaps: usize = run.timeline().groups.values().map(|group| group.findings.gaps.len()).sum();
    assert!(gaps >= 1, "{gaps} gaps\n{run}");
}

/// A step that waits until test(1) finds this so.
fn until(so: &str) -> String {
    format!(
        "fault: exec, for: 100ms, timeout: 2m, undo: ['true'], command: [sh, -c, 'until [ {so} ]; \
         do sleep 0.05; done']"
    )
}

/// One trial in which this happens to the leader of an exclusive role, whose program does this and
/// has begun. The role moves, a program begins there, and two never run: nothing of a program
/// outlives its claim. (One that is paused outlives it: for that there is the fence.) Returns the
/// logs.
fn moves(fault: &str, text: &str) -> String {
    let order = Experiment::of("moves.yaml", "").with("--allow-exec");
    let begun = order.folder.path().join("r.begun").display().to_string();
    let [one, two] = [1, 2].map(|count| until(&format!("$(cat {begun} | wc -l) -ge {count}")));
    let method = format!(
        "version: 1\nname: moves\nsteady_state: {{settled: 300ms}}\nrecover: {{within: 2m}}\n\
         objective: {{leaders_per_group: 0}}\nmethod:\n  - {{id: one, {one}}}\n  - {{id: m, \
         after: one, fault: {fault}, target: {{leader_of: r, group: p1}}}}\n  \
         - {{id: two, after: m, {two}}}\n"
    );
    order.write("moves.yaml", &method);
    let run = with_program(order, "r", EXCLUSIVE, "", ("duty.sh", text)).finish();
    run.sound();
    assert_eq!(said(&run, "two"), "", "two ran at a time\n{run}");
    assert!(said(&run, "r.begun").lines().count() >= 2, "it moves with the role\n{run}");
    log(&run, "p1-1") + &log(&run, "p1-2")
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_killed_before_its_role_moves() {
    let text = format!("trap '' TERM\n{LOCKS}{FORKS}while :; do sleep 0.02; done\n");
    let logs = moves("leave", &text);
    assert!(logs.contains("the command was killed: signal 9"), "{logs}");
}

#[test]
fn nothing_of_a_program_outlives_its_member_that_is_killed() {
    moves("kill", &format!("{LOCKS}{FORKS}wait\n"));
}

/// A pause stops the program as well, and the guard of a dead controller ends what is stopped.
#[test]
fn a_paused_program_stands_still_and_nothing_is_left_of_a_killed_controller() {
    let text = format!(
        "echo $$ > \"$1/new\"\nmv \"$1/new\" \"$1/pid\"\n{FORKS}while :; do sleep 0.01; done\n"
    );
    let order = Experiment::of("pauses.yaml", "").with("--allow-exec");
    let pid = order.folder.path().join("pid");
    let begun = until(&format!("-s {}", pid.display()));
    let method = format!(
        "version: 1\nname: pauses\nmethod:\n  - {{id: begun, {begun}}}\n  - {{id: p, after: begun, \
         fault: pause, for: 5m, target: {{member: p1-1}}}}\n"
    );
    order.write("pauses.yaml", &method);
    let order = with_program(order, "r", ALONE, "", ("duty.sh", &text));
    let run = order.start();
    run.await_facts("the pause", |facts| {
        let in_force = |fact: &Fact| {
            let is_it = matches!(fact.what, What::Run(RunEvent::FaultInForce { .. }));
            // That of the program has no victim.
            is_it && fact.life.is_some()
        };
        facts.iter().any(in_force).then_some(())
    });
    let pid: u32 = await_text(&pid, "\n").trim().parse().unwrap();
    eventually("a program that stands still", SOON, || stands_still(pid).then_some(()));
    let family = Family::of(&run);
    run.signal(Signal::KILL);
    family.is_gone();
}

#[test]
fn a_program_that_is_not_there_is_reported_before_anything_starts() {
    let order = calm("2s");
    let order = with_program(order, "r", ALONE, "", ("duty.sh", "exit 0\n"));
    let file = order.folder.path().join("duty.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("command: [sh", "command: [no-such");
    fs::write(&file, text).unwrap();
    let state = tempfile::tempdir().unwrap();
    for args in [&["up"][..], &["chaos", "run", "chaos/calm.yaml"][..]] {
        let done = output(tandem(state.path()).args(args).arg("-f").arg(&file));
        assert_eq!(done.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(errors.contains("there is no command no-such"), "{errors}");
    }
}
