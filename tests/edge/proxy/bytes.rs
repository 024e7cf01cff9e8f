//! Rules about every byte.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use tandem::edge::{Direction, Effect};

use crate::proxy::upstream::{Echo, eventually};
use support::edge::process::{Client, Edges, PATIENCE, SILENCE, request, rule};

/// Not one that is rewritten or has a special place.
const ANY: i16 = 12;

#[test]
fn passing_traffic_is_unchanged_and_in_order() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    let mut writer = client.0.try_clone().unwrap();
    let sizes: Vec<usize> = (0..300).map(|at| (at * 7919) % 70_000).chain([9_000_000]).collect();
    let sent = sizes.clone();
    let write = std::thread::spawn(move || {
        for (at, size) in sent.into_iter().enumerate() {
            writer.write_all(&request(ANY, at as i32, size)).unwrap();
        }
    });
    for (at, size) in sizes.into_iter().enumerate() {
        let (correlation, body) = client.answer();
        assert_eq!(correlation, at as i32);
        assert_eq!(body, request(ANY, at as i32, size)[12..], "{at}");
    }
    write.join().unwrap();
}

#[test]
fn stalled_bytes_come_when_the_rule_is_lifted() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    for direction in [Direction::Both, Direction::ToBroker, Direction::ToClient] {
        let address = edges.open("p1-1", &echo.address);
        let mut other = Client::connect(&edges.open("p1-2", &echo.address));
        let mut client = Client::connect(&address);
        client.exchange(ANY, 1);
        // Both connections go on to the broker: none of them is still on its way there.
        other.exchange(ANY, 1);
        edges.put("k", rule("p1-1", direction, &[], Effect::Stall));
        let (bytes, connections) = (echo.bytes(), echo.connections());
        client.ask(ANY, 2, 10);
        let mut late = Client::connect(&address);
        late.ask(ANY, 3, 10);
        assert!(client.hears_nothing() && late.hears_nothing(), "{direction:?}");
        let heard = if direction == Direction::ToClient { 24 } else { 0 };
        eventually("what passes", || echo.bytes() - bytes >= heard);
        assert_eq!((echo.bytes() - bytes, echo.connections() - connections), (heard, 0));
        other.exchange(ANY, 4);
        edges.heal("k");
        assert_eq!((client.answer().0, late.answer().0), (2, 3));
    }
}

#[test]
fn lost_bytes_are_lost_and_their_connection_is_reset() {
    let mut edges = Edges::start();
    for direction in [Direction::Both, Direction::ToBroker, Direction::ToClient] {
        // Its own, so that no connection of the round before ends in this one.
        let echo = Echo::start();
        let address = edges.open("p1-1", &echo.address);
        let (mut client, mut idle) = (Client::connect(&address), Client::connect(&address));
        client.exchange(ANY, 1);
        idle.exchange(ANY, 1);
        edges.put("k", rule("p1-1", direction, &[], Effect::Drop));
        let bytes = echo.bytes();
        client.ask(ANY, 2, 10);
        assert!(client.hears_nothing(), "{direction:?}");
        let heard = if direction == Direction::ToClient { 24 } else { 0 };
        eventually("what passes", || echo.bytes() - bytes >= heard);
        assert_eq!(echo.bytes() - bytes, heard);
        let ends = echo.seen.ends.lock().unwrap().len();
        edges.heal("k");
        assert!(client.is_reset(), "{direction:?}");
        eventually("the broker's end", || echo.seen.ends.lock().unwrap().len() > ends);
        assert_eq!(echo.seen.ends.lock().unwrap().last(), Some(&"reset"));
        // One that lost nothing lives on.
        idle.exchange(ANY, 3);
    }
}

#[test]
fn the_death_of_a_client_behind_a_cut_stays_unnoticed() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    for effect in [Effect::Drop, Effect::Stall] {
        let mut client = Client::connect(&address);
        client.exchange(ANY, 1);
        edges.put("k", rule("p1-1", Direction::Both, &[], effect));
        let ends = echo.seen.ends.lock().unwrap().len();
        client.ask(ANY, 2, 10);
        drop(client);
        std::thread::sleep(SILENCE); // clock: nothing that comes later shows that none came
        assert_eq!(echo.seen.ends.lock().unwrap().len(), ends);
        edges.heal("k");
        eventually("the end", || echo.seen.ends.lock().unwrap().len() > ends);
    }
}

#[test]
fn reset_connections_are_reset_and_so_are_new_ones() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    let mut client = Client::connect(&address);
    client.exchange(ANY, 1);
    let ends = echo.seen.ends.lock().unwrap().len();
    edges.put("k", rule("p1-1", Direction::Both, &[], Effect::Reset));
    assert!(client.is_reset());
    eventually("the broker's end", || echo.seen.ends.lock().unwrap().len() > ends);
    assert_eq!(echo.seen.ends.lock().unwrap().last(), Some(&"reset"));
    let connections = echo.connections();
    // It may be reset while it connects.
    assert!(match TcpStream::connect(&address) {
        Ok(stream) => Client(stream).is_reset(),
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    });
    assert_eq!(echo.connections(), connections);
    edges.heal("k");
    Client::connect(&address).exchange(ANY, 1);
}

#[test]
fn rules_are_lifted_by_their_faults_alone() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    for name in ["k", "l"] {
        edges.put(name, rule("p1-1", Direction::Both, &[], Effect::Stall));
    }
    client.ask(ANY, 1, 10);
    edges.heal("k");
    assert!(client.hears_nothing());
    edges.heal("l");
    assert_eq!(client.answer().0, 1);
    let said = [edges.passed(), edges.passed()];
    let broker = echo.address.clone();
    assert_eq!(said, [("1.k".to_owned(), broker.clone()), ("1.l".to_owned(), broker)]);
    client.exchange(ANY, 2);
    // Once a fault and broker.
    assert!(edges.is_silent());
    // What was never put in force is lifted already.
    edges.heal("m");
}

#[test]
fn a_rule_concerns_the_brokers_that_it_names() {
    let (mut edges, one, other) = (Edges::start(), Echo::start(), Echo::start());
    let mut cut = Client::connect(&edges.open("p1-1", &one.address));
    let mut whole = Client::connect(&edges.open("p1-1", &other.address));
    let mut stall = rule("p1-1", Direction::Both, &[], Effect::Stall);
    // By another name of the same address.
    let name = one.address.replace("127.0.0.1", "localhost");
    stall.scope.brokers = Some([name].into());
    edges.put("k", stall);
    cut.ask(ANY, 1, 10);
    whole.exchange(ANY, 1);
    assert!(cut.hears_nothing());
    edges.heal("k");
    assert_eq!(cut.answer().0, 1);
}

/// While requests stream through: what has left for the broker when the rule is in force is in the
/// system's buffers already, and can be read; nothing comes after it.
#[test]
fn nothing_passes_once_a_rule_is_in_force() {
    let mut edges = Edges::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = edges.open("p1-1", &listener.local_addr().unwrap().to_string());
    let mut buffer = vec![0; 1 << 20];
    for round in 0..5 {
        let client = Client::connect(&address);
        let mut writer = client.0.try_clone().unwrap();
        let write = std::thread::spawn(move || {
            let request = request(ANY, 1, 30_000);
            (0..5_000).all(|_| writer.write_all(&request).is_ok())
        });
        let mut broker = listener.accept().unwrap().0;
        broker.set_read_timeout(Some(PATIENCE)).unwrap();
        broker.read_exact(&mut buffer[..100_000 + round * 17]).unwrap();
        edges.put("k", rule("p1-1", Direction::ToBroker, &[], Effect::Stall));
        let took = drained(&mut broker, &mut buffer);
        std::thread::sleep(SILENCE); // clock: nothing that comes later shows that none came
        assert_eq!(drained(&mut broker, &mut buffer), 0, "round {round}, after {took}");
        edges.heal("k");
        broker.read_exact(&mut buffer[..100_000]).unwrap();
        drop(client.0.shutdown(Shutdown::Both));
        drop(broker);
        drop(write.join());
    }
}

/// How much is there: all that the other end has sent.
fn drained(stream: &mut TcpStream, buffer: &mut [u8]) -> usize {
    let mut bytes = 0;
    stream.set_nonblocking(true).unwrap();
    eventually("all that was sent", || {
        // What is on its way is counted as sent until it can be read here.
        let all_came = unread_by(stream) == 0;
        bytes += (0..).map_while(|_| stream.read(buffer).ok()).sum::<usize>();
        all_came
    });
    stream.set_nonblocking(false).unwrap();
    bytes
}

/// How many bytes the kernel has still to bring from the other end of a connection of this host.
fn unread_by(stream: &TcpStream) -> u64 {
    let ports = [stream.peer_addr(), stream.local_addr()].map(|at| at.unwrap().port());
    let text = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let sent = text.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let port = |at: usize| u16::from_str_radix(words[at].rsplit_once(':')?.1, 16).ok();
        ([port(1)?, port(2)?] == ports).then(|| words[4].split_once(':').unwrap().0)
    });
    u64::from_str_radix(sent.expect("the edge's end of the connection"), 16).unwrap()
}
