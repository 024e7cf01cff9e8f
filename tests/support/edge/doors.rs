//! Doors in front of brokers, at their advertised addresses: each records whose connection arrives,
//! before it lets a byte pass, and what is requested.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use kafka_protocol::messages::ApiKey;
use tandem::wire::{Naming, broker_addresses, naming, number};

use super::owner::{Owner, owner};

/// What has passed.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// Connections, by door and whose they were.
    pub connections: BTreeMap<(u16, Owner), u32>,
    /// Requests and their versions, by the client's id.
    pub requests: BTreeMap<String, BTreeSet<(i16, i16)>>,
    /// Requests of clients whose answers said where a partition's new leader is (KIP-951).
    pub redirected: BTreeSet<(String, i16, i16)>,
}

impl Seen {
    /// In which versions a client made a request.
    pub fn versions(&self, client: &str, key: ApiKey) -> Vec<i16> {
        let requests = self.requests.get(client).into_iter().flatten();
        requests.filter(|(api, _)| *api == number(key)).map(|(_, version)| *version).collect()
    }
}

/// Doors, whose threads end with the test's process.
pub struct Doors {
    first: u16,
    count: u16,
    seen: Arc<Mutex<Seen>>,
}

impl Doors {
    /// A door at each port from `first` on, to the broker at each port from `broker` on.
    pub fn open(first: u16, broker: u16, count: u16) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        for at in 0..count {
            let listener = TcpListener::bind(("127.0.0.1", first + at)).unwrap();
            let seen = Arc::clone(&seen);
            thread::spawn(move || {
                for client in listener.incoming().map_while(Result::ok) {
                    let seen = Arc::clone(&seen);
                    thread::spawn(move || enter(&client, first + at, broker + at, &seen));
                }
            });
        }
        Self { first, count, seen }
    }

    /// Their addresses, as brokers advertise them.
    pub fn bootstrap(&self) -> String {
        let addresses = self.ports().map(|port| format!("127.0.0.1:{port}"));
        addresses.collect::<Vec<_>>().join(",")
    }

    pub fn ports(&self) -> impl Iterator<Item = u16> {
        self.first..self.first + self.count
    }

    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }
}

/// A request that waits for its answer: whose, and which.
type Asked = Arc<Mutex<BTreeMap<i32, (String, i16, i16)>>>;

fn enter(client: &TcpStream, door: u16, broker: u16, seen: &Arc<Mutex<Seen>>) {
    // Nothing has passed yet; who is gone by now has not been served.
    let Some(owner) = client.peer_addr().ok().and_then(|peer| owner(peer.port(), door)) else {
        return;
    };
    *seen.lock().unwrap().connections.entry((door, owner)).or_default() += 1;
    let Ok(broker) = TcpStream::connect(("127.0.0.1", broker)) else { return };
    client.set_nodelay(true).ok();
    broker.set_nodelay(true).ok();
    let asked = Asked::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            pass(client, &broker, |request| ask(request, &asked, seen));
            broker.shutdown(std::net::Shutdown::Both).ok();
        });
        pass(&broker, client, |answer| hear(answer, &asked, seen));
        client.shutdown(std::net::Shutdown::Both).ok();
    });
}

/// Passes frames on until one side ends.
fn pass(mut from: &TcpStream, mut to: &TcpStream, note: impl Fn(&[u8])) {
    let mut length = [0; 4];
    while from.read_exact(&mut length).is_ok() {
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        if from.read_exact(&mut frame).is_err() {
            return;
        }
        note(&frame);
        if to.write_all(&[&length, &frame[..]].concat()).is_err() {
            return;
        }
    }
}

fn ask(frame: &[u8], asked: &Asked, seen: &Mutex<Seen>) {
    let short = |at: usize| i16::from_be_bytes([frame[at], frame[at + 1]]);
    let (api, version) = (short(0), short(2));
    let client = usize::try_from(short(8)).map(|length| &frame[10..10 + length]);
    let client = String::from_utf8_lossy(client.unwrap_or_default()).into_owned();
    seen.lock().unwrap().requests.entry(client.clone()).or_default().insert((api, version));
    asked.lock().unwrap().insert(correlation(&frame[4..]), (client, api, version));
}

fn hear(frame: &[u8], asked: &Asked, seen: &Mutex<Seen>) {
    let Some((client, api, version)) = asked.lock().unwrap().remove(&correlation(frame)) else {
        return;
    };
    let moving = [ApiKey::Produce, ApiKey::Fetch].map(number).contains(&api);
    if moving && naming(api, version) == Naming::Known {
        let named = broker_addresses(api, version, frame).unwrap();
        if !named.found.is_empty() {
            seen.lock().unwrap().redirected.insert((client, api, version));
        }
    }
}

fn correlation(bytes: &[u8]) -> i32 {
    i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
