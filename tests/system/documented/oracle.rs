//! A second computation, in Python, from the page `deploy/schema/README.md` alone: it must find the
//! same gaps, overlaps and takeovers, to the nanosecond.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};
use tandem::ids::{GroupName, MemberId, TrialNumber};
use tandem::journal::{Recording, read, read_parts};
use tandem::observation::{Fact, MemberEvent, Outcome, RunEvent, What};
use tandem::time::Span;
use tandem::timeline::{Cause, Finding, Findings, Timeline, TimelineBuilder};
use tandem::topology::Plan;
use tandem::verdict::{Brief, Disturbed, Report};

use crate::documented::hindered::{held_up, hinder, outsiders, rule};
use crate::documented::live::live;
use crate::documented::python::ask;
use support::chance::{Draws, history};
use support::facts::{Story, at, brief, failed, name, plan_apart, plan_with_others};
use support::recorded::{kills, record};

/// So many journals are made up.
const RANDOM: u64 = 150;

fn all(findings: &Findings) -> [(&'static str, &[Finding]); 5] {
    let Findings { gaps, overlaps, takeovers, unknown_gaps, unknown_overlaps } = findings;
    [
        ("gap", gaps),
        ("overlap", overlaps),
        ("takeover", takeovers),
        ("unknown gap", unknown_gaps),
        ("unknown overlap", unknown_overlaps),
    ]
}

/// What is found, in the form of the oracle.
fn found(timeline: &Timeline) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |group: Option<&GroupName>, findings: &Findings| {
        for (what, one) in
            all(findings).iter().flat_map(|(what, of)| of.iter().map(move |one| (what, one)))
        {
            let (kind, by) = match &one.cause {
                Cause::Fault(id) => ("fault", id.to_string()),
                Cause::Restart(life) => ("restart", life.to_string()),
                Cause::Broker(cluster) => ("broker", cluster.to_string()),
                Cause::Death(life) => ("death", life.to_string()),
                Cause::Stop(life) => ("stop", life.to_string()),
                Cause::Connection(life) => ("connection", life.to_string()),
                Cause::Leave(life) => ("leave", life.to_string()),
                Cause::Start => ("start", String::new()),
                Cause::Nothing => ("none", String::new()),
            };
            let (from, until) = (one.span.from.0, one.span.until.0);
            let within = u64::try_from(one.uncertainty.as_nanos()).unwrap();
            let group = group.map(GroupName::as_str);
            for role in one.roles.roles() {
                let line = json!([what, group, role.0, one.trial.0, from, until, kind, by, within]);
                lines.push(line.to_string());
            }
        }
    };
    timeline.groups.iter().for_each(|(name, line)| add(Some(name), &line.findings));
    add(None, &timeline.joint);
    lines.sort();
    lines
}

/// All that the oracle says stands in the report as well.
fn is_within(path: &str, theirs: &Value, ours: &Value) {
    match theirs {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| is_within(&format!("{path}.{key}"), value, &ours[key])),
        Value::Array(items) => {
            let known = ours.as_array().map_or(&[][..], Vec::as_slice);
            assert_eq!(items.len(), known.len(), "{path}: {ours}");
            items.iter().zip(known).for_each(|(value, known)| is_within(path, value, known));
        }
        Value::Number(number) => assert_eq!(number.as_f64(), ours.as_f64(), "{path}"),
        other => assert_eq!(other, ours, "{path}"),
    }
}

/// How much of what both agree on was there.
#[derive(Debug, Default)]
struct Agreed {
    intervals: usize,
    /// Runs of which some trials were disturbed, and those of which all were.
    disturbed: [usize; 2],
    outages: usize,
}

impl Agreed {
    fn add(&mut self, intervals: usize, report: &Report) {
        self.intervals += intervals;
        self.outages += report.outages.len();
        if let Some(of) = report.disturbed.as_ref().filter(|of| !of.trials.is_empty()) {
            self.disturbed[usize::from(of.undisturbed == 0)] += 1;
        }
    }
}

/// Both agree on these journals; how much there was in all of them.
fn agree(journals: &[(PathBuf, Recording)]) -> Agreed {
    let lines: Vec<String> = journals.iter().map(|(path, _)| path.display().to_string()).collect();
    let mut agreed = Agreed::default();
    for ((path, recording), answer) in journals.iter().zip(ask("oracle.py", &[], &lines)) {
        let header = &recording.header;
        let mut builder = TimelineBuilder::new(&header.plan);
        recording.facts.iter().for_each(|fact| builder.observe(fact));
        let timeline = builder.finish();
        let theirs = answer["found"].as_array().unwrap().iter();
        let mut theirs: Vec<String> = theirs.map(ToString::to_string).collect();
        theirs.sort();
        let ours = found(&timeline);
        let missing: Vec<_> = ours.iter().filter(|one| !theirs.contains(one)).collect();
        let further: Vec<_> = theirs.iter().filter(|one| !ours.contains(one)).collect();
        let path = path.display();
        assert!(ours == theirs, "{path}: only we find {missing:#?}, only they {further:#?}");
        let (plan, brief) = (&header.plan, &header.brief);
        let report = Report::of(plan, brief, header.seed, header.zero, &timeline);
        let known = serde_json::to_value(&report).unwrap();
        is_within(&path.to_string(), &answer["numbers"], &known);
        agreed.add(ours.len(), &report);
    }
    agreed
}

fn written(
    folder: &Path,
    number: usize,
    story: &Story,
    disturbed: Option<Disturbed>,
) -> (PathBuf, Recording) {
    let groups = [("p1", 2, 2), ("p2", 2, 2)];
    // Every other one has a group in which others may be.
    let plan = if number.is_multiple_of(2) {
        plan_apart(3, &groups)
    } else {
        plan_with_others(3, &groups)
    };
    written_of(&plan, folder, number, story, disturbed)
}

fn written_of(
    plan: &Plan,
    folder: &Path,
    number: usize,
    story: &Story,
    disturbed: Option<Disturbed>,
) -> (PathBuf, Recording) {
    let run = folder.join(format!("run-{number}"));
    let brief = Brief { disturbed, ..brief(plan, 1, &[]) };
    record(&run, plan, &brief, &story.facts);
    let path = run.join("journal.jsonl");
    let recording = read(&path).unwrap();
    (path, recording)
}

#[test]
fn the_documentation_suffices_for_random_histories() {
    let folder = tempfile::tempdir().unwrap();
    let mut journals = Vec::new();
    for seed in 0..RANDOM {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        let numbers = (0..600).map(|_| chance.random_range(0..1_000_000)).collect();
        let mut story = Story::default();
        story.facts = history(&["p1", "p2"], &mut Draws::new(numbers));
        let mut disturbed = None;
        // One of three is as history has it.
        if seed % 3 > 0 {
            hinder(&mut story.facts, &mut chance);
            disturbed = rule(&mut chance);
        }
        journals.push(written(folder.path(), journals.len(), &story, disturbed));
    }
    let agreed = agree(&journals);
    let Agreed { intervals, disturbed: [some, all], outages } = agreed;
    assert!(intervals > 1_000 && some > 5 && all > 0 && outages > 5, "{agreed:?} is little");
}

#[test]
fn the_documentation_suffices_for_members_that_the_run_did_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let (mut journals, mut unnamed) = (Vec::new(), 0);
    for seed in 1_000..1_000 + RANDOM {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        let numbers = (0..600).map(|_| chance.random_range(0..1_000_000)).collect();
        let mut story = Story::default();
        story.facts = history(&["p1", "p2"], &mut Draws::new(numbers));
        let outside = outsiders(&mut story.facts, &mut chance);
        let mut plan = plan_apart(3, &[("p1", 2, 2), ("p2", 2, 2)]);
        // The fact of a start stands before all others of its life.
        let start = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::Started { .. }));
        story.facts.sort_by_key(|fact| !start(fact));
        let begun: BTreeSet<MemberId> = story
            .facts
            .iter()
            .filter(|fact| start(fact))
            .filter_map(|fact| Some(fact.life.as_ref()?.member.clone()))
            .collect();
        for group in plan.groups.values_mut() {
            let before = group.members.len();
            group.members.retain(|member| !(outside.contains(member) && begun.contains(member)));
            unnamed += before - group.members.len();
        }
        journals.push(written_of(&plan, folder.path(), journals.len(), &story, None));
    }
    let agreed = agree(&journals);
    assert!(agreed.intervals > 1_000 && unnamed > 50, "{agreed:?} of {unnamed} is little");
}

#[test]
fn the_documentation_suffices_for_written_histories() {
    let folder = tempfile::tempdir().unwrap();
    let stories = [causes(), nested(), looks(), cut_off(), left_alone(), kills(&[955, 0, 1_108])];
    let journals: Vec<_> =
        (0..).zip(&stories).map(|(n, it)| written(folder.path(), n, it, None)).collect();
    assert!(agree(&journals).intervals > 100);
}

#[test]
fn the_page_is_enough_for_a_run_that_something_holds_up() {
    let folder = tempfile::tempdir().unwrap();
    let rule = |stall| Disturbed { stall: Span::ms(stall), replace: 1 };
    let agreed =
        |number, disturbed| agree(&[written(folder.path(), number, &held_up(), disturbed)]);
    // The host imposed 66.7 ms on the first trial, 33.3 ms on the second, and 50 ms on the third.
    let rules = [(33, [0, 1]), (34, [1, 0]), (50, [1, 0]), (66, [1, 0]), (67, [0, 0])];
    for (number, (stall, disturbed)) in (1..).zip(rules) {
        let agreed = agreed(number, Some(rule(stall)));
        assert_eq!((agreed.disturbed, agreed.outages), (disturbed, 1), "{stall}: {agreed:?}");
    }
    assert!(agreed(0, None).intervals > 10);
}

#[test]
fn the_page_is_enough_for_real_runs() {
    let live = live();
    let mut journals: Vec<(PathBuf, Recording)> = Vec::new();
    for run in &live.runs {
        let path = run.join("journal.jsonl");
        let recording = read(&path).unwrap();
        journals.push((path, recording));
    }
    let kept_up = read_parts(&live.up).unwrap();
    journals.push((live.up.join("journal-000001.jsonl"), kept_up));
    for journal in &journals {
        let agreed = agree(std::slice::from_ref(journal));
        assert!(agreed.intervals > 0, "{}", journal.0.display());
    }
}

/// A gap of each cause, and one of none.
fn causes() -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p2-1.1", 10).began(500, 1);
    story.run(1_900, RunEvent::ClusterDied { cluster: name("a") }).settled("p1", 3_000);
    story.asked("p1-1.1", 3_900, "1.z", "noop").asked("p1-1.1", 5_900, "1.n", "partition");
    story.asked_broker(6_900, "1.b", "b").settled("p2", 8_000).settled("p1", 8_500);
    let holes = [[2_000, 2_300], [4_000, 4_500], [6_000, 6_100], [7_000, 7_200], [9_000, 9_200]];
    for who in ["p1-1.1", "p2-1.1"] {
        let mut from = 100;
        for (term, [end, next]) in (1..).zip(holes) {
            story.serves(who, 0, term, [from, end]).lapsed(who, end, (0, term), end);
            from = next;
        }
        story.serves(who, 0, 6, [from, 10_000]);
    }
    story.asked("p2-1.2", 9_800, "1.d", "duplicate").started("p2-1.2", 9_801);
    story.died("p2-1.2", 9_900).died("p1-1.1", 10_000).started("p1-1.2", 10_500);
    story.serves("p1-1.2", 0, 1, [11_000, 12_000]).died("p2-1.1", 11_500);
    story.ended(12_500, 1).completed(13_000);
    story
}

/// A second server beside the leader, and one within another.
fn nested() -> Story {
    let mut story = Story::default();
    for who in ["p1-1.1", "p1-2.1", "p1-2.2"] {
        story.started(who, 10);
    }
    story.began(1_000, 1);
    story.serves("p1-1.1", 0, 1, [100, 5_000]).lapsed("p1-1.1", 5_000, (0, 1), 5_000);
    story.serves("p1-2.1", 0, 1, [2_000, 3_000]).lapsed("p1-2.1", 3_000, (0, 1), 3_000);
    story.serves("p1-2.1", 0, 2, [4_000, 8_000]).lapsed("p1-2.1", 8_000, (0, 2), 8_000);
    story.serves("p1-2.2", 0, 1, [4_000, 9_000]);
    story.serves("p1-1.1", 0, 2, [6_000, 7_000]).ended(9_000, 1).completed(9_500);
    story
}

/// Looks that found something not yet so, holes and losses at the edges of a claim.
fn looks() -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p1-2.1", 10).began(500, 1);
    story.serves("p1-1.1", 0, 1, [100, 3_000]).of("p1-1.1", 3_000, RunEvent::NotYet);
    story.of("p1-1.1", 3_020, RunEvent::Stopped).of("p1-1.1", 4_000, RunEvent::NotYet);
    story.of("p1-1.1", 4_030, RunEvent::Continued).renewed("p1-1.1", 4_050, &[(0, 1, 7_000)]);
    story.ticks("p1-1.1", &[0], [4_060, 5_000]).lose(Some("p1-1.1"));
    story.ticks("p1-1.1", &[0], [5_099, 6_000]).renewed("p1-1.1", 6_000, &[(0, 1, 7_000)]);
    story.says("p1-1.1", 6_100, MemberEvent::Hole { from: at(6_050), until: at(6_090) });
    story.asked("p1-1.1", 6_500, "1.k", "kill");
    story.run(6_510, failed("1.k", "kill", "it fled"));
    story.asked("p1-1.1", 6_600, "1.l", "host").died("p1-1.1", 6_620);
    story.lose(None).serves("p1-2.1", 0, 1, [6_400, 8_000]).ended(9_000, 1).completed(9_100);
    story
}

/// The run ends in the middle of a trial, its members sent home; one had left by a fault.
fn cut_off() -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p1-2.1", 10).began(500, 1);
    story.serves("p1-1.1", 0, 1, [100, 2_000]).asked("p1-1.1", 1_900, "1.l", "leave");
    story.lapsed("p1-1.1", 2_000, (0, 1), 2_000).says("p1-1.1", 2_001, MemberEvent::Leaving);
    story.serves("p1-2.1", 0, 1, [2_300, 6_000]).says("p1-2.1", 6_010, MemberEvent::Leaving);
    story.died("p1-2.1", 6_500);
    story
}

/// The controller stalled, and its guard ended the run.
fn left_alone() -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p1-2.1", 10).began(500, 1);
    story.serves("p1-1.1", 0, 1, [100, 5_500]);
    story
        .run(8_000, RunEvent::Stall { from: at(2_500), until: at(8_000), waited_ns: None })
        .died("p1-1.1", 8_001);
    story.run(8_100, RunEvent::Unattended { from: at(2_400) });
    story.run(8_200, RunEvent::TrialEnded { trial: TrialNumber(1), recovered: Some(false) });
    story.run(8_300, RunEvent::Ended { how: Outcome::Broken, why: None });
    story
}
