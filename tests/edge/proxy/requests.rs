//! Rules about single requests: what else passes the same connection goes on.

use std::time::Duration;

use tandem::edge::{Direction, Effect};
use tandem::time::Mono;

use crate::proxy::upstream::{Echo, eventually};
use support::edge::process::{Client, Edges, rule};

const ONE: i16 = 12;
const OTHER: i16 = 14;
/// For so long the rest of a request is waited for.
const FINISH: Duration = Duration::from_secs(1);

#[test]
fn lost_requests_and_answers_leave_the_others() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    for (direction, heard) in
        [(Direction::Both, 1), (Direction::ToBroker, 1), (Direction::ToClient, 2)]
    {
        let mut client = Client::connect(&edges.open("p1-1", &echo.address));
        edges.put("k", rule("p1-1", direction, &[ONE], Effect::Drop));
        let before = echo.apis().len();
        client.ask(ONE, 1, 70_000);
        client.exchange(OTHER, 2);
        assert_eq!(echo.apis().len() - before, heard, "{direction:?}");
        edges.heal("k");
        // What was lost stays lost, and the connection lives on.
        client.exchange(OTHER, 3);
        assert!(edges.is_silent(), "only cut requests report the heal");
        client.exchange(ONE, 4);
        assert_eq!(edges.passed().0, "1.k");
    }
}

#[test]
fn held_requests_and_answers_are_overtaken_and_come_in_their_order() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    for direction in [Direction::ToBroker, Direction::ToClient] {
        let mut client = Client::connect(&edges.open("p1-1", &echo.address));
        edges.put("k", rule("p1-1", direction, &[ONE], Effect::Stall));
        client.ask(ONE, 1, 100_000);
        client.ask(ONE, 2, 10);
        client.exchange(OTHER, 3);
        assert!(client.hears_nothing(), "{direction:?}");
        edges.heal("k");
        let (first, body) = client.answer();
        assert_eq!((first, body.len(), client.answer().0), (1, 100_002, 2));
        client.exchange(ONE, 4);
    }
}

#[test]
fn a_connection_is_reset_by_the_request_that_a_rule_names() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    for direction in [Direction::ToBroker, Direction::ToClient] {
        let mut client = Client::connect(&address);
        edges.put("k", rule("p1-1", direction, &[ONE], Effect::Reset));
        client.exchange(OTHER, 1);
        client.ask(ONE, 2, 10);
        assert!(client.is_reset(), "{direction:?}");
        edges.heal("k");
    }
}

/// A request of which a part has left can neither be called back nor be cut: the rule waits for it.
/// Where the host keeps the rest from leaving, it does so for as long as for one that never ends.
#[test]
fn a_rule_is_in_force_when_the_request_that_was_leaving_has_left() {
    use std::io::Write;
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    let mut client = Client::connect(&address);
    client.exchange(OTHER, 1);
    let request = support::edge::process::request(ONE, 2, 1_000);
    let before = echo.bytes();
    client.0.write_all(&request[..500]).unwrap();
    eventually("the half", || echo.bytes() == before + 500);
    let mut rest = client.0.try_clone().unwrap();
    let finish = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100)); // clock: the rule is asked for before
        // Before, not after: the edge may have passed it on before this thread runs again.
        let now = Mono::now(); // clock: compared with what the edge says
        rest.write_all(&request[500..]).ok();
        now
    });
    let asked = Mono::now(); // clock: the edge waits no less than it says, on any host
    let t = edges.put("k", rule("p1-1", Direction::ToBroker, &[ONE], Effect::Drop));
    let finished = finish.join().unwrap();
    if matches!(client.0.peek(&mut [0; 1]), Ok(1)) {
        assert!(t >= finished);
        assert_eq!(client.answer().0, 2);
    } else {
        assert!(t.since(asked) >= FINISH, "cut after {:?}", t.since(asked));
        client = Client::connect(&address);
    }
    client.ask(ONE, 3, 10);
    client.exchange(OTHER, 4);
    edges.heal("k");
    // One that never ends is not waited for.
    let request = support::edge::process::request(ONE, 5, 1_000);
    let before = echo.bytes();
    client.0.write_all(&request[..600]).unwrap();
    eventually("more than the half", || echo.bytes() == before + 600);
    edges.put("k", rule("p1-1", Direction::ToBroker, &[ONE], Effect::Drop));
    assert!(client.is_reset());
}

/// `acks=0` is never answered, and the answers to the others still find their requests.
#[test]
fn requests_without_an_answer_do_not_confuse_the_others() {
    use std::io::Write;
    let (mut edges, broker) = (Edges::start(), crate::proxy::kafka::Embedded::start());
    let mut client = Client::connect(&edges.open("p1-1", &broker.address.to_string()));
    for version in [3_i16, 8, 9, 11] {
        for correlation in 0..20 {
            let mut frame = [0_i16.to_be_bytes(), version.to_be_bytes()].concat();
            frame.extend(i32::to_be_bytes(correlation));
            frame.extend([0, 1, b'x']);
            // No tags, no transaction, acks, a timeout, no topics.
            frame.extend(if version >= 9 { vec![0, 0] } else { vec![0xff, 0xff] });
            frame.extend(0_i16.to_be_bytes());
            frame.extend(1_000_i32.to_be_bytes());
            frame.extend(if version >= 9 { vec![1, 0] } else { vec![0; 4] });
            let framed = [&(frame.len() as u32).to_be_bytes()[..], &frame].concat();
            client.0.write_all(&framed).unwrap();
            // Metadata v1 for no topic.
            let ask = [&[0, 3, 0, 1, 0, 0, 1], &[correlation as u8, 0xff, 0xff, 0, 0, 0, 0][..]];
            let ask = ask.concat();
            client.0.write_all(&[&(ask.len() as u32).to_be_bytes()[..], &ask].concat()).unwrap();
            assert_eq!(client.answer().0, 256 + correlation, "version {version}");
        }
    }
}
