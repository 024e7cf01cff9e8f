//! Members that the run did not start: what their silence and their clock mean for the judgement,
//! and how their letters are put together. What has not arrived is unknown, never a gap.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use support::facts::{Story, at, life, name, plan};
use support::watched::{Found, drive, found, judged};
use tandem::external::{Clocks, Collated, Collation, Letter, Origin};
use tandem::ids::Life;
use tandem::observation::{ClockDomain, External, Fact, What};
use tandem::time::{Mono, Wall};
use tandem::timeline::Interval;

fn clock(boot: &str) -> ClockDomain {
    ClockDomain { boot: boot.to_owned(), time_namespace: 4 }
}

fn outside(same_clock: bool) -> What {
    let external = External { group: name("p1"), clock: clock("here"), same_clock };
    What::Started { pid: 1, external: Some(external) }
}

/// It claims nothing, and says so.
fn idles(story: &mut Story, who: &str, [from, until]: [u64; 2]) {
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

fn origin(who: &str, boot: &str) -> Origin {
    let (life, clock) = (life(who), clock(boot));
    Origin { group: name("p1"), life, pid: 9, began: Mono(50), clock }
}

fn facts(who: &str, numbers: impl IntoIterator<Item = u64>) -> Vec<Fact> {
    let of = life(who);
    let one = |seq| Fact { t: Mono(seq), seq, life: Some(of.clone()), what: What::Connected };
    numbers.into_iter().map(one).collect()
}

fn letter(who: &str, numbers: impl IntoIterator<Item = u64>) -> Letter {
    Letter { origin: origin(who, "here"), died: None, facts: facts(who, numbers) }
}

fn collation() -> Collation {
    Collation::new(BTreeSet::from([name("p1")]), clock("here"))
}

/// In short: `+a.1` for a life that began, its numbers, `-a.1` for its death.
fn drain(collation: &mut Collation) -> String {
    let all = std::iter::from_fn(|| collation.poll()).map(|one| match one {
        Collated::ByReader(_, life, What::Started { .. }) => format!("+{life}"),
        Collated::ByReader(at, life, _) => format!("-{life}@{}", at.0),
        Collated::ByMember(fact) => fact.seq.to_string(),
    });
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_letter_says_all_that_its_reader_must_know() {
    let whole = Letter { died: Some(Mono(77)), ..letter("p1-a.3", 4..7) };
    let lines: Vec<u8> = whole
        .facts
        .iter()
        .flat_map(|fact| {
            let mut line = serde_json::to_vec(fact).unwrap();
            line.push(b'\n');
            line
        })
        .collect();
    let record = Letter::write(&whole.origin, whole.died, &lines);
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

/// A clock that is ahead of the true time and runs faster or slower than it, in nanoseconds and
/// parts per million.
#[derive(Clone, Copy)]
struct Wrong {
    ahead: i128,
    ppm: i128,
}

impl Wrong {
    fn at(self, true_ns: i128) -> i128 {
        true_ns + self.ahead + true_ns * self.ppm / 1_000_000
    }

    fn mono(self, true_ns: i128) -> Mono {
        Mono(u64::try_from(self.at(true_ns)).unwrap())
    }

    fn wall(self, true_ns: i128) -> Wall {
        Wall(i64::try_from(self.at(true_ns).div_euclid(1_000_000)).unwrap())
    }
}

const SECOND: i128 = 1_000_000_000;

/// Two hosts publish on two brokers for an hour.
fn compared(seed: u64) -> (Clocks<u32, u32>, [Wrong; 2], ChaCha12Rng) {
    let mut chance = ChaCha12Rng::seed_from_u64(seed);
    let mut wrong = |ppm: i128| Wrong {
        ahead: chance.random_range(2_000 * SECOND..9_000 * SECOND),
        ppm: chance.random_range(-ppm..=ppm),
    };
    let (hosts, brokers) = ([wrong(140), wrong(140)], [wrong(140), wrong(140)]);
    let mut clocks = Clocks::default();
    let mut now = SECOND;
    while now < 3_600 * SECOND {
        let (host, broker) = (chance.random_range(0..2_usize), chance.random_range(0..2_usize));
        let [out, back] = [0, 0].map(|_: i128| chance.random_range(50_000..40_000_000));
        let read = now + out;
        let stamp = brokers[broker].wall(read);
        let ends = [hosts[host].mono(now), hosts[host].mono(read + back)];
        let key = (&u32::try_from(host).unwrap(), &u32::try_from(broker).unwrap());
        clocks.appended(key, ends, stamp);
        now += chance.random_range(SECOND / 10..20 * SECOND);
    }
    (clocks, hosts, chance)
}

#[test]
fn an_instant_of_another_host_lies_within_its_bounds() {
    for seed in 0..300 {
        let (clocks, hosts, mut chance) = compared(seed);
        assert_eq!(clocks.contradictions(), 0, "seed {seed}");
        for _ in 0..20 {
            let at: i128 = chance.random_range(3_000 * SECOND..3_700 * SECOND);
            let found = clocks.translate(&0, &1, hosts[0].mono(at)).unwrap();
            let truth = hosts[1].mono(at);
            let within = found.earliest <= truth && truth <= found.latest;
            assert!(within, "seed {seed}: {truth:?} is not within {found:?}");
            // 280 ppm and 600 ppm of 700 s, at most, and two round trips.
            assert!(found.latest.since(found.earliest) < Duration::from_secs(3), "seed {seed}");
        }
    }
}

#[test]
fn a_host_that_no_broker_knows_has_no_instants() {
    let mut clocks: Clocks<&str, &str> = Clocks::default();
    clocks.appended((&"x", &"b1"), [at(10), at(12)], Wall(5));
    clocks.appended((&"y", &"b2"), [at(10), at(12)], Wall(5));
    assert_eq!(clocks.translate(&"x", &"y", at(11)), None);
    clocks.appended((&"y", &"b1"), [at(110), at(112)], Wall(5));
    let found = clocks.translate(&"x", &"y", at(11)).unwrap();
    // Both round trips, and a millisecond of each stamp; the drift of 2 ms is 2 us.
    let (low, high) = (at(107).0, at(115).0);
    assert!((low..=high).contains(&found.earliest.0) && (low..=high).contains(&found.latest.0));
    assert!(found.latest.since(found.earliest) >= Duration::from_millis(6), "{found:?}");
}

#[test]
fn a_clock_that_is_set_contradicts_what_was_known_of_it() {
    let mut clocks: Clocks<&str, &str> = Clocks::default();
    assert!(!clocks.appended((&"x", &"b"), [at(10), at(12)], Wall(1_000)));
    assert!(!clocks.appended((&"x", &"b"), [at(1_010), at(1_012)], Wall(2_001)), "it drifts");
    assert!(clocks.appended((&"x", &"b"), [at(2_010), at(2_012)], Wall(9_000)));
    assert!(!clocks.appended((&"x", &"b"), [at(3_010), at(3_012)], Wall(10_000)));
    assert_eq!(clocks.contradictions(), 1);
}

#[test]
fn brokers_that_contradict_each_other_leave_nothing_known() {
    let mut clocks: Clocks<&str, &str> = Clocks::default();
    for (broker, apart) in [("b1", 0), ("b2", 500)] {
        clocks.appended((&"x", &broker), [at(10), at(12)], Wall(1_000));
        clocks.appended((&"y", &broker), [at(10), at(12)], Wall(1_000 + apart));
    }
    assert_eq!(clocks.translate(&"x", &"y", at(11)), None);
}
