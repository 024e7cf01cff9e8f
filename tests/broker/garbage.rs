//! A client that sends garbage or wrong lengths loses its connection, and nothing else happens: the
//! broker serves others as before, and its memory does not grow.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use kafka_protocol::messages::{ApiKey, RequestKind};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::broker_process::BrokerProcess;
use support::samples;
use tandem::wire::{FRAME_BYTES_MAX, SUPPORTED};

/// An answer, or the end of a connection, comes within this.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a broker may take for itself while it refuses: its allocator's caches, not what was sent.
const GROWTH_KIB_MAX: u64 = 12 << 10;
const GARBAGE_BYTES: usize = 10_000;
const SEED: u64 = 7;

struct Broker {
    process: BrokerProcess,
    address: String,
    /// A client that behaves, connected before the others come.
    witness: TcpStream,
}

impl Broker {
    fn start() -> Self {
        let process = BrokerProcess::start();
        let address = process.address.clone();
        let witness = connected(&address);
        let mut broker = Self { process, address, witness };
        // A topic and a group, for something to be lost. Nothing ends by time while a test looks:
        // neither the session nor the wait for the member's SyncGroup, which is the rebalance
        // timeout.
        broker.ask(ApiKey::CreateTopics, 3);
        let Some(RequestKind::JoinGroup(join)) = samples::sample(ApiKey::JoinGroup, 3) else {
            panic!("another request");
        };
        let join = join.with_session_timeout_ms(600_000).with_rebalance_timeout_ms(600_000);
        let join = RequestKind::JoinGroup(join);
        broker.answer(&samples::framed(&join, ApiKey::JoinGroup, 3));
        broker
    }

    fn connect(&self) -> TcpStream {
        connected(&self.address)
    }

    /// The bytes of an answer to the witness.
    fn ask(&mut self, key: ApiKey, version: i16) -> Vec<u8> {
        self.answer(&samples::written(key, version).1)
    }

    fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        self.witness.write_all(&framed(request)).unwrap();
        let mut length = [0; 4];
        self.witness.read_exact(&mut length).unwrap();
        let mut answer = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
        self.witness.read_exact(&mut answer).unwrap();
        answer
    }

    /// All that a client can see of the broker.
    fn state(&mut self) -> Vec<Vec<u8>> {
        let looks = [ApiKey::Metadata, ApiKey::ListGroups, ApiKey::DescribeGroups];
        looks.into_iter().map(|key| self.ask(key, 1)).collect()
    }

    /// Kibibytes that the process holds in memory.
    fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// `rude` changes nothing and costs nothing.
    fn is_unmoved_by(&mut self, what: &str, rude: impl Fn(&Self, &mut ChaCha8Rng)) {
        let chance = &mut ChaCha8Rng::seed_from_u64(SEED);
        // Once before it counts: what the first of anything allocates stays.
        rude(self, chance);
        let (state, before) = (self.state(), self.resident_kib());
        rude(self, chance);
        assert_eq!(self.state(), state, "{what}");
        let after = self.resident_kib();
        eprintln!("{what}: {before} KiB, then {after} KiB");
        assert!(after <= before + GROWTH_KIB_MAX, "{what}: {before} KiB, then {after} KiB");
        assert_eq!(self.process.child.try_wait().unwrap(), None);
    }
}

fn connected(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&length[..], bytes].concat()
}

/// How many bytes come before the other side closes. It may close while we still write.
fn until_closed(stream: &mut TcpStream) -> usize {
    let mut heard = Vec::new();
    match stream.read_to_end(&mut heard) {
        Ok(_) => heard.len(),
        Err(error) => {
            let cut = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
            assert!(cut.contains(&error.kind()), "the connection stays open: {error}");
            heard.len()
        }
    }
}

#[test]
fn ten_thousand_bytes_of_garbage_close_the_connection() {
    Broker::start().is_unmoved_by("garbage", |broker, chance| {
        for _ in 0..300 {
            let mut garbage = vec![0; GARBAGE_BYTES];
            chance.fill_bytes(&mut garbage);
            let mut stream = broker.connect();
            drop(stream.write_all(&garbage));
            drop(stream.shutdown(Shutdown::Write));
            assert_eq!(until_closed(&mut stream), 0);
        }
    });
}

#[test]
fn garbage_in_a_frame_of_the_right_length_closes_the_connection() {
    Broker::start().is_unmoved_by("framed garbage", |broker, chance| {
        for _ in 0..300 {
            let mut garbage = vec![0; GARBAGE_BYTES];
            chance.fill_bytes(&mut garbage);
            // Every second time with a header that could be one; no array there is that long.
            if chance.random() {
                let api = SUPPORTED[chance.random_range(0..SUPPORTED.len())];
                garbage.splice(..4, samples::written(api.key, api.max).1[..4].to_vec());
                garbage[8..].fill(0x7f);
            }
            let mut stream = broker.connect();
            drop(stream.write_all(&framed(&garbage)));
            // The connection is closed without being asked to.
            assert_eq!(until_closed(&mut stream), 0);
        }
    });
}

#[test]
fn a_partial_request_is_ignored() {
    Broker::start().is_unmoved_by("half requests", |broker, _| {
        for api in SUPPORTED {
            let whole = framed(&samples::written(api.key, api.max).1);
            for cut in [1, 4, 8, whole.len() / 2, whole.len() - 1] {
                let mut stream = broker.connect();
                stream.write_all(&whole[..cut]).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                assert_eq!(until_closed(&mut stream), 0, "{:?} cut at {cut}", api.key);
            }
        }
    });
}

#[test]
fn absurd_lengths_close_the_connection_at_once() {
    let most = i32::try_from(FRAME_BYTES_MAX).unwrap();
    Broker::start().is_unmoved_by("absurd lengths", |broker, _| {
        for length in [i32::MIN, -1, 0, 7, most + 1, i32::MAX] {
            let mut stream = broker.connect();
            stream.write_all(&length.to_be_bytes()).unwrap();
            assert_eq!(until_closed(&mut stream), 0, "{length}");
        }
    });
}

#[test]
fn memory_is_reserved_as_bytes_come_and_not_as_they_are_announced() {
    Broker::start().is_unmoved_by("announced bytes", |broker, _| {
        let most = u32::try_from(FRAME_BYTES_MAX).unwrap().to_be_bytes();
        let mut waiting = Vec::new();
        // Together they announce more than six gigabytes.
        for _ in 0..400 {
            let mut stream = broker.connect();
            stream.write_all(&[&most[..], &[0; 100]].concat()).unwrap();
            waiting.push(stream);
        }
        let held = broker.resident_kib();
        assert!(held < 200 << 10, "{held} KiB while 400 connections announce the most");
        for mut stream in waiting {
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(until_closed(&mut stream), 0);
        }
    });
}

#[test]
fn unknown_requests_and_versions_close_the_connection() {
    Broker::start().is_unmoved_by("unknown requests", |broker, _| {
        // A number that no request has, one that this broker does not speak, a version that is yet
        // to come, one that is long gone.
        for (key, version) in [(999_i16, 0_i16), (-1, 0), (24, 0), (3, 99), (0, 0)] {
            let head = [key.to_be_bytes(), version.to_be_bytes()].concat();
            let frame = [&head[..], &[0, 0, 0, 7, 0xff, 0xff]].concat();
            let mut stream = broker.connect();
            stream.write_all(&framed(&frame)).unwrap();
            assert_eq!(until_closed(&mut stream), 0, "{key} {version}");
        }
    });
}

/// Requests that are nearly right may be answered; they, too, are bounded.
#[test]
fn damaged_requests_leave_the_broker_in_order() {
    let mut broker = Broker::start();
    let chance = &mut ChaCha8Rng::seed_from_u64(SEED);
    let mut before = 0;
    for round in 0..2_000 {
        let api = SUPPORTED[chance.random_range(0..SUPPORTED.len())];
        let version = chance.random_range(api.min..=api.max);
        let mut frame = samples::written(api.key, version).1.to_vec();
        for _ in 0..chance.random_range(1..4) {
            let at = chance.random_range(8..frame.len());
            frame[at] = chance.random();
        }
        let mut stream = broker.connect();
        drop(stream.write_all(&framed(&frame)));
        drop(stream.shutdown(Shutdown::Write));
        // A join that is parked is dropped with its connection; the rest is answered or refused.
        if ![ApiKey::JoinGroup, ApiKey::SyncGroup].contains(&api.key) {
            until_closed(&mut stream);
        }
        if round == 999 {
            before = broker.resident_kib();
        }
    }
    let after = broker.resident_kib();
    eprintln!("damaged requests: {before} KiB, then {after} KiB");
    assert!(after <= before + GROWTH_KIB_MAX, "{before} KiB, then {after} KiB");
    drop(broker.ask(ApiKey::Metadata, 1));
}
