//! An endless journal: each of its files can be read alone and agrees with the whole journal; the
//! oldest files are removed; facts that cannot be written are reported and counted, and do not
//! block the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use support::facts::{Story, at, fault, plan};
use support::recorded::up;
use tandem::ids::{ClusterName, GroupName};
use tandem::journal::{Bounds, Rolling, Tail, list_parts, read, read_parts};
use tandem::observation::{Fact, RunEvent, What};
use tandem::timeline::{Finding, Interval, Timeline};
use tandem::topology::Plan;

/// Two groups of two, each with one partition; the leader of p1 dies at 20 s, is succeeded a second
/// later, and that one is stopped from 40 s on for two seconds.
fn facts() -> Vec<Fact> {
    sorted(story())
}

fn sorted(story: Story) -> Vec<Fact> {
    let mut facts = story.facts;
    facts.sort_by_key(|fact| fact.t);
    facts
}

fn story() -> Story {
    let mut story = Story::default();
    for who in ["p1-1.1", "p1-2.1", "p2-1.1", "p2-2.1"] {
        story.started(who, 1);
    }
    story.began(500, 1);
    story.assigned("p1-1.1", 2, &[0]).serves("p1-1.1", 0, 1, [100, 20_000]);
    story.died("p1-1.1", 20_000);
    story.assigned("p1-2.1", 20_900, &[0]).serves("p1-2.1", 0, 1, [21_000, 40_000]);
    story.settled("p1", 30_000);
    story.of("p1-2.1", 40_000, RunEvent::Stopped);
    story.of("p1-2.1", 42_000, RunEvent::Continued);
    story.serves("p1-2.1", 0, 2, [42_000, 60_000]);
    story.assigned("p2-1.1", 2, &[0]).serves("p2-1.1", 0, 1, [100, 60_000]);
    story.ended(60_000, 1).completed(60_001);
    story
}

fn write(folder: &Path, plan: &Plan, bounds: Bounds, facts: &[Fact]) -> Rolling {
    let mut rolling = Rolling::create(folder, up(plan), bounds).unwrap();
    for fact in facts {
        rolling.append(fact.t, fact);
    }
    rolling
}

/// All gaps of a group within `window`, as intervals; neighbours that meet are one.
fn gaps(timeline: &Timeline, group: &GroupName, window: Interval) -> Vec<Interval> {
    let found = timeline.groups[group].findings.gaps.iter();
    let spans = found.map(|gap: &Finding| gap.span.intersect(window));
    spans.filter(|span| !span.is_empty()).collect()
}

/// A member speaks each 100 ms at least.
const ON_ITS_WAY: Duration = Duration::from_millis(100);

const SMALL: Bounds = Bounds { size: 40_000, files: 1_000 };

#[test]
fn every_file_agrees_with_the_whole_journal() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let facts = facts();
    write(folder.path(), &plan, SMALL, &facts);
    let whole = Timeline::compute(&plan, &facts);
    let total: usize = whole.groups.values().map(|group| group.findings.gaps.len()).sum();
    assert_eq!(total, 2, "a death and a stop: {:?}", whole.groups);
    let parts = list_parts(folder.path()).unwrap();
    assert!(parts.len() > 5, "{parts:?}");
    let mut seen: BTreeMap<GroupName, Duration> = BTreeMap::new();
    for (number, path) in &parts {
        let part = read(path).unwrap();
        assert_eq!(part.header.part.unwrap().number, *number);
        let timeline = Timeline::compute(&part.header.plan, &part.facts);
        assert_eq!(timeline.record.trials.len(), 1, "{path:?}");
        let window = timeline.record.trials[0].window;
        for (name, group) in &timeline.groups {
            let expected = gaps(&whole, name, window);
            assert_eq!(gaps(&timeline, name, window), expected, "{name} in {path:?}, {window:?}");
            // What was on its way when the file ended stands in the next.
            let end = Interval::new(window.until - ON_ITS_WAY, window.until);
            let unknown = group.findings.unknown().subtract(&end.into());
            assert!(unknown.is_empty(), "{name} in {path:?}: {unknown:?} of {window:?}");
            let sum = expected.iter().map(|gap| gap.length()).sum::<Duration>();
            *seen.entry(name.clone()).or_default() += sum;
        }
    }
    let all: Duration = seen.values().sum();
    assert_eq!(all, Duration::from_secs(3), "no gap is lost between two files: {seen:?}");
}

#[test]
fn a_file_that_begins_during_a_fault_says_so() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let mut story = story();
    let fault = || fault("1.z");
    story.asked("p1-2.1", 21_500, "1.z", "partition");
    story.of("p1-2.1", 21_600, RunEvent::FaultInForce { fault: fault() });
    story.of("p1-2.1", 55_000, RunEvent::FaultHealed { fault: fault() });
    let facts = sorted(story);
    write(folder.path(), &plan, SMALL, &facts);
    let mut begun = 0;
    for (_, path) in list_parts(folder.path()).unwrap() {
        let part = read(&path).unwrap();
        let timeline = Timeline::compute(&part.header.plan, &part.facts);
        let window = timeline.record.trials[0].window;
        let on = window.until > at(21_500) && window.from < at(55_000);
        let incident = timeline.record.incidents.get(&fault());
        assert_eq!(incident.is_some(), on, "{path:?}: {window:?}");
        if let Some(incident) = incident.filter(|_| window.from > at(21_500)) {
            assert_eq!((incident.asked, incident.targets.len()), (at(21_500), 1), "{incident:?}");
            begun += 1;
        }
    }
    assert!(begun >= 2, "{begun} files began during the fault");
    assert_eq!(read_parts(folder.path()).unwrap().facts, facts, "no fact comes twice");
}

#[test]
fn all_files_together_are_the_journal_that_one_file_would_be() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let facts = facts();
    write(folder.path(), &plan, SMALL, &facts);
    let all = read_parts(folder.path()).unwrap();
    assert_eq!(all.facts, facts);
    assert!(!all.torn_tail);
    assert_eq!(all.header.part.unwrap().number, 1);
}

#[test]
fn a_broker_that_is_dead_is_not_said_to_answer() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 1)]));
    let cluster = |name: &str| name.parse::<ClusterName>().unwrap();
    let mut story = Story::default();
    for (ms, name) in [(1, "a"), (2, "b")] {
        let (cluster, address) = (cluster(name), "127.0.0.1:1".to_owned());
        story.run(ms, RunEvent::ClusterStarted { cluster, address, pid: 7 });
    }
    story.started("p1-1.1", 3);
    story.run(10_000, RunEvent::ClusterDied { cluster: cluster("a") });
    story.assigned("p1-1.1", 4, &[0]).serves("p1-1.1", 0, 1, [100, 60_000]);
    story.facts.sort_by_key(|fact| fact.t);
    write(folder.path(), &plan, SMALL, &story.facts);
    let answers = |path: &Path| -> Vec<ClusterName> {
        let facts = read(path).unwrap().facts.into_iter();
        facts
            .filter_map(|fact| match fact.what {
                What::Run(RunEvent::ClusterStarted { cluster, .. }) => Some(cluster),
                _ => None,
            })
            .collect()
    };
    let parts = list_parts(folder.path()).unwrap();
    let (first, last) = (&parts[0].1, &parts[parts.len() - 1].1);
    assert!(read(last).unwrap().header.part.unwrap().from > at(10_000), "{parts:?}");
    assert_eq!(answers(first), [cluster("a"), cluster("b")]);
    assert_eq!(answers(last), [cluster("b")]);
}

#[test]
fn the_oldest_files_go_and_the_rest_is_judged_from_where_it_begins() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let facts = facts();
    write(folder.path(), &plan, Bounds { files: 3, ..SMALL }, &facts);
    let parts = list_parts(folder.path()).unwrap();
    assert_eq!(parts.len(), 3, "{parts:?}");
    for (_, path) in &parts {
        let size = fs::metadata(path).unwrap().len();
        assert!(size < 2 * SMALL.size, "{path:?} has {size} bytes");
    }
    let all = read_parts(folder.path()).unwrap();
    let timeline = Timeline::compute(&plan, &all.facts);
    let window = timeline.record.trials[0].window;
    assert_eq!(window.from, all.header.part.unwrap().from);
    assert!(window.from > at(1_000), "{window:?}");
    let whole = Timeline::compute(&plan, &facts);
    for name in plan.groups.keys() {
        assert_eq!(gaps(&timeline, name, window), gaps(&whole, name, window), "{name}");
        let unknown = timeline.groups[name].findings.unknown();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn unwritten_facts_are_counted_and_the_next_file_begins_after_them() {
    let (outer, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let (folder, away) = (outer.path().join("out"), outer.path().join("away"));
    fs::create_dir(&folder).unwrap();
    let facts = facts();
    let mut rolling = Rolling::create(&folder, up(&plan), SMALL).unwrap();
    let (gone, back) = (at(10_000), at(30_000));
    let mut unwritten = None;
    for fact in &facts {
        if fact.t >= gone && fact.t < back && folder.exists() {
            fs::rename(&folder, &away).unwrap();
        } else if fact.t >= back && away.exists() {
            unwritten = rolling.unwritten().cloned();
            fs::rename(&away, &folder).unwrap();
        }
        rolling.append(fact.t, fact);
    }
    let unwritten = unwritten.expect("nothing was written for a while");
    assert!(unwritten.why.contains("journal-"), "{unwritten:?}");
    assert!(unwritten.since >= gone && unwritten.facts > 100, "{unwritten:?}");
    assert!(rolling.unwritten().is_none() && rolling.lost() >= unwritten.facts);
    // The death at 20 s was not written; what is read begins after it, and knows who is dead.
    let all = read_parts(&folder).unwrap();
    assert!(all.header.part.unwrap().after_loss, "{:?}", all.header.part);
    let timeline = Timeline::compute(&plan, &all.facts);
    let window = timeline.record.trials[0].window;
    assert!(window.from >= back, "{window:?}");
    let whole = Timeline::compute(&plan, &facts);
    for name in plan.groups.keys() {
        assert_eq!(gaps(&timeline, name, window), gaps(&whole, name, window), "{name}");
    }
}

#[test]
fn a_tail_reads_each_fact_once_however_far_behind_it_is() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let facts = facts();
    let mut rolling = Rolling::create(folder.path(), up(&plan), SMALL).unwrap();
    let mut tails: Vec<(usize, Tail, Vec<Fact>)> = [1, 7, 500, 100_000]
        .map(|behind| (behind, Tail::open(folder.path()).unwrap(), Vec::new()))
        .into();
    for (number, fact) in facts.iter().enumerate() {
        rolling.append(fact.t, fact);
        for (behind, tail, read) in &mut tails {
            if number % *behind == 0 {
                while let Some(fact) = tail.read().unwrap() {
                    read.push(fact);
                }
            }
        }
    }
    assert!(list_parts(folder.path()).unwrap().len() > 5);
    for (behind, mut tail, mut read) in tails {
        while let Some(fact) = tail.read().unwrap() {
            read.push(fact);
        }
        assert!(read == facts, "{behind} facts behind: {} of {}", read.len(), facts.len());
    }
}

#[test]
fn a_tail_goes_on_behind_files_that_were_removed() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let facts = facts();
    let mut rolling =
        Rolling::create(folder.path(), up(&plan), Bounds { files: 2, ..SMALL }).unwrap();
    let mut tail = Tail::open(folder.path()).unwrap();
    for fact in &facts {
        rolling.append(fact.t, fact);
    }
    let mut read = Vec::new();
    while let Some(fact) = tail.read().unwrap() {
        read.push(fact);
    }
    // The first file, which the tail holds open, and the last two: with what is carried into them.
    assert!(read.len() < facts.len(), "{}", read.len());
    assert_eq!(read.last(), facts.last());
    let first = read.iter().zip(&facts).take_while(|(read, fact)| read == fact).count();
    assert!(first > 50, "{first}");
    assert!(
        read[first..]
            .iter()
            .any(|fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. })))
    );
}

#[test]
fn a_tail_begins_after_lost_facts_and_goes_on_behind_them_with_what_holds_then() {
    let (outer, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let (folder, away) = (outer.path().join("out"), outer.path().join("away"));
    fs::create_dir(&folder).unwrap();
    let facts = facts();
    let mut rolling = Rolling::create(&folder, up(&plan), SMALL).unwrap();
    let mut tail = Tail::open(&folder).unwrap();
    for fact in &facts {
        if fact.t >= at(15_000) && fact.t < at(30_000) && folder.exists() {
            fs::rename(&folder, &away).unwrap();
        } else if fact.t >= at(30_000) && away.exists() {
            fs::rename(&away, &folder).unwrap();
        }
        rolling.append(fact.t, fact);
    }
    let all =
        |tail: &mut Tail| -> Vec<Fact> { std::iter::from_fn(|| tail.read().unwrap()).collect() };
    let is_death = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::Died { .. }));
    let (whole, late) = (all(&mut tail), all(&mut Tail::open(&folder).unwrap()));
    // The death at 20 s was lost; it is carried into the file that is begun at 30 s.
    for read in [&whole, &late] {
        assert_eq!(read.iter().filter(|fact| is_death(fact)).count(), 1);
        assert_eq!(read.last(), facts.last());
    }
    assert_eq!(whole.first(), facts.first());
    let lives = late.iter().filter(|fact| matches!(fact.what, What::Run(RunEvent::Started { .. })));
    assert_eq!(lives.count(), 3, "only those that live at 30 s");
}

#[test]
fn a_line_that_is_half_written_is_read_when_it_is_whole() {
    let (folder, plan) = (tempfile::tempdir().unwrap(), plan(1, &[("p1", 1, 2), ("p2", 1, 2)]));
    let facts = facts();
    write(folder.path(), &plan, Bounds::default(), &facts);
    let path = list_parts(folder.path()).unwrap().remove(0).1;
    let text = fs::read(&path).unwrap();
    let header = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let cut = header + 1_000;
    fs::write(&path, &text[..cut]).unwrap();
    let mut tail = Tail::open(folder.path()).unwrap();
    let mut read = Vec::new();
    while let Some(fact) = tail.read().unwrap() {
        read.push(fact);
    }
    let before = read.len();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, &text[cut..]).unwrap();
    while let Some(fact) = tail.read().unwrap() {
        read.push(fact);
    }
    assert!(before > 0 && before < facts.len() && read == facts, "{before} of {}", read.len());
}
