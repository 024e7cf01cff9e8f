//! A host that is suspended: claims end, the time is unknown, and no verdict passes over it.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, eventually, output, tandem};
use support::facts::{Story, at, brief, plan};
use support::suspended::Sleep;
use support::up::{Up, nothing_is_left};
use tandem::ids::{Life, PartitionId, Term, TrialNumber};
use tandem::live_view::Level;
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Interval, Timeline};
use tandem::verdict::{Report, Tail, Verdict};

const HOUR: Duration = Duration::from_secs(3_600);
/// The controller looks at its clocks more often.
const LOOKED: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(60);
/// No host that runs them keeps members from leading on. An hour is longer than a claim all the
/// same.
const SOLO: &str =
    "-f topologies/solo.yaml --set defaults.session=30s --set defaults.heartbeat=300ms";

/// A member serves, and the host sleeps for a minute in between.
fn slept(story: &mut Story) {
    story.started("p1-1.1", 0).began(1_000, 1).serves("p1-1.1", 0, 1, [500, 5_000]);
    story.run(65_000, RunEvent::Suspended { from: at(5_000), until: at(65_000) });
    story.lapsed("p1-1.1", 65_010, (0, 1), 8_000);
    story.serves("p1-1.1", 0, 2, [65_010, 70_000]);
}

#[test]
fn the_time_of_a_suspend_is_unknown_and_no_verdict_passes_over_it() {
    let plan = plan(1, &[("p1", 1, 1)]);
    let mut story = Story::default();
    slept(&mut story);
    story.settled("p1", 66_500).ended(69_000, 1).completed(70_000);
    let timeline = Timeline::compute(&plan, &story.facts);
    let unknown = timeline.groups.values().next().unwrap().findings.unknown();
    let suspended = Interval::new(at(5_000), at(65_000));
    assert!(unknown.iter().any(|one| one.intersect(suspended) == suspended), "{unknown:?}");
    let brief = brief(&plan, 1, &[]);
    let report = Report::compute(&plan, &brief, 1, Mono::ZERO, &story.facts);
    assert_eq!(report.verdict, Verdict::Unknown, "{:?}", report.reasons);
    let reason = "The host was suspended for 1m: nothing is known of that time.";
    assert!(report.reasons.iter().any(|why| why == reason), "{:?}", report.reasons);
    // Without that fact nothing is said of a suspend.
    let awake: Vec<Fact> = story.facts.iter().filter(|fact| !is_suspend(fact)).cloned().collect();
    let report = Report::compute(&plan, &brief, 1, Mono::ZERO, &awake);
    assert!(report.reasons.iter().all(|why| why != reason), "{:?}", report.reasons);
}

#[test]
fn a_topology_that_is_kept_up_reports_a_suspend_as_well() {
    let plan = plan(1, &[("p1", 1, 1)]);
    let (mut awake, mut asleep) = (Story::default(), Story::default());
    awake.started("p1-1.1", 0).began(1_000, 1).serves("p1-1.1", 0, 1, [500, 70_000]);
    slept(&mut asleep);
    let verdict_of = |mut story: Story| {
        let trial = TrialNumber(1);
        story.run(69_000, RunEvent::TrialEnded { trial, recovered: None }).completed(70_000);
        let timeline = Timeline::compute(&plan, &story.facts);
        let judged = (&plan, &brief(&plan, 1, &[]));
        Report::of_upkeep(judged, (1, Mono::ZERO), &timeline, Tail::Last, Vec::new())
    };
    let (awake, asleep) = (verdict_of(awake), verdict_of(asleep));
    let why = "The host was suspended for 1m: nothing is known of that time.";
    assert_eq!(asleep.verdict, Verdict::Unknown, "{:?}", asleep.reasons);
    assert!(asleep.reasons.iter().any(|one| one == why), "{:?}", asleep.reasons);
    assert!(awake.reasons.iter().all(|one| one != why), "{:?}", awake.reasons);
}

#[test]
fn a_suspend_between_trials_says_nothing_about_them() {
    let plan = plan(1, &[("p1", 1, 1)]);
    let mut story = Story::default();
    story.started("p1-1.1", 0).serves("p1-1.1", 0, 1, [500, 5_000]);
    story.began(1_000, 1).ended(4_000, 1);
    story.run(65_000, RunEvent::Suspended { from: at(5_000), until: at(65_000) }).completed(65_100);
    let report = Report::compute(&plan, &brief(&plan, 1, &[]), 1, Mono::ZERO, &story.facts);
    assert!(report.reasons.iter().all(|why| !why.contains("suspended")), "{:?}", report.reasons);
}

#[test]
fn facts_that_were_not_written_make_a_run_unknown() {
    let plan = plan(1, &[("p1", 1, 1)]);
    let mut story = Story::default();
    story.started("p1-1.1", 0).serves("p1-1.1", 0, 1, [500, 5_000]).began(1_000, 1);
    let (from, until) = (at(2_000), at(3_000));
    story.run(3_000, RunEvent::Unwritten { from, until, facts: 12 });
    story.ended(4_000, 1).completed(4_500);
    let report = Report::compute(&plan, &brief(&plan, 1, &[]), 1, Mono::ZERO, &story.facts);
    assert_eq!(report.verdict, Verdict::Unknown, "{:?}", report.reasons);
    assert!(report.unknown_ms >= 1_000.0, "{}", report.unknown_ms);
    let reason = "The disk did not take 12 facts: what happened within 1s is unknown.";
    assert!(report.reasons.iter().any(|why| why == reason), "{:?}", report.reasons);
}

fn is_suspend(fact: &Fact) -> bool {
    matches!(fact.what, What::Run(RunEvent::Suspended { .. }))
}

/// The suspends that were noted.
fn suspends(facts: &[Fact]) -> Vec<Interval> {
    let span = |fact: &Fact| match fact.what {
        What::Run(RunEvent::Suspended { from, until }) => Some(Interval::new(from, until)),
        _ => None,
    };
    facts.iter().filter_map(span).collect()
}

/// No claim that was made before a suspend reaches to its end: when it ended, as members say.
fn no_claim_outlives(facts: &[Fact], suspend: Interval) {
    let mut claims: BTreeMap<(&Life, PartitionId, Term), Mono> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact.t < suspend.from) {
        let Some(life) = &fact.life else { continue };
        if let What::Member(MemberEvent::Claimed { partition, term, until, .. }) = &fact.what {
            claims.insert((life, *partition, *term), *until);
        }
        if let What::Member(MemberEvent::Renewed { claims: all }) = &fact.what {
            claims.extend(all.iter().map(|one| ((life, one.partition, one.term), one.until)));
        }
    }
    assert!(claims.values().all(|until| *until < suspend.until), "{claims:?}");
    let led = claims.values().any(|until| *until > suspend.from);
    assert!(led, "no member led at {suspend:?}: {claims:?}, {} facts", facts.len());
    for fact in facts.iter().filter(|fact| fact.t >= suspend.until) {
        let Some(life) = &fact.life else { continue };
        if let What::Member(MemberEvent::Lapsed { partition, term, at, .. }) = &fact.what
            && claims.contains_key(&(life, *partition, *term))
        {
            assert!(*at < suspend.until, "{fact:?}");
        }
        if let What::Member(MemberEvent::Renewed { claims: all }) = &fact.what {
            let kept = all.iter().any(|it| claims.contains_key(&(life, it.partition, it.term)));
            assert!(!kept, "a claim of before goes on: {fact:?}");
        }
    }
}

#[test]
fn a_run_on_a_host_that_sleeps_for_an_hour_is_unknown() {
    // It claims nothing of its own, so that nothing but the suspend is against it.
    let text = "version: 1\nname: sleep\nobjective: {leaders_per_group: 0}\n\
                recover: {within: 2m}\nmethod:\n  - {id: nothing, fault: noop, for: 12s}\n";
    let order = Experiment::of("sleep.yaml", text).with(SOLO).with("--trials 1");
    let mut sleep = Sleep::none(order.folder.path());
    let (name, value) = sleep.variable();
    let run = order.set(name, value).start();
    let began = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
    run.await_facts("a trial", |facts| {
        (facts.iter().any(began) && was_seen_to_lead(facts)).then_some(())
    });
    sleep.sleep(HOUR); // clock: simulated, it takes no time
    let run = run.finish();
    let facts = run.recording().facts;
    let suspends = suspends(&facts);
    assert_eq!(suspends.len(), 1, "{suspends:?}\n{run}");
    assert!(suspends[0].length() >= HOUR, "{suspends:?}");
    // It begins and ends with a look at the clocks.
    assert!(suspends[0].length() < HOUR + SOON, "{suspends:?}");
    no_claim_outlives(&facts, suspends[0]);
    let report = run.report();
    assert_eq!((run.code(), report.verdict), (Some(4), Verdict::Unknown), "{run}");
    assert!(report.unknown_ms >= 3_600_000.0, "{run}");
    assert!(run.stdout.contains("The host was suspended for 1h"), "{run}");
}

/// Whether a member has led since the last suspend, and for so long that the controller has looked
/// at its clocks meanwhile: what it saw last is where a suspend begins.
fn was_seen_to_lead(facts: &[Fact]) -> bool {
    // It may be led again before the controller looks.
    let since = suspends(facts).last().map_or(Mono::ZERO, |last| last.from + HOUR);
    let mut claims =
        facts.iter().filter(|fact| matches!(fact.what, What::Member(MemberEvent::Claimed { .. })));
    let Some(claim) = claims.find(|fact| fact.t > since) else { return false };
    facts.iter().any(|fact| fact.t > claim.t + LOOKED)
}

#[test]
fn a_topology_goes_on_after_each_suspend() {
    let folder = tempfile::tempdir().unwrap();
    let mut sleep = Sleep::none(folder.path());
    let mut up = Up::start_with(SOLO, &[sleep.variable()]);
    for count in 1..=2 {
        up.await_health(Level::Led);
        // What is judged begins once all is led, and is to be on the disk.
        eventually("a trial that is judged", SOON, || {
            let facts = up.recording().facts;
            let began = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. }));
            (facts.iter().any(began) && was_seen_to_lead(&facts)).then_some(())
        });
        sleep.sleep(HOUR); // clock: simulated, it takes no time
        eventually("a suspend that is noted", SOON, || {
            let noted = suspends(&up.recording().facts).len();
            (noted == count && up.status().1.is_some()).then_some(())
        });
    }
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let facts = up.recording().facts;
    assert_eq!(suspends(&facts).len(), 2, "{:?}", suspends(&facts));
    for suspend in suspends(&facts) {
        assert!(suspend.length() >= HOUR, "{suspend:?}");
        no_claim_outlives(&facts, suspend);
    }
    let again = output(tandem(up.state()).arg("report").arg(&up.out).args(["-o", "json"]));
    let report: Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_ne!(report.verdict, Verdict::Pass, "{:?}", report.reasons);
    assert!(report.unknown_ms >= 7_200_000.0, "{}", report.unknown_ms);
    let reasons = report.reasons.iter().filter(|why| why.contains("was suspended for 1h"));
    assert_eq!(reasons.count(), 2, "{:?}", report.reasons);
    nothing_is_left(up.state());
}
