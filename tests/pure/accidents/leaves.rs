//! A member that leaves its group without a fault is the cause of what follows: its program is
//! unhealthy or has ended, or its process was asked to end.

use std::fs;

use serde_json::Value;
use support::experiment::{output, tandem};
use support::facts::{Story, at, brief, life, plan_apart};
use support::recorded::record;
use tandem::ids::{PartitionId, Term};
use tandem::observation::{Ending, MemberEvent};
use tandem::timeline::{Cause, Timeline};
use tandem::verdict::{Report, Verdict};

use super::{fault, files_agree, p1, spans_and_causes};

const WHO: &str = "p1-1.1";

/// The only leader of `p1` serves until 5 s, leaves, comes back, and serves from 6 s to 9 s; it is
/// settled at 7.5 s.
fn leave(how: impl FnOnce(&mut Story)) -> Story {
    let mut story = Story::default();
    story.started(WHO, 10).started("p2-1.1", 10).settled("p1", 400).began(500, 1);
    story.assigned(WHO, 90, &[0]).serves(WHO, 0, 1, [100, 5_000]);
    how(&mut story);
    story.assigned(WHO, 5_900, &[0]).serves(WHO, 0, 2, [6_000, 9_000]).settled("p1", 7_500);
    story.serves("p2-1.1", 0, 1, [100, 12_000]).ended(11_000, 1).completed(11_500);
    story
}

fn ends(story: &mut Story, ms: u64, term: u32, why: Ending) {
    let (partition, term, at) = (PartitionId(0), Term(term), at(ms));
    story.says(WHO, ms + 1, MemberEvent::Lapsed { partition, term, at, why });
}

/// As a member does that leaves: its claim ends, and then it says so.
fn goes(story: &mut Story, term: u32, ms: u64, why: Ending) {
    if why == Ending::HandedOver {
        story.says(WHO, ms - 100, MemberEvent::Revoked { partitions: vec![PartitionId(0)] });
    }
    ends(story, ms, term, why);
    story.says(WHO, ms + 200, MemberEvent::Leaving);
}

fn causes(story: &Story) -> Vec<(u64, u64, Cause)> {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let timeline = Timeline::compute(&plan, &story.facts);
    spans_and_causes(&timeline.groups[&p1()].findings.gaps)
}

#[test]
fn a_leave_counts_from_the_first_claim_that_it_ended() {
    let by_leave = Cause::Leave(life(WHO));
    for why in [Ending::Left, Ending::HandedOver] {
        let mut story = leave(|story| goes(story, 1, 5_000, why));
        ends(&mut story, 9_000, 2, Ending::Silence);
        let after = (9_000, 11_000, Cause::Nothing);
        assert_eq!(causes(&story), [(5_000, 6_000, by_leave.clone()), after], "{why:?}");
    }
    // What ended before the leave began is not its doing.
    let mut story = leave(|story| goes(story, 1, 5_000, Ending::Silence));
    ends(&mut story, 9_000, 2, Ending::Silence);
    assert_eq!(causes(&story)[0], (5_000, 6_000, Cause::Nothing));
}

#[test]
fn a_hand_over_before_a_rebalance_begins_no_leave() {
    let story = leave(|story| {
        ends(story, 5_000, 1, Ending::HandedOver);
        story.says(WHO, 5_500, MemberEvent::Revoked { partitions: vec![PartitionId(0)] });
        story.says(WHO, 5_600, MemberEvent::Leaving);
    });
    assert_eq!(causes(&story)[0], (5_000, 6_000, Cause::Nothing));
    // Another one leads what the rebalance did not give back, and the member leaves much later.
    let story = leave(|story| {
        story.says(WHO, 4_900, MemberEvent::Revoked { partitions: vec![PartitionId(0)] });
        story.assigned(WHO, 4_950, &[]);
        ends(story, 5_000, 1, Ending::HandedOver);
        story.says(WHO, 5_600, MemberEvent::Leaving);
    });
    assert_eq!(causes(&story)[0], (5_000, 6_000, Cause::Nothing));
}

#[test]
fn a_fault_that_makes_a_member_leave_is_the_cause() {
    let story = leave(|story| {
        story.asked(WHO, 4_990, "1.l", "leave");
        goes(story, 1, 5_000, Ending::Left);
    });
    assert_eq!(causes(&story)[0], (5_000, 6_000, Cause::Fault(fault("1.l"))));
}

/// One that left, came back and dies was not expected to die.
#[test]
fn a_death_after_a_return_is_a_death() {
    let mut story = leave(|story| goes(story, 1, 5_000, Ending::Left));
    story.died(WHO, 9_000);
    let [first, second] = causes(&story).try_into().unwrap();
    assert_eq!(first, (5_000, 6_000, Cause::Leave(life(WHO))));
    assert_eq!(second, (9_000, 11_000, Cause::Death(life(WHO))));
    // The end of its process is part of a leave.
    let mut story = leave(|_| {});
    goes(&mut story, 2, 9_000, Ending::Left);
    story.died(WHO, 9_300);
    assert_eq!(causes(&story).last().unwrap(), &(9_000, 11_000, Cause::Leave(life(WHO))));
}

#[test]
fn a_later_file_of_a_journal_knows_a_leave() {
    let whom = |dies: bool| {
        let (mut story, other) = (Story::default(), if dies { "p1-2.1" } else { WHO });
        story.started(WHO, 10).started("p1-2.1", 10).started("p2-1.1", 10);
        story.settled("p1", 400).began(500, 1);
        story.assigned(WHO, 90, &[0]).serves(WHO, 0, 1, [100, 5_000]);
        goes(&mut story, 1, 5_000, Ending::HandedOver);
        if dies {
            story.died(WHO, 5_210);
        }
        story.assigned(other, 5_900, &[0]).serves(other, 0, 2, [6_000, 9_000]);
        story.lapsed(other, 9_000, (0, 2), 9_000);
        story.serves("p2-1.1", 0, 1, [100, 12_000]).ended(11_000, 1).completed(11_500);
        story
    };
    for dies in [false, true] {
        let plan = plan_apart(1, &[("p1", 1, 2), ("p2", 1, 1)]);
        let timeline = Timeline::compute(&plan, &whom(dies).facts);
        let gaps = spans_and_causes(&timeline.groups[&p1()].findings.gaps);
        let by_leave = Cause::Leave(life(WHO));
        // The group has not settled since.
        assert_eq!(gaps, [(5_000, 6_000, by_leave.clone()), (9_000, 11_000, by_leave)]);
        files_agree(whom(dies), [5_210, 9_000]);
    }
}

#[test]
fn every_file_of_a_report_names_the_member_that_left() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let run = folder.path().join("run-1");
    let mut story = leave(|story| goes(story, 1, 5_000, Ending::Left));
    // Only the gap after the leave lies in the trial.
    story.facts.retain(|fact| fact.t < at(9_000));
    story.ended(8_500, 1).completed(8_900);
    record(&run, &plan, &brief(&plan, 1, &[]), &story.facts);
    let done = output(tandem(folder.path()).arg("report").arg(&run));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("after the leave of p1-1.1"), "{text}");
    assert!(text.contains("\n  leave "), "a row of its own: {text}");
    assert!(text.contains("leave: a member left its group without a fault"), "{text}");
    let written = fs::read_to_string(run.join("result.json")).unwrap();
    let report: Report = serde_json::from_str(&written).unwrap();
    let p1 = &report.groups[&p1()];
    assert_eq!((p1.other.leave.gap.count, p1.other.none.gap.count), (1, 0));
    let kept = report.objective.iter().find(|it| it.text.starts_with("leaders_per_group"));
    assert_eq!(kept.unwrap().outcome, Verdict::Fail, "a leave excuses nothing");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("<td>the leave of p1-1.1</td>"), "{page}");
    // A report of before has no leaves.
    let mut before: Value = serde_json::from_str(&written).unwrap();
    before["groups"]["p1"]["other"].as_object_mut().unwrap().remove("leave").unwrap();
    let before: Report = serde_json::from_value(before).unwrap();
    assert_eq!(before.groups[&super::p1()].other.leave.gap.count, 0);
}
