//! How slow an edge makes what a rule slows: how late it passes, how varied, and at which rate.
//! `tests/edge/proxy/slow.rs` has what holds on any host.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

#[path = "../edge/proxy/upstream.rs"]
#[allow(dead_code, reason = "the gate uses the rest of it")]
mod upstream;

use std::time::Duration;

use tandem::edge::{Direction, Effect};
use tandem::time::{Mono, Span};

use support::edge::process::{Client, Edges, rule};
use support::measured::turn;
use upstream::Echo;

const ANY: i16 = 12;

fn slow(delay_ms: u64, jitter_ms: u64, rate: Option<u64>) -> Effect {
    let (delay, jitter) = (Span::ms(delay_ms), Span::ms(jitter_ms));
    Effect::Slow { delay, jitter, bytes_per_second: rate }
}

fn took(client: &mut Client, api: i16, correlation: i32) -> Duration {
    let began = Mono::now();
    client.exchange(api, correlation);
    Mono::now().since(began)
}

/// What an exchange takes at least. A busy host makes each of a few late, but not each of many: as
/// many are made as it takes to come below `most`, up to a hundred.
fn least(client: &mut Client, api: i16, most: Duration) -> Duration {
    let mut least = Duration::MAX;
    for at in 0..100 {
        least = least.min(took(client, api, at));
        if at >= 4 && least < most {
            break;
        }
    }
    least
}

#[test]
fn a_delay_matches_its_rule_and_ends_with_it() {
    let _turn = turn();
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    for (direction, ways) in [(Direction::ToBroker, 1), (Direction::Both, 2)] {
        edges.put("k", rule("p1-1", direction, &[], slow(60, 0, None)));
        let delay = Duration::from_millis(60 * ways);
        let most = delay + Duration::from_millis(30);
        let best = least(&mut client, ANY, most);
        assert!(best >= delay && best < most, "{best:?}, {direction:?}");
        edges.heal("k");
        let most = Duration::from_millis(20);
        let best = least(&mut client, ANY, most);
        assert!(best < most, "{best:?} after the heal");
    }
}

#[test]
fn jitter_varies_and_keeps_the_order() {
    let _turn = turn();
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[], slow(5, 40, None)));
    let times: Vec<_> = (0..15).map(|at| took(&mut client, ANY, at)).collect();
    let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(*least >= Duration::from_millis(5), "{times:?}");
    assert!(*most > *least + Duration::from_millis(5), "{times:?}");
    for correlation in 0..50 {
        client.ask(ANY, correlation, 3_000);
    }
    for correlation in 0..50 {
        assert_eq!(client.answer().0, correlation);
    }
}

#[test]
fn a_rate_is_kept_and_waiting_bytes_pass_at_once_when_the_rule_is_lifted() {
    let _turn = turn();
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[], slow(0, 0, Some(100_000))));
    let before = echo.bytes();
    let began = Mono::now();
    client.ask(ANY, 1, 800_000);
    // A host that keeps the edge from running makes the rate lower for a while, never higher.
    let mut fastest = 0.0_f64;
    for look in 0..60 {
        std::thread::sleep(Duration::from_millis(100));
        let (bytes, seconds) = (echo.bytes() - before, Mono::now().since(began).as_secs_f64());
        if seconds >= 1.0 {
            fastest = fastest.max(f64::from(bytes as u32) / seconds);
        }
        // Two seconds, and more where it was held up at first.
        if look >= 20 && fastest >= 70_000.0 {
            break;
        }
    }
    assert!((70_000.0..=110_000.0).contains(&fastest), "{fastest} bytes a second");
    edges.heal("k");
    let healed = Mono::now();
    assert_eq!(client.answer().0, 1);
    // At its rate the rest would take six seconds.
    let rest = Mono::now().since(healed);
    assert!(rest < Duration::from_secs(3), "{rest:?}");
}

#[test]
fn a_slow_request_delays_only_the_requests_behind_it() {
    let _turn = turn();
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    let (mut client, mut other) = (Client::connect(&address), Client::connect(&address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[ANY], slow(100, 0, None)));
    assert!(took(&mut client, ANY, 1) >= Duration::from_millis(100));
    let most = Duration::from_millis(50);
    let other = least(&mut other, 14, most);
    assert!(other < most, "{other:?}");
    let began = Mono::now();
    client.ask(ANY, 3, 10);
    client.ask(14, 4, 10);
    assert_eq!((client.answer().0, client.answer().0), (3, 4));
    assert!(Mono::now().since(began) >= Duration::from_millis(100));
}
