//! An experiment on what is up (`chaos run --on`) on a quiet host: each leader that it kills leaves
//! a gap, which the journal of what is up has with the same cause.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, output, tandem};
use support::measured::shared_turn;
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};
use tandem::timeline::Cause;
use tandem::verdict::{Report, Verdict};

const DUO: &str = "-f topologies/duo.yaml --set defaults.session=300ms";

fn faults(facts: &[Fact]) -> Vec<String> {
    let asked = facts.iter().filter_map(|fact| match &fact.what {
        What::Run(RunEvent::FaultAsked { fault, .. }) => Some(fault.to_string()),
        _ => None,
    });
    asked.collect()
}

#[test]
fn each_leader_that_it_kills_leaves_a_gap_also_in_the_journal_of_what_is_up() {
    let _turn = shared_turn();
    let mut up = Up::start(DUO);
    up.await_health(Level::Led);
    let experiment = || Experiment::claimless("kill-leader").with("--on duo").in_state(up.state());
    let kill = || experiment().with("--seed 11");
    let first = kill().with("--trials 3").finish();
    assert_eq!(first.code(), Some(0), "{first}");
    let report = first.report();
    assert_eq!((report.verdict, report.trials, report.bounds.len()), (Verdict::Pass, 3, 2));
    let gaps: u64 = report.groups.values().map(|group| group.fault.gap.count).sum();
    assert!(gaps >= 3, "{gaps} gaps\n{first}");
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
