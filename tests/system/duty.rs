//! Members that run a program of the user: what it learns, and what becomes of one that crashes,
//! does not end when it is asked to, or leaves processes behind.

use std::time::Duration;

use rustix::process::Signal;
use support::duty::{ALONE, calm, log, said, with_program};
use support::experiment::{Experiment, eventually, output, tandem};
use support::leftovers::Family;
use support::measured::shared_turn;
use tandem::observation::{RunEvent, What};

/// Runs until it is asked to end, and says so.
const OBEYS: &str = r#"trap 'echo asked >> "$1/$TANDEM_ROLE.asked"; exit 0' TERM
env > "$1/$TANDEM_ROLE.env"
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

#[test]
fn a_program_learns_its_role_and_ends_in_order() {
    let _turn = shared_turn();
    let order = with_program(calm("2s"), "r, s", ALONE, "", ("duty.sh", OBEYS));
    let run = order.finish();
    assert_eq!(run.code(), Some(0), "{run}");
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
    let _turn = shared_turn();
    let text = "echo to-output; echo to-error >&2; exec sleep 60\n";
    for duty in ["", "ticks: true"] {
        let order = with_program(calm("2s"), "r", ALONE, duty, ("duty.sh", text));
        let run = order.finish();
        let log = log(&run, "p1-1");
        assert!(log.contains("to-output") && log.contains("to-error"), "{log}\n{run}");
        let bad = "A member wrote a bad line";
        assert!(!run.stderr.contains(bad), "the facts have a pipe of their own\n{run}");
    }
}

#[test]
fn a_program_that_crashes_is_started_again_and_what_it_left_is_ended_before() {
    let _turn = shared_turn();
    let text = format!("{LOCKS}{FORKS}sleep 0.5\nexit 3\n");
    let duty = "grace: 100ms";
    let order = with_program(calm("4s"), "r", ALONE, duty, ("duty.sh", &text));
    let run = order.finish();
    let begun = said(&run, "r.begun").lines().count();
    assert!(begun >= 3, "{begun} starts\n{}\n{run}", log(&run, "p1-1"));
    assert_eq!(said(&run, "two"), "", "two ran at a time\n{run}");
    assert!(log(&run, "p1-1").contains("was killed: exit status 3"), "{}", log(&run, "p1-1"));
    // Each crash is a gap: nothing serves until the next one runs.
    let gaps = run.timeline().groups.values().map(|group| group.findings.gaps.len()).sum();
    assert!((1..=begun).contains(&gaps), "{gaps} gaps and {begun} starts\n{run}");
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_killed_in_time() {
    let _turn = shared_turn();
    let text = format!("trap '' TERM\n{LOCKS}while :; do sleep 0.02; done\n");
    let group = "members: 2, partitions: 1, mode: exclusive, session: 2s, hold: 1s";
    let text_of = "version: 1\nname: leaves\ntrials: 2\nsteady_state: {settled: 500ms}\nmethod:\n  \
                   - {id: l, at: 300ms, fault: leave, target: {leader_of: r, group: p1}}\n\
                   objective: {leaders_per_group: 0}\n";
    let order = Experiment::of("leaves.yaml", text_of);
    let run = with_program(order, "r", group, "", ("duty.sh", &text)).finish();
    // Unknown where a busy host let something go unobserved: the program itself says what counts.
    assert!(matches!(run.code(), Some(0 | 4)), "{run}");
    let logs = log(&run, "p1-1") + &log(&run, "p1-2");
    assert!(logs.contains("the command was killed: signal 9"), "{logs}\n{run}");
    assert_eq!(said(&run, "two"), "", "two ran at a time\n{run}");
    assert!(said(&run, "r.begun").lines().count() >= 3, "it moves with the role\n{run}");
}

/// Members are killed and asked to leave; the controller leaves for the dead at once. Nothing of a
/// program outlives its claim. (One that is paused outlives it: for that there is the fence.)
#[test]
fn no_two_programs_of_an_exclusive_role_run_at_a_time() {
    let _turn = shared_turn();
    let text = format!("{LOCKS}{FORKS}wait\n");
    let group = "members: 3, partitions: 1, mode: exclusive, session: 2s, hold: 1s, \
                 on_death: leave, restart: {after: 2s}";
    let of_r = "target: {leader_of: r, group: p1}";
    let method = format!(
        "version: 1\nname: moves\ntrials: 3\nsteady_state: {{settled: 300ms}}\nmethod:\n  \
         - {{id: k, at: 300ms, fault: kill, {of_r}}}\n  \
         - {{id: l, after: k, delay: 4s, fault: leave, {of_r}}}\n\
         objective: {{leaders_per_group: 0}}\n"
    );
    let order = Experiment::of("moves.yaml", &method);
    let run = with_program(order, "r", group, "", ("duty.sh", &text)).finish();
    // How long each takes on this host, and whether a fault found a leader, is of no interest here.
    assert!(matches!(run.code(), Some(0 | 3 | 4)), "{run}");
    assert_eq!(said(&run, "two"), "", "two ran at a time\n{run}");
    assert!(said(&run, "r.begun").lines().count() >= 6, "it moves with the role\n{run}");
}

/// A pause stops the program as well, and the guard of a dead controller ends what is stopped.
#[test]
fn a_paused_program_stands_still_and_nothing_is_left_of_a_killed_controller() {
    let _turn = shared_turn();
    let text = format!("{FORKS}while :; do date +%s%N > \"$1/now\"; sleep 0.01; done\n");
    let method = "version: 1\nname: pauses\nmethod:\n  \
                  - {id: p, at: 200ms, fault: pause, for: 5m, target: {member: p1-1}}\n";
    let order = Experiment::of("pauses.yaml", method);
    let order = with_program(order, "r", ALONE, "", ("duty.sh", &text));
    let now = order.folder.path().join("now");
    let run = order.start();
    run.await_facts("the pause", |facts| {
        facts
            .iter()
            .find(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })))
            .map(|_| ())
    });
    // What the kernel was doing for it ends first, which takes long on a slow disk.
    let said = || std::fs::read_to_string(&now).unwrap();
    let before = eventually("the end of the last step", Duration::from_secs(60), || {
        let last = said();
        std::thread::sleep(Duration::from_millis(600));
        (said() == last).then_some(last)
    });
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(said(), before, "the program goes on while its member is paused");
    let family = Family::of(&run);
    run.signal(Signal::KILL);
    eventually("that all is gone", Duration::from_secs(30), || {
        family.left().is_empty().then_some(())
    });
}

#[test]
fn a_program_that_is_not_there_is_reported_before_anything_starts() {
    let order = calm("2s");
    let order = with_program(order, "r", ALONE, "", ("duty.sh", "exit 0\n"));
    let file = order.folder.path().join("duty.yaml");
    let text = std::fs::read_to_string(&file).unwrap().replace("command: [sh", "command: [no-such");
    std::fs::write(&file, text).unwrap();
    let state = tempfile::tempdir().unwrap();
    for args in [&["up"][..], &["chaos", "run", "chaos/calm.yaml"][..]] {
        let done = output(tandem(state.path()).args(args).arg("-f").arg(&file));
        assert_eq!(done.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(errors.contains("there is no command no-such"), "{errors}");
    }
}
