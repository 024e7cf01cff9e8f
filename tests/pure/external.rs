//! Members that the run did not start: what their silence and their clock mean for the judgement,
//! and how their letters are put together. What has not arrived is unknown, never a gap.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use support::facts::{Story, at, life, name, plan};
use support::watched::{Found, drive, found, judged};
use tandem::external::{Collated, Collation, Letter, Origin, Reading, Standing};
use tandem::ids::Life;
use tandem::observation::{ClockDomain, External, Fact, MemberEvent, RunEvent, What};
use tandem::time::{Mono, Wall};
use tandem::timeline::Interval;

fn clock(boot: &str) -> ClockDomain {
    ClockDomain { boot: boot.to_owned(), time_namespace: 4 }
}

pub(super) fn outside(same_clock: bool) -> RunEvent {
    let error_ns = None;
    let external = External { group: name("p1"), clock: clock("here"), same_clock, error_ns };
    RunEvent::Started { pid: 1, external: Some(external) }
}

/// It claims nothing, and says so.
pub(super) fn idles(story: &mut Story, who: &str, [from, until]: [u64; 2]) {
    for ms in (from..until).step_by(100) {
        story.renewed(who, ms, &[]);
    }
}

/// What both find of the only role in the only group, up to `end`; they must agree.
fn both(story: &Story, end: u64) -> Found {
    // The plan names no member.
    let plan = plan(1, &[("p1", 1, 0)]);
    let (live, events) = drive(&plan, &story.facts, at(end), || Duration::from_millis(150));
    let key = (Some(name("p1")), 0);
    let found = Found { takeovers: Vec::new(), ..found(&plan, &live, &events)[&key].clone() };
    let judged =
        Found { takeovers: Vec::new(), ..judged(&plan, &story.facts, at(end))[&key].clone() };
    assert_eq!(found, judged);
    found
}

/// The first leads until it dies, the second stands by.
fn pair() -> Story {
    let mut story = Story::default();
    story.of("p1-a.1", 90, outside(true)).serves("p1-a.1", 0, 1, [100, 5_000]);
    story.of("p1-b.1", 200, outside(true));
    story
}

#[test]
fn a_gap_between_two_such_members_is_exact() {
    let mut story = pair();
    story.died("p1-a.1", 5_000);
    idles(&mut story, "p1-b.1", [200, 5_900]);
    story.serves("p1-b.1", 0, 1, [5_900, 9_000]);
    let found = both(&story, 8_500);
    assert_eq!(found.gaps, [Interval::new(at(5_000), at(5_900))]);
    assert_eq!((found.unavailable, found.unknown), (Duration::from_millis(900), Duration::ZERO));
}

#[test]
fn while_a_member_is_silent_there_may_be_no_gap() {
    let mut story = pair();
    story.died("p1-a.1", 5_000);
    // It may do anything since then: no fact of it arrives.
    idles(&mut story, "p1-b.1", [200, 4_000]);
    let found = both(&story, 20_000);
    assert_eq!((found.gaps, found.unavailable), (Vec::new(), Duration::ZERO));
    assert_eq!(found.unknown, Duration::from_secs(15), "from the death of the first on");
}

#[test]
fn a_member_that_dies_in_silence_is_unknown_since_its_last_word() {
    let mut story = pair();
    // Its witness is gone as well; the next life of its name says that it is dead.
    story.died("p1-a.1", 7_000);
    idles(&mut story, "p1-b.1", [200, 7_500]);
    story.serves("p1-b.1", 0, 1, [7_500, 9_000]);
    let found = both(&story, 8_500);
    assert_eq!(found.gaps, [Interval::new(at(7_000), at(7_500))]);
    // It ticked until 5,000, and 100 ms without a tick count as served.
    assert_eq!(found.unknown, Duration::from_millis(2_000));
}

#[test]
fn of_another_clock_nothing_is_known() {
    let mut story = pair();
    story.died("p1-a.1", 5_000);
    idles(&mut story, "p1-b.1", [200, 9_000]);
    story.of("p1-c.1", 3_000, outside(false)).died("p1-c.1", 6_000);
    let found = both(&story, 8_500);
    assert_eq!(found.gaps, [Interval::new(at(6_000), at(8_500))], "the other one may have led");
    assert_eq!(found.unknown, Duration::from_secs(1));
}

/// Of another clock, and compared to within so many milliseconds.
fn compared(error_ms: u64) -> RunEvent {
    let clock = clock("there");
    let external = External {
        group: name("p1"),
        clock,
        same_clock: false,
        error_ns: Some(error_ms * 1_000_000),
    };
    RunEvent::Started { pid: 1, external: Some(external) }
}

#[test]
fn a_gap_is_shorter_by_the_errors_of_its_ends_and_these_are_unknown() {
    for (error, gap) in [(5, Some([5_005, 5_895])), (50, Some([5_050, 5_850]))] {
        let mut story = Story::default();
        story.of("p1-a.1", 90, compared(error)).serves("p1-a.1", 0, 1, [100, 5_000]);
        story.died("p1-a.1", 5_000).of("p1-b.1", 200, compared(error));
        idles(&mut story, "p1-b.1", [200, 5_900]);
        story.serves("p1-b.1", 0, 1, [5_900, 9_000]);
        let found = both(&story, 8_500);
        let gaps: Vec<_> =
            gap.into_iter().map(|[from, until]| Interval::new(at(from), at(until))).collect();
        assert_eq!(found.gaps, gaps);
        assert_eq!(found.unknown, Duration::from_millis(4 * error));
    }
}

#[test]
fn a_gap_below_the_error_is_unknown() {
    let mut story = Story::default();
    story.of("p1-a.1", 90, compared(40)).serves("p1-a.1", 0, 1, [100, 5_000]);
    story.died("p1-a.1", 5_000).of("p1-b.1", 200, compared(30));
    idles(&mut story, "p1-b.1", [200, 5_070]);
    story.serves("p1-b.1", 0, 1, [5_070, 9_000]);
    let found = both(&story, 8_500);
    assert_eq!(found.gaps, []);
    assert_eq!(found.unknown, Duration::from_millis(140), "from 4,960 to 5,100");
}

#[test]
fn a_life_whose_clock_is_compared_later_is_unknown_before() {
    let mut story = pair();
    story.died("p1-a.1", 5_000);
    idles(&mut story, "p1-b.1", [200, 9_000]);
    story.of("p1-c.1", 3_000, outside(false)).of("p1-c.1", 6_000, compared(10));
    idles(&mut story, "p1-c.1", [6_000, 9_000]);
    let found = both(&story, 8_500);
    // It may have led before, and for 10 ms more.
    assert_eq!(found.gaps, [Interval::new(at(6_010), at(8_500))]);
    assert_eq!(found.unknown, Duration::from_millis(1_010));
}

fn origin(who: &str, boot: &str) -> Origin {
    let (life, clock) = (life(who), clock(boot));
    Origin { group: name("p1"), life, pid: 9, began: Mono(50), clock }
}

fn facts(who: &str, numbers: impl IntoIterator<Item = u64>) -> Vec<Fact> {
    let of = life(who);
    let one = |seq| Fact {
        t: Mono(seq),
        seq,
        life: Some(of.clone()),
        what: What::Member(MemberEvent::Connected),
    };
    numbers.into_iter().map(one).collect()
}

const READING: Reading =
    Reading { broker: 2, sent: Mono(5), acked: Mono(9), stamp: Wall(1_700_000_000_000) };

fn letter(who: &str, numbers: impl IntoIterator<Item = u64>) -> Letter {
    let (origin, facts) = (origin(who, "here"), facts(who, numbers));
    Letter { origin, died: None, orders: None, reading: None, facts }
}

/// A letter without facts.
pub(super) fn letter_with_orders(who: &str, orders: Standing) -> Letter {
    Letter { orders: Some(Box::new(orders)), ..letter(who, 0..0) }
}

pub(super) fn collation() -> Collation {
    Collation::new(BTreeSet::from([name("p1")]), clock("here"))
}

/// In short: `+a.1` for a life that began, its numbers, `-a.1` for its death.
fn drain(collation: &mut Collation) -> String {
    let all = std::iter::from_fn(|| collation.poll()).map(|one| match one {
        Collated::ByReader(_, life, RunEvent::Started { .. }) => format!("+{life}"),
        Collated::ByReader(at, life, _) => format!("-{life}@{}", at.0),
        Collated::ByMember(fact) => fact.seq.to_string(),
        Collated::CutOff(..) => unreachable!("no order is given here"),
    });
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_letter_says_all_that_its_reader_must_know() {
    let mut orders = Standing::default();
    orders.stop([Mono(1), Mono(2)]);
    let (orders, reading) = (Some(Box::new(orders)), Some(READING));
    let whole = Letter { died: Some(Mono(77)), orders, reading, ..letter("p1-a.3", 4..7) };
    let lines: Vec<u8> = whole
        .facts
        .iter()
        .flat_map(|fact| {
            let mut line = serde_json::to_vec(fact).unwrap();
            line.push(b'\n');
            line
        })
        .collect();
    let orders = whole.orders.as_deref();
    let record = Letter::write(&whole.origin, whole.died, orders, whole.reading, &lines);
    assert_eq!(Letter::read(&record), Ok(whole));
    for wrong in [
        String::new(),
        "{}".to_owned(),
        String::from_utf8(record.clone()).unwrap().replace("\"facts\":1", "\"facts\":2"),
        // Of another life, and what only a controller knows.
        String::from_utf8(record.clone()).unwrap().replacen("p1-a.3", "p1-b.3", 1),
        String::from_utf8(record).unwrap().replace("\"connected\"", "\"stopped\""),
    ] {
        assert!(Letter::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn a_fact_waits_for_those_before_it_and_no_longer_than_a_second() {
    let mut one = collation();
    one.handle_letter(at(0), letter("p1-a.1", 1..3));
    one.handle_letter(at(10), letter("p1-a.1", 5..7));
    assert_eq!(drain(&mut one), "+p1-a.1 1 2");
    // By another cluster, with what is known already.
    one.handle_letter(at(20), letter("p1-a.1", 2..6));
    assert_eq!(drain(&mut one), "3 4 5 6");
    one.handle_letter(at(30), letter("p1-a.1", 9..10));
    one.handle_timeout(at(1_029));
    assert_eq!(drain(&mut one), "");
    one.handle_timeout(at(1_030));
    assert_eq!(drain(&mut one), "9", "its number says that two are missing");
    one.handle_letter(at(1_040), letter("p1-a.1", 7..9));
    assert_eq!(drain(&mut one), "", "too late");
}

#[test]
fn a_death_follows_the_last_fact() {
    let mut one = collation();
    one.handle_letter(at(0), Letter { died: Some(at(3)), ..letter("p1-a.1", 4..6) });
    assert_eq!(drain(&mut one), "+p1-a.1");
    one.handle_letter(at(5), letter("p1-a.1", 1..4));
    assert_eq!(drain(&mut one), format!("1 2 3 4 5 -p1-a.1@{}", at(3).0));
}

#[test]
fn names_of_other_groups_other_clocks_and_hosts_that_count_apart_are_kept_apart() {
    let mut one = collation();
    let stranger = Letter {
        origin: Origin { group: name("p2"), ..origin("p1-a.1", "here") },
        ..letter("p1-a.1", 1..2)
    };
    one.handle_letter(at(0), stranger);
    assert_eq!(
        (drain(&mut one).as_str(), one.refused()),
        ("", 1),
        "Tandem starts the members of p2"
    );
    let elsewhere = Letter { origin: origin("p1-b.1", "there"), ..letter("p1-b.1", 1..4) };
    one.handle_letter(at(1), elsewhere);
    assert_eq!(drain(&mut one), "+p1-b.1", "its instants mean nothing here");
    one.handle_letter(at(2), letter("p1-a.1", 1..2));
    let later = Origin { began: Mono(60), ..origin("p1-a.1", "here") };
    one.handle_letter(at(3), Letter { origin: later, ..letter("p1-a.1", 1..2) });
    assert_eq!(drain(&mut one), "+p1-a.1 1 +p1-a.2 1", "another process of the same number");
}

#[test]
fn each_fact_is_taken_once_and_in_order_though_clusters_repeat_drop_and_delay() {
    for seed in 0..300 {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        // Each cluster has the letters of two lives in order, some of them twice, some not at all.
        let mut clusters: Vec<Vec<Letter>> = Vec::new();
        for _ in 0..2 {
            let mut letters = Vec::new();
            for from in (1..100_u64).step_by(7) {
                for who in ["p1-a.1", "p1-b.1"] {
                    for _ in 0..[0, 1, 1, 1, 2][chance.random_range(0..5)] {
                        letters.push(letter(who, from..from + 7));
                    }
                }
            }
            clusters.push(letters);
        }
        let sent: BTreeSet<(Life, u64)> = clusters
            .iter()
            .flatten()
            .flat_map(|letter| {
                letter.facts.iter().map(|fact| (letter.origin.life.clone(), fact.seq))
            })
            .collect();
        let (mut one, mut got) = (collation(), BTreeMap::<Life, Vec<u64>>::new());
        let mut queues: Vec<_> = clusters.into_iter().map(Vec::into_iter).collect();
        let mut now = 0;
        while queues.iter().any(|queue| queue.len() > 0) {
            now += chance.random_range(0..30);
            let which = chance.random_range(0..queues.len());
            if let Some(letter) = queues[which].next() {
                one.handle_letter(at(now), letter);
            }
            one.handle_timeout(at(now));
        }
        one.handle_timeout(at(now + 2_000));
        while let Some(next) = one.poll() {
            if let Collated::ByMember(fact) = next {
                got.entry(fact.life.unwrap()).or_default().push(fact.seq);
            }
        }
        let taken: usize = got.values().map(Vec::len).sum();
        for (life, numbers) in &got {
            assert!(numbers.is_sorted_by(|a, b| a < b), "seed {seed}: {life} {numbers:?}");
        }
        // What came later than the patience is left out; all else is there.
        assert!(taken <= sent.len(), "seed {seed}");
        assert!(taken * 10 >= sent.len() * 5, "seed {seed}: {taken} of {}", sent.len());
    }
}
