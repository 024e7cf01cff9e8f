//! A member that is there twice: two processes, two members of the group, two claimants.

use std::time::Duration;

use support::described::members;
use support::experiment::{Experiment, eventually};
use support::leftovers::{Family, addresses, family_in_trial, see};
use support::measured::{BRISK, measured, require, shared_turn};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};

const SOON: Duration = Duration::from_secs(60);

#[test]
fn a_second_process_of_a_name_is_a_second_member_and_goes_again() {
    let _turn = shared_turn();
    let text = "version: 1\nname: twice\nobjective: {leaders_per_group: 0}\nmethod:\n  - {id: d, \
                at: 1s, fault: duplicate, for: 6s, target: {member: p1-1}}\n";
    let run = Experiment::of("twice.yaml", text).with(BRISK).start();
    let family = family_in_trial(&run);
    // The process table: the same arguments twice.
    let second = eventually("a second process", SOON, || {
        let named = |pid: &u32| see(*pid).is_some_and(|it| it.arguments.contains(&"p1-1.1".into()));
        let now = Family::of(&run);
        let mut both: Vec<u32> = now.doing("member").into_iter().filter(named).collect();
        both.retain(|pid| !family.doing("member").contains(pid));
        both.first().copied()
    });
    let brokers = addresses(&run.facts());
    let listed = || -> Vec<String> {
        let of = |broker: &String| members(broker, "duo-p1");
        brokers.iter().flat_map(of).filter(|client| client == "p1-1.1").collect()
    };
    eventually("two members of one name", SOON, || (listed().len() == 2).then_some(()));
    eventually("the end of the second", SOON, || see(second).is_none().then_some(()));
    eventually("one member of the name", SOON, || (listed().len() == 1).then_some(()));
    let run = run.finish();
    assert_eq!(run.code(), Some(0), "{run}");
    family.is_gone();
    // The second is a life of its own, which began by a fault and ended well.
    let facts = run.recording().facts;
    let of = |fact: &&Fact| fact.life.as_ref().is_some_and(|it| it.to_string() == "p1-1.2");
    let twin: Vec<&Fact> = facts.iter().filter(of).collect();
    assert!(matches!(twin[0].what, What::Run(RunEvent::FaultAsked { .. })), "{twin:?}");
    assert!(matches!(twin[1].what, What::Run(RunEvent::Started { .. })), "{twin:?}");
    let died = twin
        .iter()
        .filter(|fact| matches!(fact.what, What::Run(RunEvent::Died { status: Some(0), .. })));
    assert_eq!(died.count(), 1, "{run}");
    assert!(
        twin.iter().any(|fact| matches!(fact.what, What::Member(MemberEvent::Claimed { .. }))),
        "it claims: {run}"
    );
}

#[test]
fn simultaneous_claims_of_one_name_are_an_overlap() {
    let Some(run) = measured(
        || Experiment::new("chaos/duplicate-leader.yaml").with("--trials 2").with(BRISK),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let report = run.report();
            let found: u64 = report.groups.values().map(|group| group.fault.overlap.count).sum();
            require(found > 0, || "roles moved to the second, and the first still claims".into())
        },
    ) else {
        return;
    };
    for group in run.report().groups.values() {
        let counts = [group.other.restart.gap.count, group.other.none.gap.count];
        assert_eq!(counts, [0; 2], "all costs are caused by the fault: {run}");
    }
}
