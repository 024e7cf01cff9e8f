//! A topology that changes while it is up: what the live fold counts of each role, the files of the
//! journal, and what a changed file changes.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use support::chance::{Draws, history};
use support::facts::{Story, at, plan};
use support::recorded::up;
use support::watched::{drive_seen, plausible};
use tandem::ids::{GroupName, PartitionId};
use tandem::journal::{Bounds, Rolling, list_parts, read, read_parts};
use tandem::live::{Event, Live};
use tandem::observation::Fact;
use tandem::time::Mono;
use tandem::timeline::{Interval, Timeline};
use tandem::topology::{Plan, in_place};

/// The gaps of each role, in each group and in all; neighbours that meet are one.
type Gaps = BTreeMap<(Option<GroupName>, u32), Vec<Interval>>;

fn merged(mut gaps: Gaps) -> Gaps {
    for spans in gaps.values_mut() {
        spans.sort();
        let mut one: Vec<Interval> = Vec::new();
        for span in spans.drain(..).filter(|span| !span.is_empty()) {
            match one.last_mut().filter(|last| last.until == span.from) {
                Some(last) => last.until = span.until,
                None => one.push(span),
            }
        }
        *spans = one;
    }
    gaps.retain(|_, spans| !spans.is_empty());
    gaps
}

/// The gaps of the live fold, whose plan changes then, if it does.
fn gaps(plan: &Plan, change: Option<(Mono, &Plan)>, facts: &[Fact], end: Mono) -> Gaps {
    let (mut found, mut coming) = (Gaps::new(), change);
    let delay = || Duration::from_millis(40);
    drive_seen(plan, facts, end, delay, |now, _, live| {
        if let Some((since, next)) = coming.take_if(|(since, _)| *since <= now) {
            live.change(next, since);
        }
        while let Some(event) = live.poll_event() {
            let Event::Gap(place, span, _) = event else { continue };
            for role in place.roles.roles() {
                found.entry((place.group.clone(), role.0)).or_default().push(span);
            }
        }
    });
    found
}

/// What is settled without a partition says nothing of it: new roles wait for the claim.
#[test]
fn a_settled_group_may_have_yet_to_claim_a_partition_without_roles() {
    let (plan, group) = (plan(1, &[("p1", 2, 1)]), "p1".parse().unwrap());
    let mut story = Story::default();
    story.started("p1-1.1", 10).assigned("p1-1.1", 20, &[0, 1]);
    story.serves("p1-1.1", 0, 1, [30, 2_000]);
    let mut live = Live::new(&plan);
    story.facts.iter().for_each(|fact| live.observe(fact));
    assert_eq!(live.settled_since(at(2_000), &group), Some(at(30)));
    assert_eq!(live.claimed(at(2_000), &group), [PartitionId(0)].into());
    story.claimed("p1-1.1", 1, 1, [2_000, 3_000]);
    live.observe(story.facts.last().unwrap());
    assert_eq!(live.claimed(at(2_000), &group), [0, 1].map(PartitionId).into());
    assert_eq!(live.claimed(at(3_000), &group), [PartitionId(0)].into(), "that claim is over");
}

proptest! {
    #![proptest_config(cases(0x5EED_0001, 256))]

    /// The twin: a fold of each roster from the beginning to the end, of which the part before the
    /// change counts, or that after it.
    #[test]
    fn roles_count_from_the_change_on_and_until_it(
        numbers in prop::collection::vec(0u32..1_000_000, 0..500),
        (before, after) in (2u32..7, 2u32..7),
        since in 3_000u64..17_000,
    ) {
        let groups = [("p1", 2, 2), ("p2", 2, 2)];
        let (old, new) = (plan(before, &groups), plan(after, &groups));
        let facts = plausible(history(&["p1", "p2"], &mut Draws::new(numbers)), 25_000);
        let (since, end) = (at(since), at(20_000));
        let found = gaps(&old, Some((since, &new)), &facts, end);
        let mut twin = Gaps::new();
        let whole = Interval::new(Mono::ZERO, Mono(u64::MAX));
        for (plan, part) in [
            (&old, Interval::new(whole.from, since)),
            (&new, Interval::new(since, whole.until)),
        ] {
            for (place, spans) in gaps(plan, None, &facts, end) {
                let spans = spans.into_iter().map(|span| span.intersect(part));
                twin.entry(place).or_default().extend(spans);
            }
        }
        prop_assert_eq!(merged(found), merged(twin));
    }
}

fn three_moments() -> Vec<Fact> {
    let mut story = Story::default();
    story.started("p1-1.1", 1).started("p1-2.1", 1).began(500, 1);
    story.assigned("p1-1.1", 2, &[0]).serves("p1-1.1", 0, 1, [100, 9_500]);
    story.assigned("p1-2.1", 2, &[1]).serves("p1-2.1", 1, 1, [100, 4_000]);
    story.serves("p1-2.1", 1, 2, [4_500, 9_500]);
    story.ended(9_000, 1).completed(9_001);
    let mut facts = story.facts;
    facts.sort_by_key(|fact| fact.t);
    facts
}

#[test]
fn each_file_of_the_journal_has_the_plan_of_its_time_and_is_judged_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = [1, 2].map(|roles| plan(roles, &[("p1", 2, 2)]));
    let bounds = Bounds { size: 10 << 20, files: 10 };
    let mut rolling = Rolling::create(folder.path(), up(&one), bounds).unwrap();
    let facts = three_moments();
    // A role on the second partition begins while that is led, and ends before the last gap does.
    for (fact, next) in facts.iter().zip(facts.iter().skip(1).map(Some).chain([None])) {
        rolling.append(fact.t, fact);
        let reaches = |ms| fact.t < at(ms) && next.is_some_and(|next| next.t >= at(ms));
        if reaches(2_000) {
            rolling.change(at(2_000), up(&two));
        } else if reaches(6_000) {
            rolling.change(at(6_000), up(&one));
        }
    }
    let parts = list_parts(folder.path()).unwrap();
    let read: Vec<_> = parts.iter().map(|(_, path)| read(path).unwrap()).collect();
    let roles: Vec<_> = read.iter().map(|part| part.header.plan.roles.len()).collect();
    assert_eq!(roles, [1, 2, 1]);
    let changed: Vec<_> = read.iter().map(|part| part.header.part.unwrap().changed).collect();
    assert_eq!(changed, [false, true, true]);
    let mut found = Vec::new();
    for part in &read {
        let timeline = Timeline::compute(&part.header.plan, &part.facts);
        let [trial] = timeline.record.trials.as_slice() else { panic!("{:?}", timeline.record) };
        let group = timeline.groups.values().next().unwrap();
        assert!(group.findings.unknown().is_empty(), "{:?}", group.findings.unknown());
        let gaps = group.findings.gaps.iter().map(|gap| gap.span.intersect(trial.window));
        found.push((trial.window, gaps.filter(|gap| !gap.is_empty()).count()));
    }
    let window = |from, until| Interval::new(at(from), at(until));
    let windows = [window(500, 2_000), window(2_000, 6_000), window(6_000, 9_000)];
    assert_eq!(found, windows.into_iter().zip([0, 1, 0]).collect::<Vec<_>>());
    // As one journal, it is read since the last change.
    assert_eq!(read_parts(folder.path()).unwrap().header.plan, one);
}

const TEXT: &str = "\
version: 1
name: grown
roles: [a, b, c]
clusters: {a: embedded}
defaults: {threshold: 3s}
groups:
  p1: {cluster: a, members: 2, partitions: 12}
  p2: {cluster: a, members: 2, partitions: 12}
";

/// What a changed file changes, or its problems, a line each.
fn compared(from: &str, to: &str) -> Vec<String> {
    let running = tandem::topology::plan(TEXT, &[]).unwrap();
    match in_place(&running, &TEXT.replace(from, to), &[]) {
        Ok(done) => done.changes.iter().map(ToString::to_string).collect(),
        Err(problems) => problems.iter().map(|problem| format!("no: {problem}")).collect(),
    }
}

#[test]
fn a_file_is_compared_with_what_is_up() {
    assert!(compared("a, b, c", "a, b, c").is_empty());
    assert_eq!(compared("[a, b, c]", "[c, d]"), ["roles: 3 -> 2 (1 added, 2 removed)"]);
    assert_eq!(
        compared("p1: {cluster: a, members: 2", "p1: {cluster: a, members: 1"),
        ["group p1: p1-2 leave"]
    );
    let settings = "threshold 3s -> 2s; its members start again one by one";
    assert_eq!(
        compared("threshold: 3s", "threshold: 2s"),
        [format!("group p1: {settings}"), format!("group p2: {settings}"),]
    );
    assert_eq!(
        compared("name: grown\n", "name: grown\nobjective: {joint_gap: 0s}\n"),
        ["objective changes"]
    );
    assert_eq!(
        compared("partitions: 12}\n  p2", "partitions: 13}\n  p2"),
        ["no: group p1 would have 13 partitions, and its topic has 12: their number never \
         changes while a group is up"]
    );
    assert_eq!(
        compared("clusters: {a: embedded}", "clusters: {a: embedded, b: embedded}"),
        ["no: cluster b is not up, and cannot be added to what is"]
    );
    assert_eq!(
        compared("threshold: 3s", "mode: exclusive"),
        [
            "no: group p1 is up, and its `mode` stays as it is",
            "no: group p2 is up, and its `mode` stays as it is"
        ]
    );
}
