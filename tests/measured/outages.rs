//! Brokers that die, shut down or are paused: what their groups lose, and what causes no joint gap.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Finished, eventually};
use support::leftovers::{GONE, family_in_trial, see};
use support::measured::{measured, require, shared_turn};
use support::quiet::undisturbed;
use support::undone::Stage;
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;

/// Strikes all brokers of one cluster of duo.
fn outage(name: &str, trials: u32, step: &str) -> Experiment {
    let text = format!(
        "version: 1\nname: {name}\ntrials: {trials}\nmethod:\n  \
         - {{id: b, at: 500ms, jitter: 300ms, fault: broker, target: {{cluster: any}}, {step}}}\n\
         assert:\n  - joint.gap.max == 0ms\n  \
         - group.gap.max <= bound.group.gap\n  - group.overlap.max <= bound.group.overlap\n"
    );
    Experiment::of(&format!("{name}.yaml"), &text)
}

/// From being known to be in force to being known to be gone, in the trials that count.
fn windows(run: &Finished) -> Vec<Duration> {
    let report = run.report();
    let disturbed: Vec<_> =
        report.disturbed.iter().flat_map(|of| &of.trials).map(|one| one.trial).collect();
    let faults = report.faults.into_iter().filter(|fault| !disturbed.contains(&fault.trial));
    let window = |fault: tandem::verdict::FaultReport| {
        assert!(fault.failed.is_none(), "{:?}\n{run}", fault.failed);
        Some(Duration::from_secs_f64((fault.healed_ms? - fault.in_force_ms?) / 1_000.0))
    };
    faults.filter_map(window).collect()
}

/// The clusters' processes, in the order of their starts: where each listens, and which it is.
fn starts(facts: &[Fact]) -> Vec<(String, u32)> {
    let started = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::ClusterStarted { address, pid, .. }) => Some((address.clone(), *pid)),
        _ => None,
    };
    facts.iter().filter_map(started).collect()
}

#[test]
fn a_cluster_that_dies_costs_its_own_groups_the_outage_and_all_together_nothing() {
    let Some(run) = measured(
        || outage("lose", 2, "restart_after: 5s"),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let report = run.report();
            require(report.joint.gap.count == 0, || "a joint gap".to_owned())?;
            // The fault takes effect: claims outlive the cluster by at most a threshold, and then
            // no member leads.
            let worst = report.groups.values().filter_map(|group| group.fault.gap.max_ms);
            let worst = worst.fold(0.0, f64::max);
            require((2_000.0..3_000.0).contains(&worst), || format!("a gap of {worst} ms"))
        },
    ) else {
        return;
    };
    let windows = windows(&run);
    assert_eq!(windows.len(), run.counted(), "{run}");
    let (least, most) = (Duration::from_secs(5), Duration::from_millis(5_500));
    assert!(windows.iter().all(|window| (least..most).contains(window)), "{windows:?}\n{run}");
    // Each new process is where the one before it was, and no cluster was lost by accident.
    let facts = run.recording().facts;
    let starts = starts(&facts);
    assert_eq!(starts.len(), 2 + run.played(), "{starts:?}\n{run}");
    for (address, pid) in &starts[2..] {
        assert!(starts[..2].iter().any(|(at, first)| at == address && first != pid), "{starts:?}");
    }
    assert!(
        !facts.iter().any(|fact| matches!(fact.what, What::Run(RunEvent::ClusterDied { .. }))),
        "{run}"
    );
}

#[test]
fn a_broker_that_shuts_down_in_order_comes_back_as_well() {
    let Some(run) = measured(
        || outage("stop", 1, "how: stop, restart_after: 4s"),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    ) else {
        return;
    };
    assert_eq!(windows(&run).len(), 1, "{run}");
    assert_eq!(starts(&run.recording().facts).len(), 3, "{run}");
}

#[test]
fn a_broker_that_is_paused_stands_still_and_goes_on() {
    let _turn = shared_turn();
    // It claims nothing: a host that is too busy breaks claims, and what is tried is the fault.
    let text = "version: 1\nname: pause\nobjective: {leaders_per_group: 0}\nmethod:\n  - {id: b, \
                at: 500ms, fault: broker, how: pause, for: 5s, target: {cluster: any}}\n";
    let in_force = |facts: &[Fact]| {
        facts
            .iter()
            .any(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })))
            .then_some(())
    };
    // The other group must lead meanwhile, which a host that is too busy keeps it from.
    let play = || {
        let run = Experiment::of("pause.yaml", text).with_rule().start();
        let family = family_in_trial(&run);
        run.await_facts("the pause", in_force);
        let stopped = |pid: &u32| see(*pid).is_some_and(|it| it.is_stopped());
        let paused: Vec<u32> = family.doing("broker").into_iter().filter(stopped).collect();
        assert_eq!(paused.len(), 1, "one broker of two stands still");
        let run = run.finish();
        family.is_gone();
        run
    };
    let Some(run) = undisturbed(play, Finished::is_disturbed, ToString::to_string) else { return };
    assert_eq!(starts(&run.recording().facts).len(), 2, "no member was started again: {run}");
    assert_eq!(run.code(), Some(0), "{run}");
    assert_eq!(run.report().joint.gap.count, 0, "{run}");
    let windows = windows(&run);
    assert!(windows[0] >= Duration::from_secs(5), "{windows:?}\n{run}");
    let bit = run.report().groups.values().any(|group| group.fault.gap.count > 0);
    assert!(bit, "members claim for a threshold, and then no member does: {run}");
}

#[test]
fn a_run_that_ends_in_an_outage_leaves_nothing() {
    let _turn = shared_turn();
    let run = outage("lose", 1, "restart_after: 1m").start();
    let family = family_in_trial(&run);
    let in_force = |facts: &[Fact]| {
        facts
            .iter()
            .any(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })))
            .then_some(())
    };
    run.await_facts("the outage", in_force);
    let asked = Mono::now();
    run.signal(Signal::INT);
    let run = run.finish();
    // The broker is started again, and members are asked to leave, before all ends.
    let took = family.gone_after(asked, &[]);
    let most = 2 * GONE + family.stalled_since(asked);
    assert!(took < most, "it took {took:?}, of at most {most:?}\n{run}");
    assert_eq!(run.code(), Some(130), "{run}");
    assert_eq!(starts(&run.recording().facts).len(), 3, "healed: {run}");
}

#[test]
fn a_broker_that_outlives_the_run_is_woken_by_the_guard_and_not_killed() {
    let _turn = shared_turn();
    let stage = Stage::set();
    let pause = "{id: b, fault: broker, how: pause, for: 5m, target: {leader_of: any, group: p2}}";
    let run = stage.experiment(&[pause]).start();
    let family = family_in_trial(&run);
    let pid = stage.revival.identity().unwrap().pid;
    let stopped = || see(pid).is_some_and(|it| it.is_stopped());
    eventually("the pause", Duration::from_secs(60), || stopped().then_some(()));
    let killed = Mono::now();
    run.signal(Signal::KILL);
    assert_eq!(run.finish().code(), None);
    family.is_gone_since(killed, &[]);
    eventually("the broker", Duration::from_secs(60), || (!stopped()).then_some(()));
    let took = Mono::now().since(killed);
    let most = GONE + family.stalled_since(killed);
    assert!(took <= most, "the broker was woken {took:?} after the signal, of at most {most:?}");
    assert_eq!(stage.revival.identity().unwrap().pid, pid, "it is the same process");
    assert!(see(pid).is_some() && stage.is_served());
    assert!(stage.ledgers().is_empty(), "nothing is left to be undone");
}

#[test]
fn a_broker_that_is_asked_to_end_is_started_by_the_guard() {
    let _turn = shared_turn();
    let stage = Stage::set();
    let stop = "{id: b, fault: broker, how: stop, restart_after: 5m, target: {cluster: b}}";
    let run = stage.experiment(&[stop]).start();
    let family = family_in_trial(&run);
    let there = |address: &str| {
        let address: SocketAddr = address.parse().unwrap();
        TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
    };
    let known = fs::read_to_string(stage.state().join("tandem/kafka/clusters.json")).unwrap();
    let known: serde_json::Value = serde_json::from_str(&known).unwrap();
    let address = known["clusters"][0]["brokers"][0]["address"].as_str().unwrap().to_owned();
    eventually("the end of the broker", Duration::from_secs(60), || {
        (!there(&address)).then_some(())
    });
    let killed = Mono::now();
    run.signal(Signal::KILL);
    assert_eq!(run.finish().code(), None);
    family.is_gone_since(killed, &[]);
    stage.is_healed_since(killed);
}
