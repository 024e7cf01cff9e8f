//! What is slow passes late, whole and in order.

use std::time::Duration;

use tandem::edge::{Direction, Effect};
use tandem::time::{Mono, Span};

use crate::proxy::upstream::Echo;
use support::edge::process::{Client, Edges, rule};

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

#[test]
fn a_delay_matches_its_rule_and_ends_with_it() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    for (direction, ways) in [(Direction::ToBroker, 1), (Direction::Both, 2)] {
        edges.put("k", rule("p1-1", direction, &[], slow(60, 0, None)));
        let best = (0..5).map(|at| took(&mut client, ANY, at)).min().unwrap();
        let delay = Duration::from_millis(60 * ways);
        assert!(
            best >= delay && best < delay + Duration::from_millis(30),
            "{best:?}, {direction:?}"
        );
        edges.heal("k");
        let best = (0..5).map(|at| took(&mut client, ANY, at)).min().unwrap();
        assert!(best < Duration::from_millis(20), "{best:?} after the heal");
    }
}

#[test]
fn jitter_varies_and_keeps_the_order() {
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
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[], slow(0, 0, Some(100_000))));
    let before = echo.bytes();
    let began = Mono::now();
    client.ask(ANY, 1, 400_000);
    std::thread::sleep(Duration::from_millis(1_000));
    let (bytes, seconds) = (echo.bytes() - before, Mono::now().since(began).as_secs_f64());
    let rate = bytes as u32;
    let rate = f64::from(rate) / seconds;
    assert!((70_000.0..=110_000.0).contains(&rate), "{rate} bytes a second");
    edges.heal("k");
    assert_eq!(client.answer().0, 1);
    let whole = Mono::now().since(began);
    assert!(whole < Duration::from_millis(2_500), "{whole:?}");
}

#[test]
fn a_slow_request_delays_only_the_requests_behind_it() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    let (mut client, mut other) = (Client::connect(&address), Client::connect(&address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[ANY], slow(100, 0, None)));
    assert!(took(&mut client, ANY, 1) >= Duration::from_millis(100));
    assert!(took(&mut other, 14, 2) < Duration::from_millis(50));
    let began = Mono::now();
    client.ask(ANY, 3, 10);
    client.ask(14, 4, 10);
    assert_eq!((client.answer().0, client.answer().0), (3, 4));
    assert!(Mono::now().since(began) >= Duration::from_millis(100));
}
