//! Which orders the witness of a member carries out, as transcripts under `tests/data/orders/`, and
//! what a reader finds in what it says of them.
//!
//! Inputs, each with `at=MS` of the host: `witness` begins; `order DEED nonce=N` is shown by the
//! cluster `by=C` (default: a), valid for `valid=MS` (default: 10000) from `given=MS` on (default:
//! at), of `topology=T`, to `life=L`, whose process `began=MS`; `forged` has another key, and
//! `garbled` is no order; `again` is the last record once more, by cluster `by=C`; `timeout`.
//! `wall=MS` moves the wall clock. What comes out: what is done, the refused, the next timeout.

use std::fmt::Write;
use std::time::Duration;

use support::facts::life;
use support::transcript::{Command, check_folder};
use tandem::external::{
    Act, Collated, Collation, Deed, Letter, Nonce, Obedience, Order, OrderKey, Reading, Standing,
};
use tandem::ids::ClusterName;
use tandem::observation::{ClockDomain, Fact, MemberEvent, RunEvent, What};
use tandem::time::{Mono, Wall};

use super::external::{collation, letter_with_orders};

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

fn wall(ms: u64) -> Wall {
    Wall(i64::try_from(ms).unwrap())
}

fn key() -> OrderKey {
    OrderKey::new("of the topology")
}

fn deed(command: &Command) -> Deed {
    let deeds = [
        ("kill", Deed::Kill),
        ("leave", Deed::Leave),
        ("pause", Deed::Pause),
        ("hold", Deed::Hold),
        ("continue", Deed::Continue),
        ("cut", Deed::Cut),
        ("mend", Deed::Mend),
    ];
    let found = deeds.into_iter().find(|(word, _)| command.has(word));
    found.expect("an order says what is to be done").1
}

/// The record of an order.
fn record(command: &Command) -> Vec<u8> {
    if command.has("garbled") {
        return b"{\"order\": 1}".to_vec();
    }
    let given = command.optional("given").unwrap_or_else(|| command.number("at"));
    let order = Order {
        topology: command.text("topology").unwrap_or("seen").parse().unwrap(),
        life: life(command.text("life").unwrap_or("p1-a.2")),
        began: ms(command.optional("began").unwrap_or(50)),
        nonce: Nonce(command.text("nonce").unwrap_or("1").to_owned()),
        expires: wall(given + command.optional("valid").unwrap_or(10_000)),
        deed: deed(command),
    };
    let key = if command.has("forged") { OrderKey::new("of another") } else { key() };
    key.seal(&order)
}

fn drain(core: &mut Obedience) -> String {
    let mut out = String::new();
    while let Some(act) = core.poll() {
        let word = match act {
            Act::Kill => "kill",
            Act::Leave => "leave",
            Act::Stop => "stop",
            Act::Continue => "continue",
            Act::Cut => "cut",
            Act::Mend => "mend",
        };
        writeln!(out, "{word}").unwrap();
    }
    if !core.refused().is_none() {
        writeln!(out, "refused: {}", core.refused()).unwrap();
    }
    if let Some(until) = core.poll_timeout() {
        writeln!(out, "timeout {}", until.since(Mono::ZERO).as_millis()).unwrap();
    }
    out
}

#[test]
fn transcripts() {
    check_folder("orders", || {
        let mut core = None;
        let mut last = Vec::new();
        move |command: &Command| {
            if command.verb == "witness" {
                let own = Obedience::new("seen".parse().unwrap(), life("p1-a.2"), ms(50), key());
                return drain(core.insert(own));
            }
            let core = core.as_mut().expect("a transcript begins with `witness`");
            let at = command.number("at");
            match command.verb.as_str() {
                "order" => last = record(command),
                "again" => {}
                "timeout" => {
                    core.handle_timeout(ms(at));
                    return drain(core);
                }
                verb => panic!("{verb} is no input"),
            }
            let by: ClusterName = command.text("by").unwrap_or("a").parse().unwrap();
            let wall = wall(command.optional("wall").unwrap_or(at));
            core.handle_record(ms(at), wall, &by, &last);
            drain(core)
        }
    });
}

#[test]
fn a_seal_fits_one_order_alone() {
    let order = Order {
        topology: "seen".parse().unwrap(),
        life: life("p1-a.2"),
        began: ms(50),
        nonce: Nonce("1".to_owned()),
        expires: wall(10_000),
        deed: Deed::Pause,
    };
    let record = key().seal(&order);
    assert!(key().has_sealed(&record));
    assert_eq!(Order::read(&record), Some(order));
    for at in 0..record.len() {
        let mut changed = record.clone();
        changed[at] ^= 1;
        assert!(!key().has_sealed(&changed), "byte {at} of {}", record.len());
        assert!(!key().has_sealed(&record[..at]), "{at} of {} bytes", record.len());
    }
}

#[test]
fn a_reader_learns_each_pause_and_refusal_once_from_all_clusters_together() {
    let mut standing = Standing::default();
    let mut one = collation();
    let mut said = Vec::new();
    let mut hear = |standing: &Standing, at: u64| {
        for _ in 0..2 {
            one.handle_letter(ms(at), letter_with_orders("p1-a.2", standing.clone()));
        }
        while let Some(next) = one.poll() {
            said.push(format!("{next:?}"));
        }
        std::mem::take(&mut said)
    };
    assert_eq!(hear(&standing, 90).len(), 1, "it has started");
    standing.stop([ms(100), ms(101)]);
    let stopped = standing.clone();
    let found = hear(&standing, 150).join(" ");
    assert!(found.contains("NotYet") && found.contains("Stopped"), "{found}");
    standing.wake([ms(300), ms(302)]);
    standing.stop([ms(400), ms(401)]);
    standing.wake([ms(500), ms(501)]);
    let found = hear(&standing, 600);
    assert_eq!(found.iter().filter(|one| one.contains("NotYet")).count(), 3, "{found:?}");
    assert_eq!(found.iter().filter(|one| one.contains("Continued")).count(), 2, "{found:?}");
    assert!(hear(&stopped, 610).is_empty(), "what was said before is old");
    standing.count(9, tandem::observation::RefusedOrders { replayed: 1, ..Default::default() });
    let found = hear(&standing, 700).join(" ");
    assert!(found.contains("taken: 9") && found.contains("replayed: 1"), "{found}");
    standing.count(10, standing.refused);
    assert!(hear(&standing, 800).is_empty(), "that orders are taken is no news");
}

#[test]
fn a_reader_learns_each_cut_and_its_end_once() {
    let mut standing = Standing::default();
    let mut one = collation();
    let mut hear = |standing: &Standing, at: u64| {
        one.handle_letter(ms(at), letter_with_orders("p1-a.2", standing.clone()));
        let all = std::iter::from_fn(|| one.poll());
        let cuts = all.filter_map(|next| match next {
            Collated::CutOff(at, _, off) => Some((at, off)),
            _ => None,
        });
        cuts.collect::<Vec<_>>()
    };
    assert_eq!(hear(&standing, 90), []);
    standing.cut(ms(100));
    assert_eq!(hear(&standing, 150), [(ms(100), true)]);
    assert_eq!(hear(&standing, 160), [], "it is known");
    standing.mend(ms(200));
    standing.mend(ms(210));
    standing.cut(ms(300));
    assert_eq!(hear(&standing, 350), [(ms(200), false), (ms(300), true)]);
}

#[test]
fn of_another_clock_the_reader_says_when_it_has_heard_of_a_pause() {
    let mut one = collation();
    let mut standing = Standing::default();
    standing.stop([ms(100), ms(101)]);
    let mut letter = letter_with_orders("p1-a.2", standing);
    letter.origin.clock.boot = "there".to_owned();
    one.handle_letter(ms(7_000), letter);
    let said: Vec<_> = std::iter::from_fn(|| one.poll()).collect();
    let at = said.iter().map(|one| match one {
        Collated::ByReader(at, ..) | Collated::CutOff(at, ..) => *at,
        Collated::ByMember(fact) => fact.t,
    });
    assert_eq!(at.collect::<Vec<_>>(), [ms(7_000); 3], "{said:?}");
}

/// A busy host may compare its clock badly for a while.
#[test]
fn a_pause_that_cannot_be_placed_yet_is_placed_once_the_clocks_are_compared_again() {
    let there = |at: Mono| Mono(at.0 + 5_000_000_000_000);
    let mut one = collation();
    let mut letter = letter_with_orders("p1-a.2", Standing::default());
    letter.origin.clock.boot = "there".to_owned();
    letter.origin.began = there(ms(900));
    let (cluster, place) = ("a".parse().unwrap(), letter.origin.clock.clone());
    let compare = |one: &mut Collation, now| {
        for host in ["here", "there"] {
            let own = |at| if host == "here" { ms(at) } else { there(ms(at)) };
            let (sent, acked) = (own(now), own(now + 1));
            let reading = Reading { broker: 1, sent, acked, stamp: wall(now) };
            one.handle_reading(
                &ClockDomain { boot: host.to_owned(), ..place.clone() },
                &cluster,
                reading,
            );
        }
    };
    for (now, seq) in (1_000..4_000).step_by(500).zip(1..) {
        compare(&mut one, now);
        let (life, what) = (letter.origin.life.clone(), What::Member(MemberEvent::Connected));
        let fact = Fact { t: there(ms(now)), seq, life: Some(life), what };
        one.handle_letter(ms(now + 2), Letter { facts: vec![fact], ..letter.clone() });
    }
    let found: Vec<_> = std::iter::from_fn(|| one.poll()).collect();
    assert!(matches!(found.last(), Some(Collated::ByMember(_))), "it is placed: {found:?}");

    let mut standing = Standing::default();
    standing.stop([there(ms(60_990)), there(ms(60_991))]);
    let orders = Some(Box::new(standing));
    one.handle_letter(ms(61_000), Letter { orders, ..letter });
    one.handle_timeout(ms(61_400));
    assert_eq!(one.poll(), None, "nothing is known to within the stated error");
    compare(&mut one, 61_500);
    one.handle_timeout(ms(61_520));
    let found: Vec<_> = std::iter::from_fn(|| one.poll()).collect();
    let near = |at: Mono| at >= ms(60_980) && at <= ms(61_000);
    let [
        Collated::ByReader(from, _, RunEvent::NotYet),
        Collated::ByReader(at, _, RunEvent::Stopped),
    ] = found[..]
    else {
        panic!("{found:?}")
    };
    assert!(near(from) && near(at) && from <= at, "{found:?}");
}

#[test]
fn the_end_of_a_long_pause_on_another_host_is_within_the_stated_error() {
    const AHEAD: u64 = 5_000_000_000_000;
    // Clocks drift apart: this one gains 14 ms in a hundred seconds.
    let there = |at: Mono| Mono(at.0 + AHEAD + at.0 * 140 / 1_000_000);
    let mut one = collation();
    let mut letter = letter_with_orders("p1-a.2", Standing::default());
    letter.origin.clock.boot = "there".to_owned();
    letter.origin.began = there(ms(900));
    let (cluster, mut standing) = ("a".parse().unwrap(), Standing::default());
    let (mut error, mut found) = (None, Vec::new());
    for now in (1_000..110_000).step_by(500) {
        for host in ["here", "there"] {
            let own = |at| if host == "here" { ms(at) } else { there(ms(at)) };
            let (sent, acked) = (own(now), own(now + 1));
            let reading = Reading { broker: 1, sent, acked, stamp: wall(now) };
            let clock = ClockDomain { boot: host.to_owned(), ..letter.origin.clock.clone() };
            assert!(!one.handle_reading(&clock, &cluster, reading), "a contradiction");
        }
        match now {
            6_000 => standing.stop([there(ms(5_990)), there(ms(5_991))]),
            106_000 => standing.wake([there(ms(105_990)), there(ms(105_991))]),
            _ => standing.seq += 1,
        }
        let (t, seq) = (there(ms(now)), now / 500 - 1);
        let (life, what) = (letter.origin.life.clone(), What::Member(MemberEvent::Connected));
        let fact = Fact { t, seq, life: Some(life), what };
        let facts = if now < 5_990 { vec![fact] } else { Vec::new() };
        let orders = Some(Box::new(standing.clone()));
        one.handle_letter(ms(now + 2), Letter { facts, orders, ..letter.clone() });
        while let Some(next) = one.poll() {
            if let Collated::ByReader(at, _, event) = next {
                if let RunEvent::Started { external: Some(external), .. } = &event {
                    error = external.error().or(error);
                } else {
                    found.push((event, at));
                }
            }
        }
    }
    let error = error.expect("its clock was compared");
    let truth = [5_990, 5_991, 105_990, 105_991].map(ms);
    assert_eq!(found.len(), truth.len(), "{found:?}");
    for ((event, at), truth) in found.into_iter().zip(truth) {
        let off = at.since(truth).max(truth.since(at));
        assert!(off <= error, "{event:?} is off by {off:?}, not {error:?}");
    }
}
