//! Gaps, overlaps and unknown times that were planted, and are found where they were planted, and
//! nowhere else.

use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use support::facts::{Story, at, failed, fault, life, name, plan, plan_apart};
use tandem::ids::{GroupName, RoleIndex, TrialNumber};
use tandem::observation::{FaultClass, MemberEvent, RunEvent};
use tandem::roles::RoleClass;
use tandem::time::Mono;
use tandem::timeline::{Cause, Finding, Findings, Interval, Timeline};

proptest! {
    #![proptest_config(cases(0x5EED_0024, 256))]

    #[test]
    fn a_planted_gap_is_found_exactly_and_nothing_else(
        from in 1_000u64..5_000,
        length in 1u64..2_000,
    ) {
        let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 1)]);
        let mut story = Story::default();
        story.serves("p1-1.1", 0, 1, [100, from]).lapsed("p1-1.1", from, (0, 1), from);
        story.serves("p1-2.1", 0, 1, [from + length, 8_000]);
        story.serves("p2-1.1", 0, 1, [100, 8_000]);
        story.began(500, 1).ended(7_900, 1).completed(8_000);
        let found = Timeline::compute(&plan, &story.facts);
        let p1 = &found.groups[&name::<GroupName>("p1")].findings;
        prop_assert_eq!(lengths(&p1.gaps), vec![(from, from + length)]);
        prop_assert_eq!(lengths(&p1.takeovers), vec![(from, from + length)]);
        prop_assert!(p1.overlaps.is_empty() && found.joint.gaps.is_empty());
        prop_assert!(found.joint.unknown().is_empty());
        prop_assert_eq!(found.leaders_min, Some(1));
    }
}

/// From and until, in milliseconds.
fn lengths(found: &[Finding]) -> Vec<(u64, u64)> {
    let ms = |at: Mono| at.0 / 1_000_000;
    found.iter().map(|one| (ms(one.span.from), ms(one.span.until))).collect()
}

/// One group `p1` of one partition, one role, one trial from 500 to 9000.
fn one_group(record: impl Fn(&mut Story)) -> Timeline {
    let mut story = Story::default();
    record(&mut story);
    story.began(500, 1).ended(9_000, 1).completed(9_500);
    Timeline::compute(&plan(1, &[("p1", 1, 2)]), &story.facts)
}

fn findings(timeline: &Timeline) -> &Findings {
    &timeline.groups[&name::<GroupName>("p1")].findings
}

#[test]
fn a_kill_costs_from_asked_to_the_successor() {
    let found = one_group(|story| {
        story.started("p1-1.1", 10).started("p1-2.1", 10).serves("p1-1.1", 0, 1, [100, 1_950]);
        story.asked("p1-1.1", 2_000, "1.k", "kill").died("p1-1.1", 2_003);
        story.serves("p1-2.1", 0, 1, [3_047, 9_400]);
    });
    let found = findings(&found);
    let gap = Finding {
        roles: RoleClass::of(RoleIndex(0)),
        trial: TrialNumber(1),
        span: Interval::new(at(2_000), at(3_047)),
        cause: Cause::Fault(fault("1.k")),
        uncertainty: Duration::from_millis(3),
        excess: Duration::from_millis(3),
        censored: false,
    };
    assert_eq!(found.gaps, std::slice::from_ref(&gap));
    assert_eq!(found.takeovers, [gap]);
    assert!(found.overlaps.is_empty() && found.unknown().is_empty());
}

#[test]
fn a_pause_costs_from_asked_to_the_waking_and_is_no_takeover() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 2_000]);
        story.asked("p1-1.1", 2_000, "1.z", "pause").of("p1-1.1", 2_001, RunEvent::Stopped);
        story.of("p1-1.1", 2_500, RunEvent::Continued);
        story.ticks("p1-1.1", &[0], [2_504, 9_400]);
        story.renewed("p1-1.1", 2_505, &[(0, 1, 9_400)]);
    });
    assert_eq!(lengths(&findings(&found).gaps), [(2_000, 2_500)]);
    assert_eq!(findings(&found).gaps[0].uncertainty, Duration::from_millis(1 + 4));
    assert!(findings(&found).takeovers.is_empty());
}

#[test]
fn a_zombie_overlaps_until_the_end_that_it_reports_late() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 2_000]); // its horizon is 5000
        story.asked("p1-1.1", 2_000, "1.z", "pause").of("p1-1.1", 2_001, RunEvent::Stopped);
        story.serves("p1-2.1", 0, 1, [3_050, 9_400]);
        story.of("p1-1.1", 6_000, RunEvent::Continued).lapsed("p1-1.1", 6_001, (0, 1), 4_990);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.gaps), [(2_000, 3_050)]);
    assert_eq!(lengths(&found.overlaps), [(3_050, 4_990)]);
    assert_eq!(lengths(&found.takeovers), [(2_000, 3_050)]);
    assert!(found.unknown().is_empty());
}

#[test]
fn a_dead_claim_ends_where_the_death_is_confirmed() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 9_400]).serves("p1-2.1", 0, 1, [100, 1_990]);
        story.asked("p1-2.1", 2_000, "1.k", "kill").died("p1-2.1", 2_007);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.overlaps), [(500, 2_007)]);
    assert_eq!(found.overlaps[0].uncertainty, Duration::from_millis(7));
    assert!(found.gaps.is_empty(), "the other served on");
    assert!(found.takeovers.is_empty() || lengths(&found.takeovers) == [(2_000, 2_000)]);
}

#[test]
fn a_request_counts_from_the_first_despite_requests_in_between() {
    let found = one_group(|story| {
        story.started("p1-1.1", 10).started("p1-2.1", 10).serves("p1-1.1", 0, 1, [100, 1_990]);
        story.asked("p1-1.1", 2_000, "1.k", "kill").asked("p1-1.1", 2_020, "1.z", "pause");
        story.asked("p1-1.1", 2_030, "1.l", "kill").died("p1-1.1", 2_040);
        story.serves("p1-2.1", 0, 1, [3_000, 5_000]);
        story.asked("p1-2.1", 5_000, "1.y", "pause").asked("p1-2.1", 5_020, "1.x", "pause");
        story.of("p1-2.1", 5_030, RunEvent::Stopped);
    });
    let gaps = &findings(&found).gaps;
    assert_eq!(lengths(gaps), [(2_000, 3_000), (5_000, 9_000)]);
    let uncertain: Vec<_> = gaps.iter().map(|gap| gap.uncertainty.as_millis()).collect();
    assert_eq!(uncertain, [40, 30]);
}

#[test]
fn a_hole_in_the_ticks_is_no_service() {
    let found = one_group(|story| {
        story.claimed("p1-1.1", 0, 1, [100, 9_400]).ticks("p1-1.1", &[0], [150, 3_000]);
        story.ticks("p1-1.1", &[0], [3_101, 5_000]).ticks("p1-1.1", &[0], [5_100, 9_390]);
        story.lapsed("p1-1.1", 9_400, (0, 1), 9_400);
    });
    assert_eq!(lengths(&findings(&found).gaps), [(3_000, 3_101)], "101 ms, and 100 are none");
    assert_eq!(findings(&found).gaps[0].cause, Cause::Nothing);
    assert_eq!(found.tickless, Duration::from_millis(50), "from the claim to the first tick");
}

#[test]
fn facts_dropped_by_a_full_channel_are_unknown_and_so_are_ticks_beside_them() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 3_000]);
        story.says("p1-1.1", 4_000, MemberEvent::Hole { from: at(3_010), until: at(4_000) });
        story.renewed("p1-1.1", 4_000, &[(0, 1, 7_000)]).ticks("p1-1.1", &[0], [4_040, 9_400]);
        story.renewed("p1-1.1", 9_400, &[(0, 1, 9_500)]);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.unknown_gaps), [(3_000, 4_040)]);
    assert!(found.gaps.is_empty() && found.unknown_overlaps.is_empty());
}

#[test]
fn beside_a_leader_the_unknown_hides_an_overlap_and_no_gap() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 9_400]).started("p1-2.1", 100);
        story.says(
            "p1-2.1",
            3_000,
            MemberEvent::Assigned { generation: None, member_id: None, partitions: Vec::new() },
        );
        story.lose(Some("p1-2.1")).says("p1-2.1", 3_500, MemberEvent::Leaving);
    });
    let found = findings(&found);
    assert!(found.gaps.is_empty() && found.unknown_gaps.is_empty());
    assert_eq!(lengths(&found.unknown_overlaps), [(3_000, 3_500)]);
}

#[test]
fn a_missing_fact_of_the_controller_makes_every_member_unknown() {
    let found = one_group(|story| {
        story.started("p1-1.1", 10).serves("p1-1.1", 0, 1, [100, 9_400]);
        story.settled("p1", 2_000).lose(None).settled("p1", 2_400);
    });
    assert_eq!(lengths(&findings(&found).unknown_gaps), [(2_000, 2_400)]);
}

#[test]
fn a_channel_that_ends_without_a_death_leaves_the_rest_unknown() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 4_000]);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.unknown_gaps), [(4_000, 9_000)]);
    assert!(found.gaps.is_empty());
}

#[test]
fn a_silence_before_a_death_is_unknown() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 2_000]); // its horizon is 5000
        story.asked("p1-1.1", 6_000, "1.k", "kill").died("p1-1.1", 6_003);
        story.serves("p1-2.1", 0, 1, [5_500, 5_900]).lapsed("p1-2.1", 5_900, (0, 1), 5_900);
        story.serves("p1-2.1", 0, 2, [7_000, 9_400]);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.unknown_gaps), [(2_000, 5_500), (5_900, 6_003)]);
    assert_eq!(lengths(&found.gaps), [(6_003, 7_000)]);
    assert_eq!(lengths(&found.unknown_overlaps), [(5_500, 5_900)]);
}

#[test]
fn a_silence_before_a_stop_is_unknown_too() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 2_000]);
        story.asked("p1-1.1", 4_000, "1.z", "pause").of("p1-1.1", 4_001, RunEvent::Stopped);
        story.asked("p1-1.1", 5_000, "1.k", "kill").died("p1-1.1", 5_003);
    });
    assert_eq!(lengths(&findings(&found).unknown_gaps), [(2_000, 5_003)]);
}

#[test]
fn a_silence_of_which_the_reason_is_known_is_no_loss() {
    let paused = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 2_000]);
        story.asked("p1-1.1", 2_020, "1.z", "pause").of("p1-1.1", 2_021, RunEvent::Stopped);
        story.asked("p1-1.1", 4_000, "1.k", "kill").died("p1-1.1", 4_002);
        story.serves("p1-2.1", 0, 1, [3_050, 9_400]);
    });
    assert_eq!(lengths(&findings(&paused).gaps), [(2_020, 3_050)]);
    assert_eq!(lengths(&findings(&paused).overlaps), [(3_050, 4_002)]);
    let stalled = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 2_000]);
        story.run(2_400, RunEvent::Stall { from: at(2_030), until: at(2_400), waited_ns: None });
        story.asked("p1-1.1", 2_500, "1.k", "kill").died("p1-1.1", 2_503);
        story.serves("p1-2.1", 0, 1, [3_500, 9_400]);
    });
    assert_eq!(lengths(&findings(&stalled).gaps), [(2_000, 3_500)]);
    for found in [&paused, &stalled] {
        assert!(findings(found).unknown().is_empty());
    }
}

#[test]
fn the_silence_of_a_stopped_member_is_expected() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 4_000]);
        story.asked("p1-1.1", 4_000, "1.z", "pause").of("p1-1.1", 4_001, RunEvent::Stopped);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.gaps), [(4_000, 9_000)]);
    assert!(found.unknown().is_empty());
}

#[test]
fn a_claim_that_a_renewal_no_longer_names_has_ended_unseen() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 3_000]).lose(Some("p1-1.1"));
        story.renewed("p1-1.1", 3_050, &[]).serves("p1-2.1", 0, 1, [2_900, 9_400]);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.overlaps), [(2_900, 3_000)], "its horizon was 6000");
    assert_eq!(lengths(&found.unknown_overlaps), [(3_000, 3_050)]);
}

#[test]
fn an_unrequested_crash_is_the_cause_of_its_gap() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 4_000]).died("p1-1.1", 4_020);
        story.serves("p1-2.1", 0, 1, [5_000, 9_400]);
    });
    assert_eq!(lengths(&findings(&found).gaps), [(4_020, 5_000)]);
    assert_eq!(findings(&found).gaps[0].cause, Cause::Death(life("p1-1.1")));
}

#[test]
fn a_failed_kill_is_not_part_of_a_later_death() {
    let gap = |failed: bool| {
        let found = one_group(|story| {
            story.serves("p1-1.1", 0, 1, [100, 6_000]).asked("p1-1.1", 3_000, "1.k", "kill");
            if failed {
                story.run(3_001, support::facts::failed("1.k", "kill", "no such process"));
            }
            story.died("p1-1.1", 6_000).serves("p1-2.1", 0, 1, [7_000, 9_400]);
        });
        lengths(&findings(&found).gaps)
    };
    assert_eq!(gap(false), [(3_000, 7_000)], "it may have stopped serving at once");
    assert_eq!(gap(true), [(6_000, 7_000)], "it served until it died");
}

#[test]
fn a_failed_pause_is_not_part_of_a_later_stop() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 6_000]).asked("p1-1.1", 3_000, "1.z", "pause");
        story.run(3_001, failed("1.z", "pause", "refused"));
        story.of("p1-1.1", 6_000, RunEvent::Stopped).serves("p1-2.1", 0, 1, [7_000, 9_400]);
    });
    assert_eq!(lengths(&findings(&found).gaps), [(6_000, 7_000)]);
}

#[test]
fn a_gap_that_outlives_its_trial_is_censored_and_between_trials_nothing_counts() {
    let mut story = Story::default();
    story.serves("p1-1.1", 0, 1, [100, 1_500]).lapsed("p1-1.1", 1_500, (0, 1), 1_500);
    story.serves("p1-1.1", 0, 2, [2_500, 5_000]);
    story.began(500, 1).ended(2_000, 1).began(3_000, 2).ended(4_900, 2);
    let found = Timeline::compute(&plan(1, &[("p1", 1, 1)]), &story.facts);
    assert_eq!(lengths(&findings(&found).gaps), [(1_500, 2_000)]);
    assert!(findings(&found).gaps[0].censored);
}

#[test]
fn a_cause_lasts_until_the_group_settles() {
    let found = one_group(|story| {
        story.started("p1-1.2", 1_000).started("p1-2.1", 10);
        story.serves("p1-2.1", 0, 1, [100, 1_500]).lapsed("p1-2.1", 1_500, (0, 1), 1_500);
        story.serves("p1-2.1", 0, 2, [1_600, 3_000]).lapsed("p1-2.1", 3_000, (0, 2), 3_000);
        story.serves("p1-2.1", 0, 3, [3_200, 4_000]).lapsed("p1-2.1", 4_000, (0, 3), 4_000);
        story.serves("p1-2.1", 0, 4, [4_100, 9_400]);
        story.settled("p1", 2_500).asked("p1-2.1", 3_900, "1.k", "other");
    });
    let causes: Vec<_> = findings(&found).gaps.iter().map(|gap| gap.cause.clone()).collect();
    let wanted = [Cause::Restart(life("p1-1.2")), Cause::Nothing, Cause::Fault(fault("1.k"))];
    assert_eq!(causes, wanted);
    let disturbed = &found.groups[&name::<GroupName>("p1")].disturbed;
    assert!(disturbed.contains(at(2_499)) && !disturbed.contains(at(2_500)));
}

#[test]
fn a_broker_that_dies_is_the_cause_of_nothing_on_another_cluster() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let mut story = Story::default();
    for who in ["p1-1.1", "p2-1.1"] {
        story.serves(who, 0, 1, [100, 3_000]).lapsed(who, 3_000, (0, 1), 3_000);
        story.serves(who, 0, 2, [4_000, 9_400]);
    }
    story.asked_broker(2_000, "1.b", "a").began(500, 1).ended(9_000, 1);
    let found = Timeline::compute(&plan, &story.facts);
    let group = |group: &str| &found.groups[&name::<GroupName>(group)];
    assert_eq!(group("p1").findings.gaps[0].cause, Cause::Fault(fault("1.b")));
    assert_eq!(group("p2").findings.gaps[0].cause, Cause::Nothing);
    assert!(!group("p1").disturbed.is_empty() && group("p2").disturbed.is_empty());
}

#[test]
fn groups_of_different_widths_meet_in_the_joint_view() {
    let plan = plan(3, &[("p1", 2, 1), ("p2", 3, 1)]);
    let mut story = Story::default();
    // Role 2 is partition 0 of p1 and partition 2 of p2.
    let serve = |story: &mut Story, who: &str, on: &[u32], gap: [u64; 2], hit: u32| {
        for &partition in on {
            story.claimed(who, partition, 1, [100, 9_400]);
        }
        let rest: Vec<u32> = on.iter().copied().filter(|one| *one != hit).collect();
        story.ticks(who, on, [100, gap[0]]).ticks(who, &rest, [gap[0] + 10, gap[1] - 10]);
        story.ticks(who, on, [gap[1], 9_400]);
    };
    serve(&mut story, "p1-1.1", &[0, 1], [2_000, 3_000], 0);
    serve(&mut story, "p2-1.1", &[0, 1, 2], [2_400, 3_500], 2);
    story.began(500, 1).ended(9_000, 1);
    let found = Timeline::compute(&plan, &story.facts);
    let p1 = &found.groups[&name::<GroupName>("p1")].findings;
    let roles: Vec<_> = p1.gaps.iter().flat_map(|gap| gap.roles.roles()).collect();
    assert_eq!(roles, [RoleIndex(0), RoleIndex(2)], "two roles share the partition");
    assert_eq!(lengths(&found.joint.gaps), [(2_400, 3_000)]);
    assert_eq!(found.joint.gaps[0].roles.first, RoleIndex(2));
    assert_eq!(found.leaders_min, Some(0));
}

#[test]
fn service_passes_at_once_where_a_successor_serves_already() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 3_000]).lapsed("p1-1.1", 3_000, (0, 1), 3_000);
        story.serves("p1-2.1", 0, 1, [2_000, 9_400]);
    });
    let found = findings(&found);
    assert_eq!(lengths(&found.overlaps), [(2_000, 3_000)]);
    assert_eq!(lengths(&found.takeovers), [(3_000, 3_000)]);
}

#[test]
fn a_calm_run_shows_nothing() {
    let found = one_group(|story| {
        story.serves("p1-1.1", 0, 1, [100, 9_400]);
        story.run(
            2_000,
            RunEvent::FaultAsked {
                fault: fault("1.n"),
                kind: "noop".to_owned(),
                class: FaultClass::Nothing,
                broker: None,
                cluster: None,
            },
        );
    });
    assert_eq!(findings(&found), &Findings::default());
    assert_eq!(found.joint, Findings::default());
    assert_eq!(found.leaders_min, Some(1));
    assert!(found.groups.values().all(|group| group.disturbed.is_empty()));
}
