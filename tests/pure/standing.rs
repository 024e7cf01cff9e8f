//! The live view: who leads, since when a group is settled, and what keeps it from being so.

use support::facts::{Story, at, fault, name, plan, plan_apart};
use tandem::ids::{GroupName, PartitionId};
use tandem::live::{Live, Obstacle};
use tandem::observation::{MemberEvent, RunEvent};
use tandem::time::Mono;

/// The state after all facts of a story, one after another.
fn standing(record: impl Fn(&mut Story)) -> Live {
    let mut story = Story::default();
    record(&mut story);
    let mut standing = Live::new(&plan(2, &[("p1", 2, 3)]));
    story.facts.iter().for_each(|fact| standing.observe(fact));
    standing
}

fn settled(standing: &Live, now: u64) -> Option<Mono> {
    standing.settled_since(at(now), &name("p1"))
}

fn leaders(standing: &Live, now: u64, partition: u32) -> Vec<String> {
    let group: GroupName = name("p1");
    standing.claimants(at(now), &group, PartitionId(partition)).map(ToString::to_string).collect()
}

/// Two members, a partition each, claimed up to 4000.
fn pair(story: &mut Story) {
    story.started("p1-1.1", 10).started("p1-2.1", 20);
    story.claimed("p1-1.1", 0, 1, [900, 4_000]).claimed("p1-2.1", 1, 1, [1_000, 4_000]);
}

fn obstacle(standing: &Live, now: u64) -> String {
    standing.obstacle(at(now), &name("p1")).unwrap().to_string()
}

#[test]
fn a_group_is_settled_since_its_last_change() {
    let standing = standing(pair);
    assert_eq!(settled(&standing, 1_500), Some(at(1_000)));
    assert_eq!(leaders(&standing, 1_500, 0), ["p1-1"]);
    assert_eq!(settled(&standing, 4_000), None, "the claims have run out");
    assert_eq!(obstacle(&standing, 4_000), "partition 0 has 0 leaders");
}

#[test]
fn a_renewal_carries_claims_on_and_changes_nothing() {
    let standing = standing(|story| {
        pair(story);
        story.renewed("p1-1.1", 2_000, &[(0, 1, 9_000)]);
        story.renewed("p1-2.1", 2_000, &[(1, 1, 9_000)]);
    });
    assert_eq!(settled(&standing, 8_000), Some(at(1_000)));
}

#[test]
fn dead_members_lead_nothing_and_their_late_facts_are_ignored() {
    let standing = standing(|story| {
        pair(story);
        story.died("p1-1.1", 2_000).renewed("p1-1.1", 1_990, &[(0, 1, 9_000)]);
    });
    assert_eq!(leaders(&standing, 2_000, 0), Vec::<String>::new());
    assert_eq!(settled(&standing, 2_500), None);
    let living: Vec<_> = standing.living(&name("p1")).map(ToString::to_string).collect();
    assert_eq!(living, ["p1-2"]);
}

#[test]
fn a_takeover_settles_when_the_successor_claims() {
    let standing = standing(|story| {
        pair(story);
        story.died("p1-1.1", 2_000).claimed("p1-2.1", 0, 1, [3_000, 6_000]);
        story.renewed("p1-2.1", 3_050, &[(0, 1, 6_050), (1, 1, 6_050)]);
    });
    assert_eq!(settled(&standing, 3_500), Some(at(3_000)));
}

#[test]
fn two_leaders_are_one_too_many_until_one_runs_out() {
    let standing = standing(|story| {
        pair(story);
        story.started("p1-3.1", 1_500).claimed("p1-3.1", 1, 1, [2_000, 9_000]);
        story.renewed("p1-1.1", 2_000, &[(0, 1, 9_000)]);
    });
    assert_eq!(leaders(&standing, 3_000, 1), ["p1-2", "p1-3"]);
    assert_eq!(obstacle(&standing, 3_000), "partition 1 has 2 leaders");
    assert_eq!(settled(&standing, 5_000), Some(at(4_000)), "no fact reports the lapse yet");
}

#[test]
fn a_stopped_member_keeps_its_group_unsettled_and_a_waking_unsettles_it() {
    let mut story = Story::default();
    pair(&mut story);
    story.of("p1-2.1", 1_200, RunEvent::Stopped);
    let mut standing = Live::new(&plan(2, &[("p1", 2, 3)]));
    story.facts.iter().for_each(|fact| standing.observe(fact));
    assert_eq!(standing.obstacle(at(1_500), &name("p1")), Some(Obstacle::Stopped(name("p1-2"))));
    assert_eq!(leaders(&standing, 1_500, 1), ["p1-2"], "it leads, for all it knows");
    story.of("p1-2.1", 1_800, RunEvent::Continued);
    story.facts.last().into_iter().for_each(|fact| standing.observe(fact));
    assert_eq!(settled(&standing, 2_000), Some(at(1_800)));
}

#[test]
fn a_rebalance_unsettles_even_if_every_leader_stays() {
    let revoked = |story: &mut Story| {
        pair(story);
        story.says("p1-1.1", 2_000, MemberEvent::Revoked { partitions: vec![PartitionId(0)] });
    };
    assert_eq!(obstacle(&standing(revoked), 2_500), "p1-1 is in a rebalance");
    let given = standing(|story| {
        revoked(story);
        story.assigned("p1-1.1", 2_200, &[0]);
    });
    assert_eq!(settled(&given, 2_500), Some(at(2_200)));
}

#[test]
fn a_network_fault_keeps_its_group_unsettled_until_the_heal() {
    let cut = |story: &mut Story| {
        pair(story);
        story.asked("p1-2.1", 1_500, "1.c", "partition");
        story.asked("p1-1.1", 1_600, "1.k", "pause");
    };
    let held = standing(cut);
    assert_eq!(obstacle(&held, 2_500), "fault 1.c still affects p1-2");
    let healed = standing(|story| {
        cut(story);
        story.of("p1-2.1", 2_700, RunEvent::FaultHealed { fault: fault("1.c") });
    });
    assert_eq!(settled(&healed, 2_800), Some(at(2_700)));
    // A new life meets the same network.
    let reborn = |story: &mut Story| {
        cut(story);
        story.died("p1-2.1", 1_700).started("p1-2.2", 1_800);
        story.claimed("p1-2.2", 1, 1, [1_900, 9_000]);
    };
    let held = standing(reborn);
    assert_eq!(obstacle(&held, 2_500), "fault 1.c still affects p1-2");
    let healed = standing(|story| {
        reborn(story);
        story.of("p1-2.1", 2_700, RunEvent::FaultHealed { fault: fault("1.c") });
    });
    assert_eq!(settled(&healed, 2_800), Some(at(2_700)));
}

#[test]
fn a_renewal_that_names_other_claims_reveals_lost_facts() {
    let standing = standing(|story| {
        pair(story);
        story.renewed("p1-1.1", 2_000, &[]).renewed(
            "p1-2.1",
            2_100,
            &[(0, 1, 6_000), (1, 1, 6_000)],
        );
    });
    assert_eq!(leaders(&standing, 2_500, 0), ["p1-2"]);
    assert_eq!(settled(&standing, 2_500), Some(at(2_100)));
}

#[test]
fn a_new_life_replaces_the_old_one() {
    let standing = standing(|story| {
        pair(story);
        story.died("p1-1.1", 2_000).started("p1-1.2", 2_500);
        story.claimed("p1-1.1", 0, 9, [2_600, 9_000]).claimed("p1-1.2", 0, 1, [2_700, 9_000]);
    });
    assert_eq!(leaders(&standing, 2_650, 0), ["p1-1"]);
    assert_eq!(settled(&standing, 3_000), Some(at(2_700)));
}

#[test]
fn a_broker_that_is_away_is_in_the_way_of_the_groups_on_its_cluster() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p2-1.1", 10);
    story.claimed("p1-1.1", 0, 1, [900, 9_000]).claimed("p2-1.1", 0, 1, [900, 9_000]);
    let mut standing = Live::new(&plan);
    story.asked_broker(2_000, "1.b", "a");
    story.facts.iter().for_each(|fact| standing.observe(fact));
    let away = Some(Obstacle::Broker(fault("1.b")));
    assert_eq!(standing.obstacle(at(2_500), &name("p1")), away);
    assert_eq!(standing.settled_since(at(2_500), &name("p2")), Some(at(900)));
    story.run(3_000, RunEvent::FaultHealed { fault: fault("1.b") });
    story.facts.last().into_iter().for_each(|fact| standing.observe(fact));
    assert_eq!(settled(&standing, 3_500), Some(at(3_000)));
    assert_eq!(standing.settled_since(at(3_500), &name("p2")), Some(at(900)));
}

#[test]
fn brokers_of_several_clusters_can_be_away_by_one_fault() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p2-1.1", 10);
    story.claimed("p1-1.1", 0, 1, [900, 9_000]).claimed("p2-1.1", 0, 1, [900, 9_000]);
    story.asked_broker(2_000, "1.h", "a").asked_broker(2_001, "1.h", "b");
    let mut standing = Live::new(&plan);
    story.facts.iter().for_each(|fact| standing.observe(fact));
    for group in ["p1", "p2"] {
        let away = Some(Obstacle::Broker(fault("1.h")));
        assert_eq!(standing.obstacle(at(2_500), &name(group)), away);
    }
}

#[test]
fn a_broker_that_died_of_itself_is_in_the_way_until_another_answers() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let mut story = Story::default();
    let start = |story: &mut Story, ms| {
        let (cluster, address) = (name("a"), "127.0.0.1:9092".to_owned());
        story.run(ms, RunEvent::ClusterStarted { cluster, address, pid: 7 });
    };
    start(&mut story, 1);
    story.started("p1-1.1", 10).started("p2-1.1", 10);
    story.claimed("p1-1.1", 0, 1, [900, 9_000]).claimed("p2-1.1", 0, 1, [900, 9_000]);
    let mut standing = Live::new(&plan);
    story.facts.drain(..).for_each(|fact| standing.observe(&fact));
    assert_eq!(settled(&standing, 1_500), Some(at(900)));
    story.run(2_000, RunEvent::ClusterDied { cluster: name("a") });
    story.facts.drain(..).for_each(|fact| standing.observe(&fact));
    // Its members go on to claim, for a while.
    assert_eq!(obstacle(&standing, 3_500), "the broker of cluster a died");
    assert_eq!(standing.settled_since(at(3_500), &name("p2")), Some(at(900)));
    start(&mut story, 4_000);
    story.facts.drain(..).for_each(|fact| standing.observe(&fact));
    assert_eq!(settled(&standing, 5_500), Some(at(4_000)));
}

#[test]
fn a_member_that_has_still_to_join_keeps_its_group_unsettled() {
    let reborn = |story: &mut Story| {
        pair(story);
        story.died("p1-2.1", 1_500).claimed("p1-1.1", 1, 1, [2_000, 9_000]);
        story.renewed("p1-1.1", 2_100, &[(0, 1, 9_000), (1, 1, 9_000)]);
        story.started("p1-2.2", 2_500);
    };
    let joining = standing(reborn);
    assert_eq!(obstacle(&joining, 5_000), "p1-2 has not joined yet");
    let joined = standing(|story| {
        reborn(story);
        story.assigned("p1-2.2", 3_200, &[1]);
    });
    assert_eq!(settled(&joined, 5_000), Some(at(3_200)));
    let crowded = standing(|story| {
        reborn(story);
        story.started("p1-3.1", 2_600);
    });
    assert_eq!(settled(&crowded, 5_000), Some(at(2_600)), "one of three gets no partition");
}

#[test]
fn a_group_that_is_not_there_is_never_settled() {
    let standing = standing(pair);
    assert_eq!(standing.settled_since(at(1_500), &name("p9")), None);
    assert!(matches!(standing.obstacle(at(1_500), &name("p9")), Some(Obstacle::Stranger(_))));
}

#[test]
fn two_lives_of_one_name_are_two_leaders() {
    let twice = |story: &mut Story| {
        pair(story);
        story.started("p1-1.2", 1_100).claimed("p1-1.2", 1, 1, [1_200, 4_000]);
    };
    let both = standing(twice);
    assert_eq!(leaders(&both, 1_500, 1), ["p1-1", "p1-2"]);
    assert_eq!(obstacle(&both, 1_500), "partition 1 has 2 leaders");
    let one = standing(|story| {
        twice(story);
        story.died("p1-1.2", 1_600);
    });
    assert_eq!(leaders(&one, 1_700, 1), ["p1-2"]);
    assert_eq!(leaders(&one, 1_700, 0), ["p1-1"], "the first is still there");
    assert_eq!(settled(&one, 1_700), Some(at(1_600)));
}
