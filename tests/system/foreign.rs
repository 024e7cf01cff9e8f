//! A contender of another language in the consumer group of a group: refused, or allowed and then
//! unknown.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use support::alone::Alone;
use support::experiment::{Experiment, Finished, eventually, output, signal_pid, tandem};
use support::foreign::confluent::script;
use support::measured::shared_turn;
use tandem::ids::PartitionId;
use tandem::observation::{MemberEvent, RunEvent, What};
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

fn order(broker: &Alone, lasts: &str, foreign: &str) -> Experiment {
    let order = Experiment::calm(lasts);
    let topology = format!(
        "version: 1\nname: beside\nroles: [a, b]\nclusters: {{k: {{bootstrap: \"{}\"}}}}\n\
         groups:\n  p1:\n    {{cluster: k, topic: ours, consumer_group: shared, members: 1, \
         {foreign}}}\n",
        broker.address
    );
    let file = order.write("beside.yaml", &topology);
    order.with(&format!("-f {}", file.display()))
}

fn unknown_ms(run: &Finished) -> f64 {
    run.report().groups.values().map(|group| group.unknown_ms).sum()
}

#[test]
fn what_a_contender_leads_is_unknown_and_never_a_gap() {
    let _turn = shared_turn();
    let broker = broker();
    let mut contender = Contender::joined(&broker);
    let run = order(&broker, "12s", "foreign: allow").start();
    // A member and a contender hold a partition each; then the contender dies.
    let held = |count: usize| {
        run.await_facts("the member's partitions", |facts| {
            let assigned = facts.iter().rev().find_map(|fact| match &fact.what {
                What::Member(MemberEvent::Assigned { partitions, .. }) => Some(partitions.len()),
                _ => None,
            });
            let began = facts
                .iter()
                .any(|fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. })));
            (began && assigned == Some(count)).then_some(())
        });
    };
    held(1);
    std::thread::sleep(Duration::from_secs(2));
    contender.ends();
    held(2);
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
    assert!(unknown_ms(&run) > 2_000.0, "{} ms\n{run}", unknown_ms(&run));
    let last = findings.unknown_gaps.iter().map(|gap| gap.span.until).max().unwrap();
    let ended = timeline.record.trials[0].window.until;
    assert!(ended.since(last) > Duration::from_millis(500), "it ends when ours leads\n{run}");
}

#[test]
fn a_run_warns_of_those_who_are_there_or_refuses_them() {
    let _turn = shared_turn();
    let broker = broker();
    let stranger = broker.stranger("shared", "ours");
    let refused = order(&broker, "1s", "").finish();
    assert_eq!(refused.code(), Some(1), "{refused}");
    assert!(refused.stderr.contains("let them be there with `foreign: allow`"), "{refused}");
    let doctor = |foreign: &str| {
        let order = order(&broker, "1s", foreign);
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
