//! What is slow passes late, whole and in order. `crates/edge/src/pace.rs` says when a piece may
//! pass, and `tests/measured/edge_slow.rs` how exactly it does.

use std::time::Duration;

use tandem::edge::{Direction, Effect};
use tandem::time::{Mono, Span};

use crate::proxy::upstream::{Echo, eventually};
use support::edge::process::{Client, Edges, rule};

const ANY: i16 = 12;
/// Longer than a test waits for anything.
const HOUR_MS: u64 = 3_600_000;
/// Bytes a second.
const RATE: u64 = 2_000;

fn slow(delay_ms: u64, jitter_ms: u64, rate: Option<u64>) -> Effect {
    let (delay, jitter) = (Span::ms(delay_ms), Span::ms(jitter_ms));
    Effect::Slow { delay, jitter, bytes_per_second: rate }
}

fn took(client: &mut Client, api: i16, correlation: i32) -> Duration {
    let began = Mono::now(); // clock: it takes no less than the delay, on any host
    client.exchange(api, correlation);
    Mono::now().since(began) // clock: as above
}

#[test]
fn a_delay_matches_its_rule_and_ends_with_it() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    for (direction, ways) in [(Direction::ToBroker, 1), (Direction::Both, 2)] {
        let mut client = Client::connect(&edges.open("p1-1", &echo.address));
        edges.put("k", rule("p1-1", direction, &[], slow(60, 0, None)));
        let slowed = took(&mut client, ANY, 1);
        assert!(slowed >= Duration::from_millis(60 * ways), "{slowed:?}, {direction:?}");
        edges.heal("k");
        client.exchange(ANY, 2);
        // What would wait for an hour passes once the rule is lifted.
        edges.put("l", rule("p1-1", direction, &[], slow(HOUR_MS, 0, None)));
        client.ask(ANY, 3, 10);
        assert!(client.hears_nothing(), "{direction:?}");
        edges.heal("l");
        assert_eq!(client.answer().0, 3);
        client.exchange(ANY, 4);
    }
}

#[test]
fn jitter_comes_on_top_and_keeps_the_order() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[], slow(5, 40, None)));
    let times: Vec<_> = (0..15).map(|at| took(&mut client, ANY, at)).collect();
    assert!(times.iter().all(|took| *took >= Duration::from_millis(5)), "{times:?}");
    for correlation in 0..50 {
        client.ask(ANY, correlation, 3_000);
    }
    for correlation in 0..50 {
        assert_eq!(client.answer().0, correlation);
    }
}

#[test]
fn a_rate_is_kept_and_waiting_bytes_pass_at_once_when_the_rule_is_lifted() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[], slow(0, 0, Some(RATE))));
    let before = echo.bytes();
    let began = Mono::now(); // clock: a host may make the rate lower, never higher
    client.ask(ANY, 1, 800_000);
    eventually("what passes in a second", || {
        let passed = echo.bytes() - before;
        let since = Mono::now().since(began); // clock: as above
        let most = u128::from(RATE) * since.as_micros() / 1_000_000;
        assert!(passed as u128 <= most, "{passed} bytes within {since:?}");
        passed as u64 >= RATE
    });
    edges.heal("k");
    // At its rate the rest would take six minutes.
    assert_eq!(client.answer().0, 1);
}

#[test]
fn a_slow_request_delays_only_the_requests_behind_it() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    let (mut client, mut other) = (Client::connect(&address), Client::connect(&address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[ANY], slow(100, 0, None)));
    assert!(took(&mut client, ANY, 1) >= Duration::from_millis(100));
    edges.heal("k");
    edges.put("l", rule("p1-1", Direction::ToBroker, &[ANY], slow(HOUR_MS, 0, None)));
    client.ask(14, 2, 10);
    client.ask(ANY, 3, 10);
    client.ask(14, 4, 10);
    assert_eq!(client.answer().0, 2);
    other.exchange(14, 5);
    assert!(client.hears_nothing());
    edges.heal("l");
    assert_eq!((client.answer().0, client.answer().0), (3, 4));
}
