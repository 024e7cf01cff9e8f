//! A client that sends garbage or wrong lengths to an edge loses its connection: others do not
//! notice, and memory does not grow.

use std::io::Write;
use std::net::Shutdown;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tandem::edge::{Direction, Effect};
use tandem::time::Span;

use crate::proxy::kafka::Embedded;
use crate::proxy::upstream::{Echo, eventually};
use support::edge::process::{Client, Edges, PATIENCE, request, rule};

/// What the process may take for itself while it refuses: its allocator's caches.
const GROWTH_KIB_MAX: u64 = 16 << 10;
const SEED: u64 = 11;
const ANY: i16 = 12;

/// A thousand connections, of which each third sends noise, half a request, an absurd length.
fn thousand(address: &str, chance: &mut ChaCha8Rng) {
    let mut open = Vec::new();
    for at in 0..1_000 {
        let mut client = Client::connect(address);
        let mut bytes = vec![0; chance.random_range(4..10_000)];
        chance.fill_bytes(&mut bytes);
        match at % 3 {
            0 => {}
            1 => bytes = request(ANY, at, 500)[..300].to_vec(),
            _ => {
                let absurd = [i32::MIN, -1, 0, i32::MAX, (100 << 20) + 1];
                let length = absurd[chance.random_range(0..absurd.len())];
                bytes.splice(..4, length.to_be_bytes());
            }
        }
        drop(client.0.write_all(&bytes));
        open.push(client);
        // As many at once as an edge has room for, and some more.
        if open.len() >= 600 {
            drain(&mut open);
        }
    }
    drain(&mut open);
}

fn drain(open: &mut Vec<Client>) {
    for client in &mut *open {
        drop(client.0.shutdown(Shutdown::Write));
    }
    for mut client in open.drain(..) {
        while matches!(client.end(), Ok(1..)) {}
    }
}

#[test]
fn a_thousand_rude_connections_close_and_cost_nothing() {
    let (mut edges, broker, echo) = (Edges::start(), Embedded::start(), Echo::start());
    let chance = &mut ChaCha8Rng::seed_from_u64(SEED);
    let mut witness = Client::connect(&edges.open("p1-2", &echo.address));
    witness.exchange(ANY, 0);
    let rude = edges.open("p1-1", &broker.address.to_string());
    // Once before it counts: what the first of anything allocates stays.
    thousand(&rude, chance);
    let before = edges.resident_kib();
    thousand(&rude, chance);
    witness.exchange(ANY, 1);
    let after = edges.resident_kib();
    eprintln!("{before} KiB, then {after} KiB, with seed {SEED}");
    assert!(after <= before + GROWTH_KIB_MAX, "{before} KiB, then {after} KiB");
    assert!(edges.lives());
}

/// Clients that send and send behind a cut wait; what they send does not pile up here.
#[test]
fn memory_is_bounded_while_rules_hold() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    let before = edges.resident_kib();
    let mut clients: Vec<_> = (0..40).map(|_| Client::connect(&address)).collect();
    for client in &mut clients {
        client.exchange(ANY, 1);
        client.0.set_nonblocking(true).unwrap();
    }
    let requests: Vec<u8> = (0..100).flat_map(|at| request(ANY, at, 100_000)).collect();
    let (delay, jitter) = (Span(PATIENCE), Span::default());
    let slow = Effect::Slow { delay, jitter, bytes_per_second: None };
    for (effect, apis) in [(slow, &[][..]), (Effect::Stall, &[]), (Effect::Drop, &[])] {
        edges.put("k", rule("p1-1", Direction::ToBroker, apis, effect));
        for client in &mut clients {
            let mut sent = 0;
            while let Ok(bytes @ 1..) = client.0.write(&requests[sent..]) {
                sent += bytes;
            }
        }
        let held = edges.resident_kib().saturating_sub(before);
        eprintln!("{held} KiB more while {} connections send", clients.len());
        // A megabyte a connection is what is allowed.
        assert!(held < 60 << 10, "{held} KiB");
    }
}

/// More than may be held for one connection costs that connection alone.
#[test]
fn a_connection_that_exceeds_the_buffer_is_cut() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let address = edges.open("p1-1", &echo.address);
    let (mut greedy, mut modest) = (Client::connect(&address), Client::connect(&address));
    edges.put("k", rule("p1-1", Direction::ToBroker, &[ANY], Effect::Stall));
    modest.ask(ANY, 1, 10);
    let requests = request(ANY, 2, 1_000_000);
    let cut = (0..40).any(|_| greedy.0.write_all(&requests).is_err());
    assert!(cut || greedy.end().is_err() || matches!(greedy.end(), Ok(0)));
    modest.exchange(14, 3);
    edges.heal("k");
    assert_eq!(modest.answer().0, 1);
}

/// An unsolicited or malformed response does not reach the client.
#[test]
fn a_broker_that_speaks_no_kafka_is_cut_off() {
    let mut edges = Edges::start();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = edges.open("p1-1", &listener.local_addr().unwrap().to_string());
    for said in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &[0, 0, 0, 6, 9, 9, 9, 9, 0, 0]] {
        let mut client = Client::connect(&address);
        let (mut broker, _) = listener.accept().unwrap();
        client.ask(3, 1, 10);
        broker.write_all(said).unwrap();
        assert!(!matches!(client.end(), Ok(1..)), "{said:?}");
    }
    // Metadata v3 with brokers without number.
    let mut client = Client::connect(&address);
    let (mut broker, _) = listener.accept().unwrap();
    client.ask(3, 1, 10);
    broker.write_all(&[0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]).unwrap();
    assert!(!matches!(client.end(), Ok(1..)));
    assert!(edges.lives());
}

#[test]
fn it_outlives_signals_and_ends_with_its_input() {
    use rustix::process::{Pid, Signal, kill_process};
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let pid = Pid::from_raw(i32::try_from(edges.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        client.exchange(ANY, 1);
    }
    edges.close();
    assert!(!matches!(client.end(), Ok(1..)));
    eventually("its end", || !edges.lives());
}
