//! What a fault of a whole machine, members and embedded broker, costs in real time.

use support::experiment::Experiment;
use support::measured::{measured, require, shared_turn};
use tandem::ids::GroupName;
use tandem::observation::{Fact, RunEvent, What};
use tandem::verdict::FaultReport;

/// `topologies/machines.yaml` with short sessions, and one step.
fn machines(step: &str, claims: &str) -> Experiment {
    let topology = format!("{}/topologies/machines.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = format!(
        "version: 1\nname: machine\ntopology: {topology}\nmethod:\n  - {{id: h, at: 500ms, \
         {step}, target: {{host: alpha}}}}\n{claims}"
    );
    Experiment::of("machine.yaml", &text).with("--set defaults.session=300ms")
}

/// The victims of the fault: lives, and the address of a broker.
fn victims(facts: &[Fact], kind: &str) -> (Vec<String>, Vec<String>) {
    let (mut members, mut brokers) = (Vec::new(), Vec::new());
    for fact in facts {
        let What::Run(RunEvent::FaultAsked { kind: is, broker, .. }) = &fact.what else { continue };
        assert_eq!(is, kind);
        members.extend(fact.life.as_ref().map(ToString::to_string));
        brokers.extend(broker.clone());
    }
    (members, brokers)
}

/// Where the broker of cluster `a` listened, in each of its lives, and as which process.
fn lives(facts: &[Fact]) -> Vec<(String, u32)> {
    let life = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::ClusterStarted { cluster, address, pid })
            if cluster.as_str() == "a" =>
        {
            Some((address.clone(), *pid))
        }
        What::Run(RunEvent::ClusterDied { .. }) => panic!("by accident: {fact:?}"),
        _ => None,
    };
    facts.iter().filter_map(life).collect()
}

#[test]
fn a_machine_that_dies_takes_its_broker_and_the_other_one_leads_on() {
    let claims = "assert:\n  - joint.gap.max == 0ms\n  - group.gap.max <= bound.group.gap\n  - \
                  group.overlap.max <= bound.group.overlap\n";
    let Some(run) = measured(
        || machines("fault: host", claims),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    ) else {
        return;
    };
    let (report, facts) = (run.report(), run.recording().facts);
    let (members, brokers) = victims(&facts, "host");
    assert_eq!(members, ["p1-1.1", "p1-2.1", "p1-3.1"], "{run}");
    let lives = lives(&facts);
    assert_eq!(lives.len(), 2, "{lives:?}\n{run}");
    assert_eq!((&brokers[..], &lives[0].0), (&[lives[1].0.clone()][..], &lives[1].0));
    // Members are back after two seconds, and no member leads before the broker is back.
    let gap = report.groups[&"p1".parse::<GroupName>().unwrap()].fault.gap;
    assert_eq!(gap.count, 4, "each role has one: {run}");
    assert!(gap.min_ms.unwrap() > 5_000.0 && gap.max_ms.unwrap() < 6_800.0, "{gap:?}\n{run}");
    let other = report.groups[&"p2".parse::<GroupName>().unwrap()].fault;
    assert_eq!((other.gap.count, other.takeover.count), (0, 0), "{run}");
    assert_eq!((report.joint.gap.count, report.joint.leaders_min), (0, Some(1)), "{run}");
    let [FaultReport { target, failed: None, .. }] = &report.faults[..] else { panic!("{run}") };
    assert_eq!(target.len(), 4, "three members and a broker: {target:?}");
}

#[test]
fn a_machine_that_stands_still_wakes_with_its_broker() {
    let _turn = shared_turn();
    // It claims nothing: a host that is too busy breaks claims, and what is tried is the fault.
    let none = "objective: {leaders_per_group: 0}\n";
    let run = machines("fault: pause, for: 2s", none).finish();
    assert_eq!(run.code(), Some(0), "{run}");
    let (report, facts) = (run.report(), run.recording().facts);
    let (members, brokers) = victims(&facts, "pause");
    assert_eq!((members.len(), brokers.len(), lives(&facts).len()), (3, 1, 1), "{run}");
    let [fault] = &report.faults[..] else { panic!("{run}") };
    let window = fault.healed_ms.unwrap() - fault.in_force_ms.unwrap();
    assert!(fault.failed.is_none() && window >= 2_000.0, "{fault:?}\n{run}");
    let gap = report.groups[&"p1".parse::<GroupName>().unwrap()].fault.gap;
    assert!(gap.max_ms.unwrap() > 1_900.0, "no member serves meanwhile: {run}");
}
