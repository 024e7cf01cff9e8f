//! A contender of another language in the consumer group of a group: refused, or allowed and then
//! unknown.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::alone::Alone;
use support::experiment::{Experiment, Finished, eventually, output, signal_pid, tandem};
use support::foreign::confluent::script;
use tandem::ids::PartitionId;
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::verdict::Verdict;

/// It holds both partitions once it says so. It speaks on, and would end with its listener.
struct Contender {
    child: Child,
    _said: BufReader<ChildStdout>,
}

impl Contender {
    fn joined(broker: &Alone) -> Self {
        let mut contender = script("contender.py", &broker.address);
        contender.args(["ours", "shared", "2000", "1000"]).stdout(Stdio::piped());
        let mut child = contender.spawn().unwrap();
        let (mut line, mut said) = (String::new(), BufReader::new(child.stdout.take().unwrap()));
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("acquired "), "{line}");
        Self { child, _said: said }
    }

    fn ends(&mut self) {
        signal_pid(self.child.id(), Signal::KILL);
        self.child.wait().unwrap();
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn broker() -> Alone {
    let broker = Alone::start();
    broker.create("ours", 2);
    broker
}

/// The experiment on a group of one member, which may have foreign ones.
fn on(broker: &Alone, order: Experiment, foreign: &str) -> Experiment {
    let topology = format!(
        "version: 1\nname: beside\nroles: [a, b]\nclusters: {{k: {{bootstrap: \"{}\"}}}}\n\
         groups:\n  p1:\n    {{cluster: k, topic: ours, consumer_group: shared, members: 1, \
         {foreign}}}\n",
        broker.address
    );
    let file = order.write("beside.yaml", &topology);
    order.with(&format!("-f {}", file.display()))
}

/// A trial that ends when this file is there.
fn until(ends: &Path) -> Experiment {
    let text = format!(
        "version: 1\nname: until\nrecover: {{within: 2m}}\n\
         assert: [group.gap.count == 0]\nmethod:\n  - {{id: x, fault: \
         exec, for: 100ms, timeout: 5m, command: [sh, -c, 'until [ -e {} ]; do sleep 0.05; \
         done'], undo: ['true']}}\n",
        ends.display()
    );
    Experiment::of("until.yaml", &text).with("--allow-exec")
}

fn unknown_ms(run: &Finished) -> f64 {
    run.report().groups.values().map(|group| group.unknown_ms).sum()
}

#[test]
fn what_a_contender_leads_is_unknown_and_never_a_gap() {
    let broker = broker();
    let mut contender = Contender::joined(&broker);
    let folder = tempfile::tempdir().unwrap();
    let ends = folder.path().join("ends");
    let run = on(&broker, until(&ends), "foreign: allow").start();
    // A member and a contender hold a partition each; then the contender dies.
    let assigned = |fact: &Fact| match &fact.what {
        What::Member(MemberEvent::Assigned { partitions, .. }) => Some(partitions.len()),
        _ => None,
    };
    let holds = |count: usize, facts: &[Fact]| facts.iter().rev().find_map(assigned) == Some(count);
    run.await_facts("a partition of the member, within the trial", |facts| {
        let began = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
        (facts.iter().any(began) && holds(1, facts)).then_some(())
    });
    contender.ends();
    run.await_facts("the lead of the other partition", |facts| {
        let claims = |fact: &Fact| matches!(fact.what, What::Member(MemberEvent::Claimed { .. }));
        // A partition that it has for a second time may still be claimed.
        let since = facts.iter().position(|fact| assigned(fact) == Some(2))?;
        (holds(2, facts) && facts[since..].iter().any(claims)).then_some(())
    });
    fs::write(&ends, "").unwrap();
    let run = run.finish();
    let report = run.report();
    assert_ne!(report.verdict, Verdict::Pass, "{run}");
    let timeline = run.timeline();
    let findings = &timeline.groups.values().next().unwrap().findings;
    // A member that has got the partition, and has heard nothing there yet, is a gap.
    let lanes = &timeline.groups.values().next().unwrap().lanes;
    for gap in &findings.gaps {
        let lane = &lanes[&PartitionId(gap.roles.first.0 % 2)];
        let mut held = lane.assigned.iter().flat_map(|(_, held)| held.iter());
        let within = held.any(|it| it.from <= gap.span.from && gap.span.until <= it.until);
        assert!(within, "{gap:?}\n{run}");
    }
    assert!(findings.overlaps.is_empty(), "{findings:?}\n{run}");
    // The role of the other partition, from before the trial until the member has it.
    assert!(unknown_ms(&run) > 0.0, "{} ms\n{run}", unknown_ms(&run));
    let ended = timeline.record.trials[0].window.until;
    let ends = findings.unknown_gaps.iter().any(|gap| gap.span.until < ended);
    assert!(ends, "it ends when ours leads\n{run}");
}

#[test]
fn a_run_warns_of_those_who_are_there_or_refuses_them() {
    let broker = broker();
    let stranger = broker.stranger("shared", "ours");
    let refused = on(&broker, Experiment::calm("1s"), "").finish();
    assert_eq!(refused.code(), Some(1), "{refused}");
    assert!(refused.stderr.contains("let them be there with `foreign: allow`"), "{refused}");
    let doctor = |foreign: &str| {
        let order = on(&broker, Experiment::calm("1s"), foreign);
        let file = order.folder.path().join("beside.yaml");
        let state = tempfile::tempdir().unwrap();
        let done = output(tandem(state.path()).arg("doctor").arg("-f").arg(file));
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let warning = "not ours (a-stranger): what they hold is unknown";
    eventually("a warning", Duration::from_secs(60), || {
        doctor("foreign: allow").contains(warning).then_some(())
    });
    assert!(!doctor("").contains(warning));
    drop(stranger);
}
