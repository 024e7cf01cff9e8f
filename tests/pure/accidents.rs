//! A broker or a member that dies by itself, or leaves, is the cause of the effects: in the
//! timeline, in the report and its files, in a trace, in a later file of a journal. It is reported,
//! and excuses nothing.

mod away;
mod leaves;
mod silent;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use support::experiment::{output, tandem};
use support::facts::{Story, at, brief, fault, life, name, plan, plan_apart};
use support::recorded::record;
use support::windowed::shown;
use tandem::ids::GroupName;
use tandem::journal::{Bounds, Rolling, list_parts, read};
use tandem::live::Live;
use tandem::observation::{MemberEvent, RunEvent, What};
use tandem::telemetry::{RunContext, WindowTraces};
use tandem::time::Mono;
use tandem::timeline::{Cause, Finding, Interval, Timeline};
use tandem::verdict::{CauseKind, Report, Verdict};

/// The broker of `a` dies at 2 s and is replaced; `p1`, which is on it, has no leader from 5 s to
/// 6 s, is settled at 7.5 s, and has none again from 9 s to 9.5 s.
fn story() -> Story {
    let (mut story, cluster) = (Story::default(), || name("a"));
    story.started("p1-1.1", 10).started("p2-1.1", 10).began(500, 1);
    story.run(2_000, RunEvent::ClusterDied { cluster: cluster() });
    let address = "127.0.0.1:9092".to_owned();
    story.run(2_300, RunEvent::ClusterStarted { cluster: cluster(), address, pid: 7 });
    story.settled("p1", 7_500).ended(11_000, 1).completed(11_500);
    for (term, [from, until]) in (1..).zip([[100, 5_000], [6_000, 9_000], [9_500, 12_000]]) {
        story.serves("p1-1.1", 0, term, [from, until]).lapsed("p1-1.1", until, (0, term), until);
    }
    story.serves("p2-1.1", 0, 1, [100, 12_000]);
    story
}

fn on_a() -> Cause {
    Cause::Broker(name("a"))
}

fn p1() -> GroupName {
    name("p1")
}

/// From when to when each is, in ms, and why.
fn spans_and_causes(found: &[Finding]) -> Vec<(u64, u64, Cause)> {
    let ms = |at: Mono| at.0 / 1_000_000;
    found.iter().map(|one| (ms(one.span.from), ms(one.span.until), one.cause.clone())).collect()
}

#[test]
fn a_gap_after_the_death_of_a_broker_has_that_cause_until_its_group_is_settled() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let timeline = Timeline::compute(&plan, &story().facts);
    let gaps = spans_and_causes(&timeline.groups[&p1()].findings.gaps);
    assert_eq!(gaps, [(5_000, 6_000, on_a()), (9_000, 9_500, Cause::Nothing)]);
    assert!(timeline.groups[&name::<GroupName>("p2")].findings.gaps.is_empty());
}

#[test]
fn only_members_of_its_cluster_lack_a_broker_and_a_fault_takes_precedence() {
    let gap_of_both = |plan: &tandem::topology::Plan, struck: bool| {
        let mut story = Story::default();
        story.started("p1-1.1", 10).started("p2-1.1", 10).settled("p2", 400).began(500, 1);
        story.run(2_000, RunEvent::ClusterDied { cluster: name("a") });
        if struck {
            story.asked("p2-1.1", 2_500, "1.p", "partition");
        }
        story.ended(9_000, 1).completed(9_500);
        for who in ["p1-1.1", "p2-1.1"] {
            story.serves(who, 0, 1, [100, 3_000]).lapsed(who, 3_000, (0, 1), 3_000);
            story.serves(who, 0, 2, [4_000, 9_000]);
        }
        let timeline = Timeline::compute(plan, &story.facts);
        let group =
            |of: &str| timeline.groups[&name::<GroupName>(of)].findings.gaps[0].cause.clone();
        [group("p1"), group("p2"), timeline.joint.gaps[0].cause.clone()]
    };
    let groups = [("p1", 1, 1), ("p2", 1, 1)];
    let (apart, together) = (plan_apart(1, &groups), plan(1, &groups));
    assert_eq!(gap_of_both(&apart, false), [on_a(), Cause::Nothing, on_a()]);
    assert_eq!(gap_of_both(&together, false), [on_a(), on_a(), on_a()]);
    let fault = Cause::Fault(fault("1.p"));
    assert_eq!(gap_of_both(&apart, true), [on_a(), fault.clone(), fault]);
}

#[test]
fn the_report_separates_accidents_and_excuses_nothing() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let report = Report::compute(&plan, &brief(&plan, 1, &[]), 42, at(0), &story().facts);
    let p1 = &report.groups[&p1()];
    let counts = [p1.fault.gap, p1.other.broker.gap, p1.other.restart.gap, p1.other.none.gap];
    assert_eq!(counts.map(|gap| gap.count), [0, 1, 0, 1]);
    assert_eq!(p1.other.broker.gap.max_ms, Some(1_000.0));
    let worst = &report.worst[0];
    assert_eq!((worst.cause, worst.by.as_deref()), (CauseKind::Broker, Some("a")));
    let kept = report.objective.iter().find(|it| it.text.starts_with("leaders_per_group"));
    assert_eq!(
        kept.unwrap().outcome,
        Verdict::Fail,
        "no member led, and no fault of the run caused it"
    );
    // A report from an earlier version, without this field, is read as well.
    let mut before = serde_json::to_value(&report).unwrap();
    before["groups"]["p1"]["other"].as_object_mut().unwrap().remove("broker");
    let before: Report = serde_json::from_value(before).unwrap();
    assert_eq!(before.groups[&self::p1()].other.broker.gap.count, 0);
}

#[test]
fn every_file_of_a_report_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let run = folder.path().join("up-1");
    record(&run, &plan, &brief(&plan, 1, &[]), &story().facts);
    let done = output(tandem(folder.path()).arg("report").arg(&run));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("after the loss of a broker of cluster a"), "{text}");
    assert!(text.contains("\n  broker "), "a row of its own: {text}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("<td>the loss of a broker of cluster a</td>"));
    let data = "\"causes\":[\"\",\"the loss of a broker of cluster a\"]";
    assert!(page.contains(data), "the lanes show it");
    let traces = fs::read_to_string(run.join("traces.otlp.json")).unwrap();
    let traces: Value = serde_json::from_str(&traces).unwrap();
    let mut causes = Vec::new();
    gaps(&traces, &mut |gap| causes.push(["neli.cause", "neli.cause.by"].map(|key| of(gap, key))));
    causes.sort();
    let wanted = [["broker", "a"], ["none", ""]].map(|pair| pair.map(str::to_owned));
    assert_eq!(causes, wanted);
}

/// Every span of a gap, in any trace.
fn gaps(value: &Value, take: &mut impl FnMut(&Value)) {
    if value["name"] == "leadership.gap" {
        take(value);
    }
    let list = value.as_array().into_iter().flatten();
    let inner = value.as_object().into_iter().flat_map(|object| object.values());
    list.chain(inner).for_each(|one| gaps(one, take));
}

/// An attribute of a span as text; nothing where it has none.
fn of(span: &Value, key: &str) -> String {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found.map_or_else(String::new, |it| it["value"]["stringValue"].as_str().unwrap().to_owned())
}

#[test]
fn a_later_window_knows_it_still() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p2-1.1", 10).began(500, 1);
    story.run(2_000, RunEvent::ClusterDied { cluster: name("a") }).ended(26_000, 1);
    story.serves("p1-1.1", 0, 1, [100, 20_000]).lapsed("p1-1.1", 20_000, (0, 1), 20_000);
    story.serves("p1-1.1", 0, 2, [21_000, 27_000]).serves("p2-1.1", 0, 1, [100, 27_000]);
    story.facts.sort_by_key(|fact| fact.t);
    record(folder.path(), &plan, &brief(&plan, 1, &[]), &story.facts);
    let header = read(&folder.path().join("journal.jsonl")).unwrap().header;
    let mut traces = WindowTraces::new(&header, RunContext::of(&header), Duration::from_secs(5));
    let (mut live, mut causes) = (Live::new(&plan), Vec::new());
    let mut take = |traces: &mut WindowTraces, live: &Live| {
        let spans = std::iter::from_fn(|| traces.poll_trace(&live.finality()))
            .flat_map(|trace| trace.spans);
        let gaps = spans.filter(|span| span.name == "leadership.gap");
        causes.extend(gaps.map(|gap| ["neli.cause", "neli.cause.by"].map(|key| shown(&gap, key))));
    };
    for fact in story.facts.drain(..).map(Arc::new) {
        while let Some(due) = live.poll_timeout().filter(|due| *due <= fact.t) {
            live.handle_timeout(due);
            traces.handle_timeout(due);
            take(&mut traces, &live);
        }
        live.observe(&fact);
        traces.observe(&fact);
    }
    traces.finish();
    live.finish(at(28_000));
    take(&mut traces, &live);
    assert!(!causes.is_empty() && causes.iter().all(|it| it == &["broker", "a"]), "{causes:?}");
}

/// `p1` has a gap before it first settles, one while its only member is stopped and one after that,
/// and one while its broker is lost; or a fault asked for the stop, and the broker is there.
fn stops(by_fault: bool) -> Story {
    let (mut story, who) = (Story::default(), "p1-1.1");
    story.started(who, 10).started("p2-1.1", 10).began(500, 1).settled("p1", 1_500);
    let spans = [[100, 1_000], [1_200, 2_980], [4_550, 6_000], [6_500, 9_000], [9_500, 12_000]];
    for (term, [from, until]) in (1..).zip(spans) {
        story.serves(who, 0, term, [from, until]);
        let (heard, end) = if term == 2 { (4_540, 3_500) } else { (until, until) };
        story.lapsed(who, heard, (0, term), end);
    }
    if by_fault {
        story.asked(who, 2_000, "1.z", "pause");
    }
    story.of(who, 2_990, RunEvent::NotYet).of(who, 3_000, RunEvent::Stopped);
    story.of(who, 4_490, RunEvent::NotYet).of(who, 4_500, RunEvent::Continued).settled("p1", 7_500);
    let (cluster, broker) = (|| name("a"), || "1 at h:9092".to_owned());
    if !by_fault {
        story.run(8_800, RunEvent::BrokerLost { cluster: cluster(), broker: broker() });
    }
    story.run(9_700, RunEvent::BrokerBack { cluster: cluster(), broker: broker() });
    story.serves("p2-1.1", 0, 1, [100, 12_000]).ended(11_000, 1).completed(11_500);
    story
}

#[test]
fn a_start_a_stop_and_a_lost_broker_are_causes() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let gaps = |by_fault| {
        spans_and_causes(
            &Timeline::compute(&plan, &stops(by_fault).facts).groups[&p1()].findings.gaps,
        )
    };
    let stop = || Cause::Stop(life("p1-1.1"));
    let from_outside = [
        (1_000, 1_200, Cause::Start),
        (2_990, 4_550, stop()),
        (6_000, 6_500, stop()),
        (9_000, 9_500, on_a()),
    ];
    assert_eq!(gaps(false), from_outside);
    let causes: Vec<_> = gaps(true).into_iter().map(|(_, _, cause)| cause).collect();
    let pause = || Cause::Fault(fault("1.z"));
    assert_eq!(causes, [Cause::Start, pause(), pause(), Cause::Nothing]);
}

#[test]
fn a_later_file_of_a_journal_knows_it_still() {
    files_agree(story(), [2_300, 5_000]);
    files_agree(stops(false), [4_600, 6_000]);
}

/// Every file of a journal has the causes of the whole; one begins between these instants.
fn files_agree(story: Story, [after, before]: [u64; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_apart(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let mut facts = story.facts;
    facts.sort_by_key(|fact| fact.t);
    let whole = folder.path().join("whole");
    record(&whole, &plan, &brief(&plan, 1, &[]), &facts);
    let header = read(&whole.join("journal.jsonl")).unwrap().header;
    let parts = folder.path().join("parts");
    fs::create_dir(&parts).unwrap();
    let bounds = Bounds { size: 20_000, files: 1_000 };
    let mut rolling = Rolling::create(&parts, header, bounds).unwrap();
    facts.iter().for_each(|fact| rolling.append(fact.t, fact));
    let whole = Timeline::compute(&plan, &facts);
    let mut between = 0;
    for (_, path) in list_parts(&parts).unwrap() {
        let part = read(&path).unwrap();
        let timeline = Timeline::compute(&plan, &part.facts);
        for trial in &timeline.record.trials {
            let window = trial.window;
            between += usize::from(at(after) < window.from && window.from < at(before));
            let cut = |gap: &Finding| {
                let span = gap.span.intersect(window);
                Finding { span, ..gap.clone() }
            };
            let all = |of: &Timeline| -> Vec<(Interval, Cause)> {
                let gaps = of.groups[&p1()].findings.gaps.iter().map(cut);
                let gaps = gaps.filter(|gap| !gap.span.is_empty());
                gaps.map(|gap| (gap.span, gap.cause)).collect()
            };
            assert_eq!(all(&timeline), all(&whole), "{}", path.display());
        }
    }
    assert!(between > 0, "a file begins between the accident and what came of it");
}

/// The only member of `p1` dies at 5 s; its next life serves from 6 s, and the group is settled at
/// 7.5 s.
fn death(ask: impl FnOnce(&mut Story)) -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p2-1.1", 10).settled("p1", 400).began(500, 1);
    story.serves("p1-1.1", 0, 1, [100, 5_000]).serves("p2-1.1", 0, 1, [100, 12_000]);
    ask(&mut story);
    story.died("p1-1.1", 5_000).started("p1-1.2", 5_500);
    story.serves("p1-1.2", 0, 1, [6_000, 12_000]);
    story.settled("p1", 7_500).ended(11_000, 1).completed(11_500);
    story
}

#[test]
fn an_unrequested_death_is_a_cause() {
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let cause = |ask: fn(&mut Story)| {
        let timeline = Timeline::compute(&plan, &death(ask).facts);
        let gaps = spans_and_causes(&timeline.groups[&p1()].findings.gaps);
        let [(_, 6_000, cause)] = gaps.as_slice() else { panic!("{gaps:?}") };
        cause.clone()
    };
    let by_itself = Cause::Death(life("p1-1.1"));
    assert_eq!(cause(|_| {}), by_itself);
    // A pause kills no process.
    let settled = |story: &mut Story| {
        story.asked("p1-1.1", 1_000, "1.z", "pause").settled("p1", 4_000);
    };
    assert_eq!(cause(settled), by_itself);
    let killed = |story: &mut Story| {
        story.asked("p1-1.1", 4_990, "1.k", "kill");
    };
    assert_eq!(cause(killed), Cause::Fault(fault("1.k")));
    let left = |story: &mut Story| {
        story.says("p1-1.1", 4_995, MemberEvent::Leaving);
    };
    assert_eq!(cause(left), Cause::Leave(life("p1-1.1")), "its end was to be expected");
}

#[test]
fn every_file_of_a_report_names_the_member_that_died() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let run = folder.path().join("run-1");
    record(&run, &plan, &brief(&plan, 1, &[]), &death(|_| {}).facts);
    let done = output(tandem(folder.path()).arg("report").arg(&run));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.contains("after the death of p1-1.1"), "{text}");
    assert!(text.contains("\n  death "), "a row of its own: {text}");
    let report = fs::read_to_string(run.join("result.json")).unwrap();
    let report: Report = serde_json::from_str(&report).unwrap();
    let p1 = &report.groups[&p1()];
    assert_eq!((p1.other.death.gap.count, p1.other.none.gap.count), (1, 0));
    let kept = report.objective.iter().find(|it| it.text.starts_with("leaders_per_group"));
    assert_eq!(kept.unwrap().outcome, Verdict::Fail, "an accident excuses nothing");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("<td>the death of p1-1.1</td>"));
    assert!(page.contains("the longest gap within one group lasted 1000\u{a0}ms (p1)"), "{page}");
}

/// One gap of each cause there is: whichever comes last must be in the sentence of the page.
#[test]
fn the_page_forgets_no_cause() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_apart(1, &[("p1", 1, 1), ("p2", 1, 1)]);
    let run = folder.path().join("run-2");
    let mut broker = story();
    // Only the gap after the broker's death lies in the trial.
    broker.facts.retain(|fact| !matches!(fact.what, What::Run(RunEvent::TrialEnded { .. })));
    broker.ended(8_000, 1);
    record(&run, &plan, &brief(&plan, 1, &[]), &broker.facts);
    output(tandem(folder.path()).arg("report").arg(&run));
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("the longest gap within one group lasted 1000\u{a0}ms (p1)"), "{page}");
    assert!(!page.contains("no group had a gap"), "{page}");
}
