//! An experiment on what is up (`chaos run --on`): it is judged as any other, its faults end with
//! the process that ordered it, and the topology stays up.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Running, eventually, output, tandem};
use support::leftovers::{is_stopped, see};
use support::measured::shared_turn;
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};
use tandem::timeline::Cause;
use tandem::verdict::{Report, Verdict};

const SOON: Duration = Duration::from_secs(60);
const DUO: &str = "-f topologies/duo.yaml --set defaults.session=300ms";
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
    up.status().1.unwrap().groups["p1"].members["p1-1"].pid.unwrap()
}

/// An experiment that has stopped `pid`.
fn pausing(up: &Up, pid: u32) -> Running {
    let running = on_duo(up, Experiment::of("pause.yaml", PAUSE)).start();
    eventually("the pause", SOON, || is_stopped(pid).then_some(()));
    running
}

fn continues(pid: u32) {
    eventually("the victim to continue", SOON, || (!is_stopped(pid)).then_some(()));
}

fn faults(facts: &[Fact]) -> Vec<String> {
    let asked = facts.iter().filter_map(|fact| match &fact.what {
        What::Run(RunEvent::FaultAsked { fault, .. }) => Some(fault.to_string()),
        _ => None,
    });
    asked.collect()
}

#[test]
fn it_is_judged_as_any_other_and_the_journal_of_what_is_up_has_its_faults() {
    let _turn = shared_turn();
    let mut up = Up::start(DUO);
    up.await_health(Level::Led);
    let kill = || on_duo(&up, Experiment::claimless("kill-leader")).with("--seed 11");
    let first = kill().with("--trials 3").finish();
    assert_eq!(first.code(), Some(0), "{first}");
    let report = first.report();
    assert_eq!((report.verdict, report.trials, report.bounds.len()), (Verdict::Pass, 3, 2));
    let gaps: u64 = report.groups.values().map(|group| group.fault.gap.count).sum();
    assert!(gaps >= 3, "{gaps} gaps\n{first}");
    let numbers: Vec<u32> = report.faults.iter().map(|fault| fault.trial.0).collect();
    assert_eq!(numbers, [1, 2, 3], "{first}");
    // The journal alone has all of it.
    let again = output(tandem(up.state()).arg("report").arg(&first.out).args(["-o", "json"]));
    let again: Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again.groups, report.groups);
    // A group counts as settled only after a second, so none does right after a fault of it.
    let facts = tandem::journal::read(&first.out.join("journal.jsonl")).unwrap().facts;
    let asked =
        facts.iter().filter(|fact| matches!(fact.what, What::Run(RunEvent::FaultAsked { .. })));
    for asked in asked {
        let group = asked.life.as_ref().unwrap().member.as_str().split('-').next().unwrap();
        let early = |fact: &&Fact| {
            let since = fact.t.since(asked.t);
            let settled = match &fact.what {
                What::Run(RunEvent::Settled { group: it }) => it.as_str() == group,
                _ => false,
            };
            settled && fact.t > asked.t && since < Duration::from_millis(900)
        };
        assert_eq!(facts.iter().find(early), None, "{asked:?}");
    }
    // A second one begins where the first has ended.
    let second = kill().with("--trials 1").finish();
    assert_eq!((second.code(), second.report().trials), (Some(0), 1), "{second}");

    up.await_health(Level::Led);
    let recording = up.recording();
    assert_eq!(faults(&recording.facts), ["2.k", "3.k", "4.k", "5.k"]);
    let began = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
    assert_eq!(recording.facts.iter().filter(began).count(), 1, "what is up is one trial");
    let timeline = tandem::run::JudgedRun::of(&up.out, |_| true).unwrap().run.timeline;
    let found = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let found: Vec<_> = found.collect();
    assert!(u64::try_from(found.len()).unwrap() >= gaps, "{found:#?}");
    // A killed leader leaves a gap in its group. A host that stalls may add others.
    let causes = found.iter().filter_map(|gap| match &gap.cause {
        Cause::Fault(fault) => Some(fault.to_string()),
        _ => None,
    });
    let causes: BTreeSet<String> = causes.collect();
    assert!(causes.iter().eq(["2.k", "3.k", "4.k", "5.k"]), "{found:#?}");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn its_faults_end_with_the_process_that_ordered_it() {
    let _turn = shared_turn();
    let up = Up::start(DUO);
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
    assert!(refused.stderr.contains("is under way on it"), "{refused}");
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
    support::experiment::signal_pid(up.supervisor(), Signal::KILL);
    nothing_is_left(up.state());
    // An ended process may not be reaped yet.
    let left = see(pid).filter(|it| !it.has_ended());
    assert!(left.is_none(), "{left:?}");
    let orphaned = orphaned.finish();
    assert_eq!(orphaned.code(), Some(4), "{orphaned}");
}

#[test]
fn what_does_not_fit_what_is_up_is_refused_and_a_stop_condition_is_exit_5() {
    let _turn = shared_turn();
    let up = Up::start(DUO);
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
