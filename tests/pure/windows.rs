//! An endless run, cut into windows: together they agree with the timeline of the whole run, for
//! any history and for late facts; log records point to them; memory is bounded; and missed facts
//! are unknown, never wrong.

mod found;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use proptest::prelude::*;
use support::cases::cases;
use support::facts::{Story, at, plan};
use support::recorded::{ZERO_WALL, up};
use support::windowed::{records_lead, shown, wall, windows, windows_agree};
use tandem::ids::{Life, MemberId, TrialNumber};
use tandem::live::Live;
use tandem::observation::{Fact, MemberEvent, Outcome, RunEvent, What};
use tandem::telemetry::{RunContext, WindowTrace, WindowTraces};
use tandem::time::{Mono, Span as Length};
use tandem::timeline::{Interval, Timeline};
use tandem::topology::Plan;

fn of_fault(fact: &Fact) -> bool {
    matches!(fact.what, What::Run(RunEvent::FaultAsked { .. } | RunEvent::FaultFailed { .. }))
}

/// A topology that is kept up has no injected faults, and no running member is started.
fn undisturbed(facts: Vec<Fact>) -> Vec<Fact> {
    let (mut all, own): (Vec<_>, Vec<_>) =
        facts.into_iter().partition(|fact| fact.what.is_by_member());
    let mut living: BTreeMap<MemberId, Life> = BTreeMap::new();
    let mut seq = 0;
    for fact in own.into_iter().filter(|fact| !of_fault(fact)) {
        let mut push = |fact: Fact| {
            seq += 1;
            all.push(Fact { seq, ..fact });
        };
        let life = fact.life.clone();
        match (&fact.what, life) {
            (What::Run(RunEvent::Started { .. }), Some(life)) => {
                if let Some(before) = living.insert(life.member.clone(), life) {
                    let what = What::Run(RunEvent::Died { signal: Some(9), status: None });
                    push(Fact { t: fact.t, seq: 0, life: Some(before), what });
                }
            }
            (What::Run(RunEvent::Died { .. }), Some(life)) => drop(living.remove(&life.member)),
            _ => {}
        }
        push(fact);
    }
    all
}

/// Each fact with when it comes, in that order; those of one author keep theirs.
fn arrivals(facts: &[Fact], mut delay: impl FnMut() -> Duration) -> Vec<(Mono, Arc<Fact>)> {
    let mut latest: BTreeMap<Option<Life>, Mono> = BTreeMap::new();
    let mut all = Vec::new();
    for fact in facts {
        let author = if fact.what.is_by_member() { fact.life.clone() } else { None };
        let before = latest.entry(author).or_insert(Mono::ZERO);
        *before = (fact.t + delay()).max(*before);
        all.push((*before, Arc::new(fact.clone())));
    }
    all.sort_by_key(|(arrival, _)| *arrival);
    all
}

/// What comes of facts.
struct Cut {
    traces: Vec<WindowTrace>,
    own: Span,
    records: Vec<LogRecord>,
}

impl Cut {
    fn spans(&self) -> Vec<Span> {
        let windows = self.traces.iter().flat_map(|trace| trace.spans.clone());
        windows.chain([self.own.clone()]).collect()
    }
}

/// What comes of facts as they come: those of which `is_missed` says so do not.
fn cut(
    plan: &Plan,
    length: Duration,
    arrivals: &[(Mono, Arc<Fact>)],
    is_missed: impl Fn(Mono) -> bool,
) -> Cut {
    let header = up(plan);
    let mut traces = WindowTraces::new(&header, RunContext::of(&header), length);
    let mut live = Live::new(plan);
    let (mut cut, mut records) = (Vec::new(), Vec::new());
    let mut now = arrivals.first().map_or(Mono::ZERO, |(arrival, _)| *arrival);
    for (arrival, fact) in arrivals {
        while let Some(next) = live.poll_timeout().filter(|next| next <= arrival) {
            now = now.max(next);
            live.handle_timeout(now);
            traces.handle_timeout(now);
            cut.extend(std::iter::from_fn(|| traces.poll_trace(&live.finality())));
        }
        if is_missed(*arrival) {
            traces.miss(1);
        } else {
            live.observe(fact);
            traces.observe(fact);
            records.extend(traces.record(fact));
        }
    }
    traces.finish();
    live.finish(now + Duration::from_secs(1));
    cut.extend(std::iter::from_fn(|| traces.poll_trace(&live.finality())));
    Cut { traces: cut, own: traces.own(), records }
}

/// Asserts that windows of this length agree with the whole timeline. Returns the number of gaps.
fn agrees(plan: &Plan, facts: &[Fact], length: u64, delay: impl FnMut() -> Duration) -> usize {
    let length = Duration::from_millis(length);
    let cut = cut(plan, length, &arrivals(facts, delay), |_| false);
    let timeline = Timeline::compute(plan, facts);
    let [trial] = timeline.record.trials[..] else { panic!("{:?}", timeline.record.trials) };
    let spans = cut.spans();
    let roots = windows(&spans);
    let wanted = trial.window.length().as_nanos().div_ceil(length.as_nanos());
    assert_eq!(roots.len(), usize::try_from(wanted).unwrap());
    assert!(cut.traces.iter().all(|trace| !trace.cut_short));
    records_lead(&spans, &cut.records);
    windows_agree(&up(plan), &timeline, trial.window, &spans)
}

proptest! {
    #![proptest_config(cases(0x5EED_0029, 256))]

    #[test]
    fn windows_add_up_to_what_the_timeline_says_of_the_whole(
        numbers in prop::collection::vec(0u32..1_000_000, 0..700),
        delays in prop::collection::vec(0u64..450, 1..200),
        length in 700u64..9_000,
    ) {
        found::agrees_by_chance(numbers, delays, length);
    }
}

/// One group of two, one partition: the first leads, dies at 12 s, and the second follows two and a
/// half seconds later.
fn takeover() -> (Plan, Story) {
    let plan = plan(1, &[("p1", 1, 2)]);
    let mut story = Story::default();
    story.started("p1-1.1", 1).started("p1-2.1", 1);
    story.serves("p1-1.1", 0, 1, [100, 12_000]).died("p1-1.1", 12_000);
    story.started("p1-1.2", 14_000).serves("p1-2.1", 0, 1, [14_500, 30_000]);
    (plan, story)
}

/// The end of the first claim is lost, and the second ends; then it says nothing more.
#[test]
fn a_claim_whose_end_was_lost_is_carried_beside_a_later_one() {
    let plan = plan(1, &[("p1", 1, 2)]);
    let mut story = Story::default();
    story.started("p1-1.1", 1).claimed("p1-1.1", 0, 1, [600, 2_000]);
    story.ticks("p1-1.1", &[0], [600, 900]).lose(Some("p1-1.1"));
    story.claimed("p1-1.1", 0, 2, [1_000, 2_000]).lapsed("p1-1.1", 1_100, (0, 2), 1_050);
    agrees(&plan, &facts_of(&story, 30_000), 4_500, || Duration::from_millis(40));
}

/// What a life says may arrive before the start of the life before it does.
#[test]
fn a_life_that_speaks_before_an_earlier_one_is_known_to_begin_is_carried() {
    let plan = plan(1, &[("p1", 1, 2)]);
    let mut story = Story::default();
    story.started("p1-1.1", 1).died("p1-1.1", 2).started("p1-1.2", 3);
    // It claims, and says nothing more: whether it leads is unknown.
    story.claimed("p1-1.2", 0, 1, [4, 2_000]);
    let mut delays = [300].into_iter().chain(std::iter::repeat(0)).map(Duration::from_millis);
    assert_eq!(agrees(&plan, &facts_of(&story, 30_000), 700, || delays.next().unwrap()), 0);
}

fn in_order(mut facts: Vec<Fact>) -> Vec<Fact> {
    facts.sort_by_key(|fact| fact.t);
    facts
}

/// The facts of a story that is judged from half a second on, until the end.
fn facts_of(story: &Story, end: u64) -> Vec<Fact> {
    let mut own: Vec<Fact> = story.facts.clone();
    let run = |ms, event| Fact { t: at(ms), seq: 0, life: None, what: What::Run(event) };
    let trial = TrialNumber(1);
    own.push(run(500, RunEvent::TrialBegan { trial }));
    own.push(run(end, RunEvent::TrialEnded { trial, recovered: Some(true) }));
    let (mut members, mut own): (Vec<_>, Vec<_>) =
        in_order(own).into_iter().partition(|fact| fact.what.is_by_member());
    (1..).zip(&mut own).for_each(|(seq, fact)| fact.seq = seq);
    members.extend(own);
    in_order(members)
}

/// The run is over, says the last fact.
fn ends(facts: &mut Vec<Fact>, ms: u64) {
    let own = facts.iter().filter(|fact| !fact.what.is_by_member());
    let seq = own.map(|fact| fact.seq).max().unwrap() + 1;
    let what = What::Run(RunEvent::Ended { how: Outcome::Completed, why: None });
    facts.push(Fact { t: at(ms), seq, life: None, what });
}

#[test]
fn a_gap_that_reaches_over_a_border_stands_in_both_windows() {
    let (mut plan, story) = takeover();
    plan.objective.group_gap = Some(Length::ms(2_000));
    let facts = facts_of(&story, 30_000);
    assert_eq!(agrees(&plan, &facts, 4_500, || Duration::from_millis(40)), 2);
    let arrivals = arrivals(&facts, || Duration::ZERO);
    let spans = cut(&plan, Duration::from_millis(4_500), &arrivals, |_| false).spans();
    let of_group =
        |span: &&Span| span.name == "leadership.gap" && shown(span, "neli.scope") == "group";
    let gaps: Vec<&Span> = spans.iter().filter(of_group).collect();
    let header = up(&plan);
    let when = |gap: &&Span| [gap.start_time_unix_nano, gap.end_time_unix_nano];
    // The third window ends half a second later: 500 ms and three times 4.5 s.
    let borders = [[12_000, 14_000], [14_000, 14_500]];
    let wanted = borders.map(|span| span.map(|ms| wall(&header, at(ms))));
    assert_eq!(gaps.iter().map(when).collect::<Vec<_>>(), wanted);
    let cut = |gap: &&Span| {
        ["neli.began_before", "neli.goes_on", "neli.censored"].map(|key| shown(gap, key) == "true")
    };
    let cuts: Vec<_> = gaps.iter().map(cut).collect();
    assert_eq!(cuts, [[false, true, false], [true, false, false]]);
    // Neither part alone is too long; both together are.
    let said = |span: &&Span| span.status.clone().unwrap().message;
    let said: Vec<_> = gaps.iter().map(said).collect();
    assert_eq!(said, ["", "2s 500ms, and group_gap allows 2s"]);
    let roots: Vec<_> = windows(&spans).iter().map(|root| shown(root, "neli.gaps")).collect();
    assert_eq!(roots, ["0", "0", "1", "1", "0", "0", "0"]);
}

/// What lies between these instants, in milliseconds, was missed.
fn is_missed([from, until]: [u64; 2]) -> impl Fn(Mono) -> bool {
    move |arrival| at(from) < arrival && arrival < at(until)
}

/// All known intervals of one name, in milliseconds; cut intervals are in pieces.
fn sure(spans: &[Span], name: &str, unknown: bool) -> Vec<[u64; 2]> {
    let zero = u64::try_from(ZERO_WALL.0).unwrap();
    let wanted = |span: &&Span| {
        let is = shown(span, "neli.unknown") == unknown.to_string();
        span.name == name && shown(span, "neli.scope") == "group" && is
    };
    let ms = |span: &Span| {
        [span.start_time_unix_nano, span.end_time_unix_nano].map(|ns| ns / 1_000_000 - zero)
    };
    let mut found: Vec<_> = spans.iter().filter(wanted).map(ms).collect();
    found.sort_unstable();
    found
}

#[test]
fn missed_facts_are_unknown_and_not_wrong() {
    let (plan, who) = (plan(1, &[("p1", 1, 2)]), "p1-2.1");
    let mut story = Story::default();
    story.started("p1-1.1", 1).started(who, 1).serves(who, 0, 1, [100, 9_000]);
    story.of(who, 9_000, RunEvent::Stopped).of(who, 9_500, RunEvent::Continued);
    story.serves(who, 0, 2, [9_500, 30_000]);
    let facts = facts_of(&story, 30_000);
    let arrivals = arrivals(&facts, || Duration::ZERO);
    let length = Duration::from_secs(4);
    let of = |missed: [u64; 2]| cut(&plan, length, &arrivals, is_missed(missed)).spans();
    // Nothing is missed: the stop is a gap.
    let whole = of([0, 0]);
    assert_eq!(sure(&whole, "leadership.gap", false), [[9_000, 9_500]]);
    assert_eq!(sure(&whole, "leadership.gap", true), [[0; 2]; 0]);
    // All of the stop is: there is no sure gap, and the time is unknown.
    let spans = of([8_800, 9_900]);
    assert_eq!(sure(&spans, "leadership.gap", false), [[0; 2]; 0]);
    let unknown = sure(&spans, "leadership.gap", true);
    assert!(unknown[0][0] <= 8_800 && unknown.iter().any(|one| one[1] >= 9_900), "{unknown:?}");
    let roots = windows(&spans);
    let missed: Vec<u64> =
        roots.iter().map(|root| shown(root, "neli.window.missed_facts").parse().unwrap()).collect();
    assert!(missed.iter().sum::<u64>() > 20 && missed.last() == Some(&0), "{missed:?}");
    // That it went on is: who speaks is not stopped, and leads again soon.
    let spans = of([9_200, 9_900]);
    let (gaps, unknown) =
        (sure(&spans, "leadership.gap", false), sure(&spans, "leadership.gap", true));
    assert!(gaps.iter().all(|gap| gap[0] >= 8_500 && gap[1] <= 9_500), "{gaps:?}");
    let last = unknown.iter().map(|one| one[1]).max().unwrap();
    assert!((9_900..11_500).contains(&last), "{unknown:?}");
}

#[test]
fn a_member_started_while_facts_were_missed_is_known_from_its_own_facts() {
    let plan = plan(1, &[("p1", 1, 2)]);
    let mut story = Story::default();
    story.started("p1-1.1", 1).started("p1-2.1", 1).serves("p1-1.1", 0, 1, [100, 5_000]);
    // It dies, is started again and leads, and only that it leads is heard.
    story.died("p1-1.1", 5_000).started("p1-1.2", 5_200).serves("p1-1.2", 0, 1, [5_300, 30_000]);
    let facts = facts_of(&story, 30_000);
    let arrivals = arrivals(&facts, || Duration::ZERO);
    let spans = cut(&plan, Duration::from_secs(3), &arrivals, is_missed([4_900, 6_000])).spans();
    assert_eq!(sure(&spans, "leadership.gap", false), [[0; 2]; 0]);
    assert_eq!(sure(&spans, "leadership.overlap", false), [[0; 2]; 0]);
    let until = |name| sure(&spans, name, true).iter().map(|one| one[1]).max().unwrap();
    assert!(until("leadership.gap") < 7_000);
    // Whether its first life goes on is not known, until only what it said last is remembered.
    assert!(until("leadership.overlap") <= 18_500);
}

#[test]
fn a_window_in_which_too_much_happens_ends_early_and_nothing_is_lost() {
    let plan = plan(1, &[("p1", 1, 2)]);
    let (mut story, who) = (Story::default(), "p1-1.1");
    story.started(who, 1).started("p1-2.1", 1).claimed(who, 0, 1, [10, 500_000]);
    for ms in 10..170_000 {
        let (from, until) = (at(10), at(ms));
        let partitions = vec![tandem::ids::PartitionId(0)];
        story.says(who, ms, MemberEvent::Ticks { partitions, from, until });
    }
    story.died(who, 170_000).serves("p1-2.1", 0, 1, [171_000, 172_000]);
    let facts = facts_of(&story, 172_000);
    let hour = Duration::from_secs(3_600);
    let cut = cut(&plan, hour, &arrivals(&facts, || Duration::ZERO), |_| false);
    let cuts: Vec<bool> = cut.traces.iter().map(|trace| trace.cut_short).collect();
    assert_eq!(cuts, [true, false]);
    let spans = cut.spans();
    let attributes = windows(&spans).into_iter().map(|root| shown(root, "neli.window.cut_short"));
    assert_eq!(attributes.collect::<Vec<_>>(), ["true", "false"]);
    let timeline = Timeline::compute(&plan, &facts);
    let judged = Interval::new(at(500), at(172_000));
    assert_eq!(windows_agree(&up(&plan), &timeline, judged, &spans), 2);
    assert_eq!(led(&cut, &spans), [0, 0, 1, 2, 2]);
}

/// The window of each record, in order; none is 0.
fn led(cut: &Cut, spans: &[Span]) -> Vec<u64> {
    let root = |record: &LogRecord| {
        let of = |root: &&Span| root.span_id == record.span_id && root.trace_id == record.trace_id;
        spans.iter().find(of).map_or(0, |root| shown(root, "neli.window").parse().unwrap_or(0))
    };
    records_lead(spans, &cut.records);
    cut.records.iter().map(root).collect()
}

#[test]
fn a_record_leads_to_the_window_in_which_it_happened() {
    let (plan, who) = (plan(1, &[("p1", 1, 2)]), "p1-2.1");
    let mut story = Story::default();
    story.started("p1-1.1", 1).serves("p1-1.1", 0, 1, [100, 30_000]);
    // Windows begin at 500, 4,500 and so on.
    story.started(who, 501).of(who, 4_499, RunEvent::Stopped).of(who, 4_500, RunEvent::Continued);
    story.of(who, 28_500, RunEvent::Stopped).died(who, 30_000);
    let mut facts = facts_of(&story, 30_000);
    ends(&mut facts, 30_001);
    // However late it is heard of.
    for late in [0, 300, 3_000] {
        let arrivals = arrivals(&facts, || Duration::from_millis(late));
        let cut = cut(&plan, Duration::from_secs(4), &arrivals, |_| false);
        let names = cut.records.iter().map(|record| record.event_name.as_str());
        let found: Vec<_> = names.zip(led(&cut, &cut.spans())).collect();
        let wanted = [
            ("member.started", 0),
            ("trial.began", 1),
            ("member.started", 1),
            ("member.stopped", 1),
            ("member.continued", 2),
            ("member.stopped", 8),
            ("member.died", 8),
            ("trial.ended", 8),
            ("run.ended", 0),
        ];
        assert_eq!(found, wanted, "{late} ms late");
    }
}

#[test]
fn the_runs_own_span_is_that_of_its_export() {
    let (plan, story) = takeover();
    let mut facts = facts_of(&story, 30_000);
    ends(&mut facts, 30_700);
    let arrivals = arrivals(&facts, || Duration::ZERO);
    let cut = cut(&plan, Duration::from_secs(7), &arrivals, |_| false);
    let (header, timeline) = (up(&plan), Timeline::compute(&plan, &facts));
    let exported =
        tandem::telemetry::Traces::of(&header, RunContext::of(&header), timeline, at(30_700));
    assert_eq!(exported.get(0).collect::<Vec<_>>(), [cut.own]);
    // Nothing else has an id in common.
    let ours: Vec<_> =
        cut.traces.iter().flat_map(|trace| &trace.spans).map(|it| &it.trace_id).collect();
    assert!(ours.iter().all(|id| exported.iter().flatten().all(|span| span.trace_id != **id)));
}
