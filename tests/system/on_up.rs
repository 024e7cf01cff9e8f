//! An experiment on what is up (`chaos run --on`): it is judged as any other, its faults end with
//! the process that ordered it, and the topology stays up. The gaps that it causes there:
//! `tests/measured/on_up.rs`.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Finished, Running, eventually, output, signal_pid, tandem};
use support::leftovers::{is_stopped, see};
use support::up::{Up, nothing_is_left};
use tandem::ids::Life;
use tandem::live_view::Level;
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::verdict::Report;

const SOON: Duration = Duration::from_secs(60);
const DUO: &str = "-f topologies/duo.yaml";
/// Members that are stopped for some seconds stay in their groups.
const PATIENT: &str =
    "-f topologies/duo.yaml --set defaults.session=30s --set defaults.heartbeat=300ms";
/// It may take its time to settle.
const KILLS: &str = "version: 1
name: kills
steady_state: {settled: 500ms}
recover: {within: 2m}
method: [{id: k, at: 300ms, fault: kill, target: {member: p1-1}}]
objective: {leaders_per_group: 0}
";
const PAUSE: &str = "version: 1
name: long-pause
trials: 1
method: [{fault: pause, for: 300s, target: {member: p1-1}}]
";

fn on_duo(up: &Up, experiment: Experiment) -> Experiment {
    experiment.with("--on duo").in_state(up.state())
}

/// The process of `p1-1`.
fn victim(up: &Up) -> u32 {
    eventually("the process of p1-1", SOON, || up.status().1?.groups["p1"].members["p1-1"].pid)
}

/// What one says that is refused, for another has not ended.
const BUSY: &str = "is under way on it";

/// Plays it to its end. The supervisor may notice late that the one before has gone.
fn played(up: &Up, experiment: impl Fn() -> Experiment) -> Finished {
    eventually("the end of the one before", SOON, || {
        let run = on_duo(up, experiment()).finish();
        (!run.stderr.contains(BUSY)).then_some(run)
    })
}

/// An experiment that has stopped `pid`. The same holds here.
fn pausing(up: &Up, pid: u32) -> Running {
    let start = || on_duo(up, Experiment::of("pause.yaml", PAUSE)).start();
    let mut running = start();
    eventually("the pause", SOON, || {
        let said = fs::read_to_string(running.stderr()).unwrap();
        if said.contains(BUSY) {
            running = start();
        }
        is_stopped(pid).then_some(())
    });
    running
}

fn continues(pid: u32) {
    eventually("the victim to continue", SOON, || (!is_stopped(pid)).then_some(()));
}

/// Each fault with its victim, in order.
fn faults(facts: &[Fact]) -> Vec<(String, Life)> {
    let asked = facts.iter().filter_map(|fact| match &fact.what {
        What::Run(RunEvent::FaultAsked { fault, .. }) => {
            Some((fault.to_string(), fact.life.clone().unwrap()))
        }
        _ => None,
    });
    asked.collect()
}

/// The life was killed, and afterwards another one of its group leads.
fn is_replaced(facts: &[Fact], victim: &Life) -> bool {
    let is_death = |fact: &&Fact| {
        let killed = matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. }));
        killed && fact.life.as_ref() == Some(victim)
    };
    let Some(death) = facts.iter().find(is_death) else { return false };
    let follows = |fact: &Fact| {
        let claims = matches!(fact.what, What::Member(MemberEvent::Claimed { .. }));
        let other = |life: &Life| life != victim && life.member.as_str().starts_with("p1-");
        claims && fact.t > death.t && fact.life.as_ref().is_some_and(other)
    };
    facts.iter().any(follows)
}

#[test]
fn it_is_judged_as_any_other_and_the_journal_of_what_is_up_has_its_faults() {
    let mut up = Up::start(DUO);
    up.await_health(Level::Led);
    let kills = |trials: &str| Experiment::of("kills.yaml", KILLS).with(trials);
    let first = played(&up, || kills("--trials 2"));
    let report = first.sound();
    assert_eq!((report.trials, report.bounds.len()), (2, 2), "{first}");
    let numbers: Vec<u32> = report.faults.iter().map(|fault| fault.trial.0).collect();
    assert_eq!(numbers, [1, 2], "{first}");
    // The journal alone has all of it.
    let again = output(tandem(up.state()).arg("report").arg(&first.out).args(["-o", "json"]));
    let again: Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again.groups, report.groups);
    // A second one begins where the first has ended.
    let second = played(&up, || kills("--trials 1"));
    assert_eq!(second.sound().trials, 1, "{second}");

    up.await_health(Level::Led);
    let facts = up.recording().facts;
    let known = faults(&facts);
    let ids: Vec<&str> = known.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["2.k", "3.k", "4.k"]);
    let own = [&first, &second].map(|run| faults(&run.recording().facts)).concat();
    assert!(known.iter().map(|(_, life)| life).eq(own.iter().map(|(_, life)| life)), "{known:?}");
    for (id, life) in &known {
        assert!(is_replaced(&facts, life), "{id} has killed {life}\n{first}\n{second}");
    }
    let began = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
    assert_eq!(facts.iter().filter(began).count(), 1, "what is up is one trial");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn its_faults_end_with_the_process_that_ordered_it() {
    let up = Up::start(PATIENT);
    up.await_health(Level::Led);
    let pid = victim(&up);
    // It is killed.
    let killed = pausing(&up, pid);
    killed.signal(Signal::KILL);
    continues(pid);
    drop(killed);
    // It hangs: its lease ends. Another one is refused meanwhile.
    let hanging = pausing(&up, pid);
    let refused = on_duo(&up, Experiment::of("pause.yaml", PAUSE)).finish();
    assert_eq!(refused.code(), Some(1), "{refused}");
    assert!(refused.stderr.contains(BUSY), "{refused}");
    assert!(!refused.out.exists(), "{refused}");
    hanging.signal(Signal::STOP);
    continues(pid);
    hanging.signal(Signal::CONT);
    let late = hanging.finish();
    assert_eq!(late.code(), Some(130), "{late}");
    assert!(late.stdout.contains("said nothing for"), "{late}");
    // It is halted, and what is up stays up.
    let halted = pausing(&up, pid);
    let said = output(tandem(up.state()).arg("halt"));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(!is_stopped(pid), "{said}");
    assert!(said.contains("is healed and ended; duo stays up"), "{said}");
    let halted = halted.finish();
    assert_eq!(halted.code(), Some(130), "{halted}");
    up.await_health(Level::Led);
    assert_eq!(victim(&up), pid, "the member was not started again");
    // The supervisor is killed: its guard ends all of it, the stopped member as well.
    let orphaned = pausing(&up, pid);
    signal_pid(up.supervisor(), Signal::KILL);
    nothing_is_left(up.state());
    // An ended process may not be reaped yet.
    let left = see(pid).filter(|it| !it.has_ended());
    assert!(left.is_none(), "{left:?}");
    let orphaned = orphaned.finish();
    assert_eq!(orphaned.code(), Some(4), "{orphaned}");
}

#[test]
fn what_does_not_fit_what_is_up_is_refused_and_a_stop_condition_is_exit_5() {
    let up = Up::start(PATIENT);
    up.await_health(Level::Led);
    let refused = |experiment: Experiment, code: i32, sentence: &str| {
        let refused = on_duo(&up, experiment).finish();
        assert_eq!(refused.code(), Some(code), "{refused}");
        assert!(refused.stderr.contains(sentence), "{sentence}\n{refused}");
        assert!(!refused.out.exists(), "{refused}");
    };
    refused(Experiment::new("chaos/isolate-leader.yaml"), 2, "write `edges: proxied`");
    refused(Experiment::new("chaos/twin-kill.yaml"), 2, "leaves a leader");
    refused(Experiment::new("chaos/own-command.yaml"), 2, "--allow-exec");
    let elsewhere = Experiment::new("chaos/kill-leader.yaml").with("--on trio");
    let elsewhere = elsewhere.in_state(up.state()).finish();
    assert_eq!(elsewhere.code(), Some(1), "{elsewhere}");
    assert!(elsewhere.stderr.contains("nothing is up under the name trio; up is duo"));
    let pid = victim(&up);
    let all =
        PAUSE.replace("member: p1-1", "group: p1, mode: all") + "stop_when: group.gap > 300ms\n";
    let stopped = on_duo(&up, Experiment::of("stop.yaml", &all)).finish();
    assert_eq!(stopped.code(), Some(5), "{stopped}");
    assert!(stopped.stdout.contains("stop_when group.gap > 300ms"), "{stopped}");
    assert!(!is_stopped(pid), "{stopped}");
    up.await_health(Level::Led);
}
