//! Runs that end while a fault is in force: it is healed, and nothing is left.

use rustix::process::Signal;
use support::experiment::{Experiment, Running, signal_pid};
use tandem::observation::{Fact, Outcome, RunEvent, What};

use super::{Story, experiment, nothing_stays};

const TOPOLOGY: &str = "\
version: 1
name: short
roles: [r, s]
clusters: {a: embedded}
defaults: {session: 3s, beacon: 300ms}
groups:
  p1: {cluster: a, members: 2}
";

/// Starts it, and waits until its fault is in force.
fn in_force(experiment: Experiment) -> Running {
    let run = experiment.start();
    let in_force = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. }));
    run.await_facts("a fault in force", |facts| facts.iter().any(in_force).then_some(()));
    run
}

#[test]
fn a_run_that_is_interrupted_in_an_outage_starts_the_broker_again_and_leaves_nothing() {
    let step = "{id: b, fault: broker, target: {cluster: a}, restart_after: 5m}";
    let run = in_force(experiment(TOPOLOGY, &[step]));
    run.signal(Signal::INT);
    let story = Story::read(run.finish());
    assert_eq!(story.run.code(), Some(130), "{}", story.run);
    assert_eq!(story.brokers("a").len(), 2, "healed: {}", story.run);
}

#[test]
fn edges_that_die_unasked_end_the_run_and_nothing_stays() {
    let step = "{id: c, fault: partition, for: 5m, target: {leader_of: any, group: p1}}";
    let run = in_force(experiment(TOPOLOGY, &[step]));
    let edges = |fact: &Fact| match fact.what {
        What::Run(RunEvent::EdgesStarted { pid }) => Some(pid),
        _ => None,
    };
    let pid = run.facts().iter().find_map(edges).expect("there are edges");
    signal_pid(pid, Signal::KILL);
    let run = run.finish();
    assert!(matches!(run.code(), Some(3 | 4)), "{run}");
    nothing_stays(&run.folder.path().join("state"));
    let facts = run.recording().facts;
    assert!(facts.iter().any(|fact| fact.what == What::Run(RunEvent::EdgesDied)), "{run}");
    let ended = facts.iter().find_map(|fact| match &fact.what {
        What::Run(RunEvent::Ended { how, why }) => Some((*how, why.clone().unwrap_or_default())),
        _ => None,
    });
    let (how, why) = ended.unwrap_or_else(|| panic!("{run}"));
    assert_eq!(how, Outcome::Broken, "what is gone cuts nothing: {run}");
    assert!(why.contains("edges"), "{why}\n{run}");
}
