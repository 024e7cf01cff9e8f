//! A cut among members without brokers: the report says when they reached each other again, and
//! asks for no answer of a broker.

use support::facts::{Story, at, brief, fault, name, plan};
use tandem::neli::elections::among::Among;
use tandem::observation::{MemberEvent, RunEvent};
use tandem::topology::{Address, Electorate};
use tandem::verdict::{Report, render};

/// `p1-1` is cut off from 2000 to 4000, and says so; then what else it says.
fn cut_off(alone: bool, then: &[(u64, MemberEvent)]) -> Report {
    let mut plan = plan(1, &[("p1", 1, 2)]);
    if alone {
        let electorate = Electorate { election: Among::Bully, members: 2 };
        plan.clusters.insert(name("p1-members"), plan.clusters["a"].clone());
        let cluster = plan.clusters.get_mut("p1-members").unwrap();
        cluster.address = Address::Members(electorate);
        plan.groups.get_mut("p1").unwrap().cluster = name("p1-members");
    }
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p1-2.1", 10).settled("p1", 400);
    story.serves("p1-2.1", 0, 1, [100, 9_400]).began(500, 1);
    story.asked("p1-1.1", 2_000, "1.c", "partition");
    story.says("p1-1.1", 2_001, MemberEvent::Unconnected { why: "it is cut off".to_owned() });
    story.of("p1-1.1", 2_001, RunEvent::FaultInForce { fault: fault("1.c") });
    story.of("p1-1.1", 4_000, RunEvent::FaultHealed { fault: fault("1.c") });
    for (ms, event) in then {
        story.says("p1-1.1", *ms, event.clone());
    }
    story.settled("p1", 4_100).ended(9_000, 1).completed(9_500);
    Report::compute(&plan, &brief(&plan, 1, &[]), 42, at(0), &story.facts)
}

fn network(report: &Report) -> String {
    let text = render(report, "out", false);
    let line = text.lines().find_map(|line| line.strip_prefix("network"));
    line.unwrap_or_else(|| panic!("no line of the network in {text}")).trim().to_owned()
}

#[test]
fn members_without_brokers_reach_each_other_again() {
    for (connected, after) in [(4_007, "7 ms"), (3_999, "0 ms")] {
        let report = cut_off(true, &[(connected, MemberEvent::Connected)]);
        let line = network(&report);
        let said = format!("members reached each other again {after} after the heal");
        assert!(line.starts_with(&said), "{line}");
        assert!(!line.contains("no answer"), "{line}");
    }
}

/// It may have died, or the run was over before.
#[test]
fn one_that_never_says_so_was_not_seen_again() {
    let line = network(&cut_off(true, &[]));
    assert!(line.starts_with("no answer was seen after 1 of 1 heals"), "{line}");
}

#[test]
fn only_an_answer_of_a_broker_counts_for_members_that_have_brokers() {
    let report = cut_off(false, &[(4_007, MemberEvent::Connected)]);
    assert_eq!(report.faults[0].rejoined_ms, None);
    assert!(network(&report).starts_with("no answer was seen after 1 of 1 heals"));
}
