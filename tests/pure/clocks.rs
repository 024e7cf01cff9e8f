//! Clocks of hosts, compared by way of brokers: what is found contains the truth, also when
//! clocks are set; and how a reader places the facts of other hosts on its own clock.

use std::collections::BTreeSet;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use support::transcript::{Command, check_folder};
use tandem::external::{
    Clocks, Collated, Collation, Elsewhere, Letter, Origin, Placement, Reading,
};
use tandem::ids::ClusterName;
use tandem::observation::{ClockDomain, Fact, MemberEvent, RunEvent, What};
use tandem::time::{Mono, Wall};

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

/// A record: which host and which broker, when it was sent and acknowledged by the clock of the
/// host, and what the broker's showed.
type Record = (usize, usize, [Mono; 2], Wall);

/// Two hosts publish on two brokers for an hour. Also all records.
fn compared(seed: u64) -> (Clocks<usize, usize>, Vec<Record>, [Wrong; 2], ChaCha12Rng) {
    let mut chance = ChaCha12Rng::seed_from_u64(seed);
    let mut wrong = |ppm: i128| Wrong {
        ahead: chance.random_range(2_000 * SECOND..9_000 * SECOND),
        ppm: chance.random_range(-ppm..=ppm),
    };
    let (hosts, brokers) = ([wrong(140), wrong(140)], [wrong(140), wrong(140)]);
    let (mut clocks, mut all) = (Clocks::default(), Vec::new());
    let mut now = SECOND;
    while now < 3_600 * SECOND {
        let (host, broker) = (chance.random_range(0..2_usize), chance.random_range(0..2_usize));
        let [out, back] = [0, 0].map(|_: i128| chance.random_range(50_000..40_000_000));
        let read = now + out;
        let stamp = brokers[broker].wall(read);
        let ends = [hosts[host].mono(now), hosts[host].mono(read + back)];
        clocks.appended((&host, &broker), ends, stamp);
        all.push((host, broker, ends, stamp));
        now += chance.random_range(SECOND / 10..20 * SECOND);
    }
    (clocks, all, hosts, chance)
}

#[test]
fn an_instant_of_another_host_lies_within_its_bounds() {
    for seed in 0..300 {
        let (clocks, _, hosts, mut chance) = compared(seed);
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

/// How far apart two clocks may drift in this time.
fn drift(ns: i128) -> i128 {
    ns.abs() * 600 / 1_000_000
}

/// The same from the definition, slowly: each record bounds the broker's clock less the host's, at
/// any time; all must hold. Both hosts' records were earlier than `at`.
fn naive(records: &[Record], [from, to]: [usize; 2], at: Mono) -> Option<[i128; 2]> {
    let ns = |at: Mono| i128::from(at.0);
    // Broker less host, at an instant of the host.
    let ahead = |host: usize, broker: usize, when: i128| {
        let own = records.iter().filter(|(of, by, ..)| (*of, *by) == (host, broker));
        let bounds = own.map(|(_, _, [sent, acked], stamp)| {
            let (shown, late) = (i128::from(stamp.0) * 1_000_000, drift(ns(*acked) - ns(*sent)));
            let by = drift(when - ns(*acked)) + late;
            [shown - ns(*acked) - by, shown + 1_000_000 - ns(*sent) + by]
        });
        bounds.reduce(|a, b| [a[0].max(b[0]), a[1].min(b[1])])
    };
    let mut all: Option<[i128; 2]> = None;
    for broker in 0..2 {
        let [low, high] = ahead(from, broker, ns(at))?;
        let shown = [ns(at) + low, ns(at) + high];
        // The other host shows some instant then, within what its own bounds say.
        let last = records.iter().filter(|(of, by, ..)| (*of, *by) == (to, broker));
        let [near, far] = ahead(to, broker, last.map(|one| ns(one.2[1])).max()?)?;
        let ends = [shown[0] - far, shown[1] - near].map(|when| ahead(to, broker, when));
        let ends: Vec<_> = ends.into_iter().flatten().collect();
        let least = ends.iter().map(|end| end[0]).min()?;
        let most = ends.iter().map(|end| end[1]).max()?;
        let one = [shown[0] - most, shown[1] - least];
        all = Some(all.map_or(one, |all| [all[0].max(one[0]), all[1].min(one[1])]));
    }
    all
}

#[test]
fn a_naive_twin_finds_the_same() {
    for seed in 0..300 {
        let (clocks, records, hosts, mut chance) = compared(seed);
        let at = hosts[0].mono(chance.random_range(3_650 * SECOND..4_000 * SECOND));
        let found = clocks.translate(&0, &1, at).unwrap();
        let [low, high] = naive(&records, [0, 1], at).unwrap();
        // Each step of the other one rounds up.
        let most = i128::try_from(records.len()).unwrap() * 4;
        for (one, other) in [(found.earliest, low), (found.latest, high)] {
            let off = (i128::from(one.0) - other).abs();
            assert!(off <= most, "seed {seed}: {found:?} and {low} to {high}");
        }
    }
}

#[test]
fn a_clock_of_a_broker_that_is_set_misleads_no_reader() {
    let (mut known, mut unknown, mut set) = (0, 0, 0);
    for seed in 0..300 {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        let host = |chance: &mut ChaCha12Rng| Wrong {
            ahead: chance.random_range(0..9_000 * SECOND),
            ppm: chance.random_range(-140..=140),
        };
        let hosts = [host(&mut chance), host(&mut chance)];
        let mut broker = Wrong { ahead: 1_000_000 * SECOND, ppm: 0 };
        let mut clocks: Clocks<usize, ()> = Clocks::default();
        let (mut now, mut late) = (SECOND, None);
        while now < 120 * SECOND {
            if chance.random_bool(0.02) {
                broker.ahead += chance.random_range(-60..60) * SECOND;
                set += 1;
            }
            let host = chance.random_range(0..2_usize);
            let [out, back] = [0, 0].map(|_: i128| chance.random_range(50_000..20_000_000));
            let read = now + out;
            let ends = [hosts[host].mono(now), hosts[host].mono(read + back)];
            let record = (host, ends, broker.wall(read));
            // One record may be under way while another one arrives.
            let arrives = if chance.random_bool(0.3) { late.replace(record) } else { Some(record) };
            if let Some((host, ends, stamp)) = arrives {
                clocks.appended((&host, &()), ends, stamp);
            }
            let at = now + chance.random_range(0..SECOND);
            match clocks.translate(&0, &1, hosts[0].mono(at)) {
                Some(found) => {
                    let truth = hosts[1].mono(at);
                    let within = found.earliest <= truth && truth <= found.latest;
                    assert!(within, "seed {seed}: {truth:?} is not within {found:?}");
                    known += 1;
                }
                None => unknown += 1,
            }
            now += chance.random_range(SECOND / 10..SECOND);
        }
    }
    println!("{known} known, {unknown} unknown, {set} times set");
    assert!(known > 10_000 && unknown > 1_000 && set > 300, "{known} {unknown} {set}");
}

#[test]
fn what_is_placed_stays_within_the_stated_error_and_the_offset_moves_no_more_than_it_must() {
    for seed in 0..300 {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        let host = Wrong {
            ahead: chance.random_range(0..9_000 * SECOND),
            ppm: chance.random_range(-140..=140),
        };
        let bounds = |chance: &mut ChaCha12Rng, at: i128| {
            let [under, over] = [0, 0].map(|_: i128| chance.random_range(0..7_000_000));
            Elsewhere {
                earliest: Mono(u64::try_from(at - under).unwrap()),
                latest: Mono(u64::try_from(at + over).unwrap()),
            }
        };
        let mut now = 10_000 * SECOND;
        let first = bounds(&mut chance, now);
        let begun = Placement::begin(host.mono(now), first, Duration::from_secs(4));
        let mut placement = begun.unwrap();
        let (mut placed, mut refused) = (0, 0);
        for _ in 0..500 {
            now += chance.random_range(0..10 * SECOND);
            let (before, found) = (placement, bounds(&mut chance, now));
            let fitted = before.contains(host.mono(now), found);
            if !placement.follow(host.mono(now), found) {
                refused += 1;
                assert_eq!(placement, before, "seed {seed}");
                continue;
            }
            placed += 1;
            assert!(!fitted || placement == before, "seed {seed}: it moved");
            let off = i128::from(placement.place(host.mono(now)).0) - now;
            let error = i128::try_from(placement.error().as_nanos()).unwrap();
            assert!(off.abs() <= error, "seed {seed}: off by {off} ns, not {error}");
        }
        assert!(placed > 100, "seed {seed}: {placed} placed, {refused} refused");
    }
}

#[test]
fn a_comparison_that_is_too_wide_begins_nothing() {
    let found = |ms: u64| Elsewhere { earliest: at(1_000), latest: at(1_000 + ms) };
    let begin = |ms, waited| Placement::begin(at(70), found(ms), Duration::from_secs(waited));
    assert_eq!(begin(10, 0).unwrap().error(), Duration::from_millis(9));
    assert_eq!(begin(11, 3), None, "a better one may come");
    assert_eq!(begin(11, 4).unwrap().error(), Duration::from_micros(9_500));
    assert_eq!(begin(93, 100), None, "it says too little");
}

fn at(ms: u64) -> Mono {
    Mono(ms * 1_000_000)
}

fn clock(name: &str) -> ClockDomain {
    ClockDomain { boot: name.to_owned(), time_namespace: 4 }
}

/// In microseconds, as far as they matter here.
fn shown(at: Mono) -> String {
    let (ms, us) = (at.0 / 1_000_000, at.0 / 1_000 % 1_000);
    if us == 0 { format!("{ms}") } else { format!("{ms}.{us:03}") }
}

fn written(next: Collated) -> String {
    match next {
        Collated::ByReader(at, life, RunEvent::Started { external, .. }) => {
            let external = external.unwrap();
            let how = match external.error() {
                Some(error) => format!("to within {} us", error.as_micros()),
                None => "unknown".to_owned(),
            };
            format!("{} started {life}, {how}\n", shown(at))
        }
        Collated::ByReader(at, life, _) => format!("{} died {life}\n", shown(at)),
        Collated::CutOff(..) => unreachable!("no order is given here"),
        Collated::ByMember(fact) => {
            let said = match fact.what {
                What::Member(MemberEvent::Lapsed { at, .. }) => format!("lapsed {}", shown(at)),
                What::Member(MemberEvent::Ticks { from, until, .. }) => {
                    format!("ticks {} to {}", shown(from), shown(until))
                }
                _ => "connected".to_owned(),
            };
            format!("{} {} {} {said}\n", shown(fact.t), fact.life.unwrap(), fact.seq)
        }
    }
}

/// A fact of a letter: its number, and its stamp by the clock of the member.
fn said(command: &Command, life: &str) -> Vec<Fact> {
    let Some(seq) = command.optional("seq") else { return Vec::new() };
    let instant = |key| command.optional(key).map(at);
    let why = tandem::observation::Ending::Silence;
    let (partition, term) = (tandem::ids::PartitionId(0), tandem::ids::Term(1));
    let event = match (instant("lapsed"), instant("ticks")) {
        (Some(at), _) => MemberEvent::Lapsed { partition, term, at, why },
        (None, Some(from)) => {
            let until = at(command.number("t"));
            MemberEvent::Ticks { partitions: vec![partition], from, until }
        }
        (None, None) => MemberEvent::Connected,
    };
    let (t, life) = (at(command.number("t")), life.to_owned().try_into().unwrap());
    vec![Fact { t, seq, life: Some(life), what: What::Member(event) }]
}

/// The reader's clock is `here`. `reading` compares a host with broker 1 of cluster `a`; `letter`
/// is one of `p1-a.1`, whose clock is `there`. Times are in milliseconds.
fn reader() -> impl FnMut(&Command) -> String {
    let mut collation = Collation::new(BTreeSet::from(["p1".parse().unwrap()]), clock("here"));
    let cluster: ClusterName = "a".parse().unwrap();
    move |command: &Command| {
        let now = at(command.number("now"));
        let mut said_here = String::new();
        match command.verb.as_str() {
            "reading" => {
                let [sent, acked] = ["sent", "acked"].map(|key| at(command.number(key)));
                let stamp = Wall(i64::try_from(command.number("stamp")).unwrap());
                let broker = command.optional("broker").map_or(1, |id| i32::try_from(id).unwrap());
                let reading = Reading { broker, sent, acked, stamp };
                let host = clock(command.text("of").unwrap());
                if collation.handle_reading(&host, &cluster, reading) {
                    said_here.push_str("contradiction\n");
                }
            }
            "letter" => {
                let life = command.text("life").unwrap_or("p1-a.1");
                let origin = Origin {
                    group: "p1".parse().unwrap(),
                    life: life.to_owned().try_into().unwrap(),
                    pid: 9,
                    began: at(command.optional("began").unwrap_or(90_000)),
                    clock: clock(command.text("clock").unwrap_or("there")),
                };
                let died = command.optional("died").map(at);
                let facts = said(command, life);
                collation.handle_letter(
                    now,
                    Letter { origin, died, orders: None, reading: None, facts },
                );
            }
            "timeout" => {}
            verb => panic!("{verb} is nothing here"),
        }
        collation.handle_timeout(now);
        let due = std::iter::from_fn(|| collation.poll()).map(written);
        said_here + &due.collect::<String>()
    }
}

#[test]
fn transcripts() {
    check_folder("clocks", reader);
}
