//! What brokers say of a group: as its members say while nothing happens; without a member that has
//! left, and with one that has died, until its session is over. That lasts a minute here.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use support::described::{assignments, members, settled_claims};
use support::experiment::{Experiment, Running, eventually, signal_pid};
use support::facts::life;
use support::leftovers::{addresses, see};
use support::stores::pid_of;
use tandem::ids::{GroupName, Life, PartitionId};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::topology::PlannedGroup;

use super::{SOON, Story};

const LONG: &str = "--set defaults.session=60s --set defaults.heartbeat=500ms \
                    --set defaults.restart.after=10m";

type Described = BTreeMap<GroupName, BTreeMap<PartitionId, Life>>;

/// All groups, as their brokers describe them.
fn described(run: &Running) -> Described {
    let plan = tandem::journal::read(&run.journal()).unwrap().header.plan;
    let facts = run.facts();
    let brokers = facts.iter().filter_map(|fact| match &fact.what {
        What::Run(RunEvent::ClusterStarted { cluster, address, .. }) => Some((cluster, address)),
        _ => None,
    });
    let brokers: BTreeMap<_, _> = brokers.collect();
    let each = |(name, group): (&GroupName, &PlannedGroup)| {
        (name.clone(), assignments(brokers[&group.cluster], group))
    };
    plan.groups.iter().map(each).collect()
}

#[test]
fn brokers_list_members_as_they_are_and_a_dead_one_for_its_session() {
    let run = Experiment::calm("600s").with(LONG).start();
    run.await_facts("a trial", |facts| {
        let began = |what: &What| matches!(what, What::Run(RunEvent::TrialBegan { .. }));
        facts.iter().any(|fact| began(&fact.what)).then_some(())
    });
    let (described, asked) = (described(&run), Mono::now()); // clock: an instant of the journal
    let facts = run.facts();
    let brokers = addresses(&facts);
    let listed = |group: &str| -> BTreeSet<String> {
        brokers.iter().flat_map(|broker| members(broker, group)).collect()
    };
    for (group, who, how, stays) in
        [("duo-p1", "p1-1.1", Signal::TERM, false), ("duo-p2", "p2-1.1", Signal::KILL, true)]
    {
        assert_eq!(listed(group).len(), 3, "{:?}", listed(group));
        let pid = pid_of(&facts, &life(who));
        signal_pid(pid, how);
        eventually("the end of the process", SOON, || see(pid).is_none().then_some(()));
        let listed = listed(group);
        assert_eq!(listed.contains(who), stays, "{who}: {listed:?}");
    }
    run.signal(Signal::INT);
    let story = Story::read(run.finish());
    assert_eq!(story.run.code(), Some(130), "{}", story.run);
    assert_eq!(described.len(), 2, "both groups of duo");
    for (name, described) in &described {
        assert_eq!(described.len(), 4, "{name}: {described:?}");
        let claims = settled_claims(&story.timeline.groups[name], asked);
        assert_eq!(*described, claims, "{name}: {}", story.run);
    }
    nothing_moved(&story, asked);
}

/// From the beginning of the trial to this instant no partition was given to another member.
fn nothing_moved(story: &Story, until: Mono) {
    let began = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
    let began = story.facts.iter().find(began).expect("a trial").t;
    let within = story.facts.iter().filter(|fact| began < fact.t && fact.t < until);
    let moves = |fact: &&Fact| {
        let What::Member(event) = &fact.what else { return false };
        matches!(
            event,
            MemberEvent::Assigned { .. } | MemberEvent::Revoked { .. } | MemberEvent::Lost { .. }
        )
    };
    let moved: Vec<_> = within.filter(moves).collect();
    assert!(moved.is_empty(), "{moved:?}\n{}", story.run);
}
