//! A group whose consumer group may have other members: what those may hold is unknown, no gap.

use support::facts::{Story, at, brief, name, plan, plan_with_others};
use tandem::ids::{GroupName, PartitionId};
use tandem::live::Live;
use tandem::observation::MemberEvent;
use tandem::timeline::{Findings, Interval, Timeline};
use tandem::verdict::{Report, Verdict};

/// The partition is assigned from 100 ms on, served until 2 s, revoked at 3 s, assigned again at
/// 5 s and served from 6 s to the death at 8 s; the next life has it from 9 s on.
fn story() -> Story {
    let mut story = Story::default();
    let (first, again) = ("p1-1.1", "p1-1.2");
    let assigned = |story: &mut Story, who: &str, ms| {
        let (generation, member_id, partitions) = (None, None, vec![PartitionId(0)]);
        story.says(who, ms, MemberEvent::Assigned { generation, member_id, partitions });
    };
    story.started(first, 10).began(500, 1);
    assigned(&mut story, first, 100);
    story.serves(first, 0, 1, [100, 2_000]).lapsed(first, 2_000, (0, 1), 2_000);
    story.says(first, 3_000, MemberEvent::Revoked { partitions: vec![PartitionId(0)] });
    assigned(&mut story, first, 5_000);
    story.serves(first, 0, 2, [6_000, 8_000]).died(first, 8_000).started(again, 8_500);
    assigned(&mut story, again, 9_000);
    story.serves(again, 0, 1, [9_000, 11_000]).ended(10_000, 1).completed(11_000);
    story
}

fn spans(found: &[tandem::timeline::Finding]) -> Vec<Interval> {
    found.iter().map(|one| one.span).collect()
}

fn found(timeline: &Timeline) -> &Findings {
    &timeline.groups[&name::<GroupName>("p1")].findings
}

#[test]
fn what_no_life_holds_is_unknown_and_what_one_holds_is_a_gap() {
    let groups = [("p1", 1, 1)];
    let story = story();
    let span = |from, until| Interval::new(at(from), at(until));
    let alone = Timeline::compute(&plan(1, &groups), &story.facts);
    let gaps = [span(2_000, 6_000), span(8_000, 9_000)];
    assert_eq!(spans(&found(&alone).gaps), gaps);
    let with = Timeline::compute(&plan_with_others(1, &groups), &story.facts);
    assert_eq!(spans(&found(&with).gaps), [span(2_000, 3_000), span(5_000, 6_000)]);
    let unknown = [span(3_000, 5_000), span(8_000, 9_000)];
    assert_eq!(spans(&found(&with).unknown_gaps), unknown);
    assert!(found(&with).overlaps.is_empty() && found(&with).unknown_overlaps.is_empty());
}

#[test]
fn what_is_unknown_makes_no_promise_broken_and_none_kept() {
    let mut story = Story::default();
    let who = "p1-1.1";
    let (generation, member_id, partitions) = (None, None, vec![PartitionId(0)]);
    story.started(who, 10).says(
        who,
        100,
        MemberEvent::Assigned { generation, member_id, partitions },
    );
    story.serves(who, 0, 1, [100, 5_000]).lapsed(who, 5_000, (0, 1), 5_000).began(500, 1);
    story.says(who, 4_990, MemberEvent::Lost { partitions: vec![PartitionId(0)] });
    story.ended(9_000, 1).completed(9_500);
    let verdict = |plan: tandem::topology::Plan| {
        let brief = brief(&plan, 1, &["group.gap.max <= 100ms"]);
        let timeline = Timeline::compute(&plan, &story.facts);
        Report::of(&plan, &brief, 1, at(0), &timeline).verdict
    };
    assert_eq!(verdict(plan(1, &[("p1", 1, 1)])), Verdict::Fail);
    assert_eq!(verdict(plan_with_others(1, &[("p1", 1, 1)])), Verdict::Unknown);
}

#[test]
fn the_live_fold_counts_the_same_and_reports_no_lost_leader() {
    let plan = plan_with_others(1, &[("p1", 1, 1)]);
    let mut live = Live::new(&plan);
    for fact in &story().facts {
        live.observe(fact);
        live.handle_timeout(fact.t);
    }
    live.end(at(10_000));
    live.finish(at(20_000));
    let group = name::<GroupName>("p1");
    let totals = live.totals(Some(&group), tandem::ids::RoleIndex(0));
    let ms = |ms| std::time::Duration::from_millis(ms);
    assert_eq!((totals.unavailable, totals.unknown), (ms(2_000), ms(3_000)), "{totals:?}");
}
