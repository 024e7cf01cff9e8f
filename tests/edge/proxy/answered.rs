//! What a broker says, as its client hears it: edges where brokers were.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use bytes::Bytes;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, FindCoordinatorResponse, ResponseHeader, ResponseKind,
};
use kafka_protocol::protocol::Decodable;
use tandem::wire::{SUPPORTED, broker_addresses, number};

use crate::proxy::upstream::Echo;
use support::edge::process::{Client, Edges};
use support::naming_answers::{Brokers, answer, naming_versions, written};
use support::samples;

/// A broker that says what the test wrote.
struct Puppet {
    listener: TcpListener,
    client: Client,
    broker: TcpStream,
    address: String,
}

impl Puppet {
    fn start(edges: &mut Edges) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = edges.open("p1-1", &listener.local_addr().unwrap().to_string());
        let client = Client::connect(&address);
        let broker = listener.accept().unwrap().0;
        Self { listener, client, broker, address }
    }

    /// What the client hears when the broker answers so, its length not included; none where it is
    /// cut off.
    fn says(&mut self, key: ApiKey, version: i16, body: &ResponseKind) -> Option<Vec<u8>> {
        // Nothing looks at what is asked but for its head; Produce must want an answer.
        let mut ask = [number(key).to_be_bytes(), version.to_be_bytes()].concat();
        ask.extend([0, 0, 0, 7, 0xff, 0xff]);
        ask.extend(if version >= 9 { vec![0, 0] } else { vec![0xff, 0xff] });
        ask.extend([0xff, 0xff, 0, 0]);
        self.client.0.write_all(&framed(&ask)).unwrap();
        let mut heard = vec![0; ask.len() + 4];
        self.broker.read_exact(&mut heard).unwrap();
        assert_eq!(heard, framed(&ask), "requests are left as they are");
        self.broker.write_all(&framed(&written(key, version, body))).unwrap();
        let mut length = [0; 4];
        if self.client.0.read_exact(&mut length).is_err() {
            self.client = Client::connect(&self.address);
            self.broker = self.listener.accept().unwrap().0;
            return None;
        }
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        self.client.0.read_exact(&mut frame).unwrap();
        Some(frame)
    }
}

fn framed(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes()[..], frame].concat()
}

fn read(key: ApiKey, version: i16, frame: Vec<u8>) -> ResponseKind {
    let mut bytes = Bytes::from(frame);
    drop(ResponseHeader::decode(&mut bytes, key.response_header_version(version)).unwrap());
    ResponseKind::decode(key, &mut bytes, version).unwrap()
}

#[test]
fn every_broker_that_is_named_is_behind_an_edge() {
    let (mut edges, echoes) = (Edges::start(), [(); 3].map(|()| Echo::start()));
    let mut puppet = Puppet::start(&mut edges);
    let ports = echoes.each_ref().map(|echo| echo.address.rsplit_once(':').unwrap().1);
    let named: Brokers = (1..)
        .zip(ports)
        .map(|(id, port)| (id, "127.0.0.1".to_owned(), port.parse().unwrap()))
        .collect();
    let mut known: Option<Vec<i32>> = None;
    for (key, version) in naming_versions() {
        let frame = puppet.says(key, version, &answer(key, version, &named)).unwrap();
        let found = broker_addresses(number(key), version, &frame).unwrap().found;
        assert!(found.iter().all(|address| address.host == "127.0.0.1"), "{key:?} {version}");
        let ports: Vec<i32> = found.iter().map(|address| address.port).collect();
        // Everywhere the same, as it was when all were named for the first time.
        let known = known.get_or_insert_with(|| ports.clone());
        assert_eq!(ports, known[..ports.len()], "{key:?} {version}");
        let heard = found.iter().zip(&named).map(|(address, (id, host, _))| {
            (*id, host.clone(), u16::try_from(address.port).unwrap())
        });
        assert_eq!(read(key, version, frame), answer(key, version, &heard.collect()));
    }
    for (port, echo) in known.unwrap().into_iter().zip(&echoes) {
        Client::connect(&format!("127.0.0.1:{port}")).exchange(12, 1);
        assert_eq!(echo.apis(), [12]);
    }
}

#[test]
fn unknown_brokers_do_not_reach_a_client_behind_an_edge() {
    let mut edges = Edges::start();
    let mut puppet = Puppet::start(&mut edges);
    let named = vec![(1, "broker".to_owned(), 9092)];
    let ResponseKind::Metadata(mut said) = answer(ApiKey::Metadata, 9, &named) else { panic!() };
    said.brokers[0].port = 70_000;
    assert_eq!(puppet.says(ApiKey::Metadata, 9, &ResponseKind::Metadata(said)), None);
    // More brokers than a client may have edges.
    let many: Brokers = (1..=300).map(|id| (id, format!("broker-{id}"), 9092)).collect();
    assert_eq!(puppet.says(ApiKey::Metadata, 9, &answer(ApiKey::Metadata, 9, &many)), None);
    assert!(edges.lives());
}

#[test]
fn a_coordinator_that_is_not_known_has_no_edge() {
    let mut edges = Edges::start();
    let mut puppet = Puppet::start(&mut edges);
    let said = FindCoordinatorResponse::default().with_error_code(15).with_port(-1);
    for version in 0..4 {
        let said = ResponseKind::FindCoordinator(said.clone());
        let frame = puppet.says(ApiKey::FindCoordinator, version, &said).unwrap();
        assert_eq!(frame, written(ApiKey::FindCoordinator, version, &said));
    }
}

/// A response in an unknown version, which no client should have negotiated.
#[test]
fn responses_of_unknown_versions_do_not_reach_the_client() {
    let mut edges = Edges::start();
    let mut puppet = Puppet::start(&mut edges);
    let mut ask = [3_i16.to_be_bytes(), 14_i16.to_be_bytes()].concat();
    ask.extend([0, 0, 0, 7, 0xff, 0xff, 0]);
    puppet.client.0.write_all(&framed(&ask)).unwrap();
    puppet.broker.write_all(&framed(&[0, 0, 0, 7, 0, 1, 2, 3])).unwrap();
    assert!(!matches!(puppet.client.end(), Ok(1..)));
}

/// What client and broker may agree upon can be read here.
#[test]
fn the_versions_that_a_client_hears_of_can_be_followed() {
    let mut edges = Edges::start();
    let mut puppet = Puppet::start(&mut edges);
    let api = |key: i16| {
        kafka_protocol::messages::api_versions_response::ApiVersion::default()
            .with_api_key(key)
            .with_max_version(99)
    };
    let said = ApiVersionsResponse::default().with_api_keys((0..93).map(api).collect());
    for version in 0..=4 {
        let said = ResponseKind::ApiVersions(said.clone());
        let frame = puppet.says(ApiKey::ApiVersions, version, &said).unwrap();
        let heard = read(ApiKey::ApiVersions, version, frame);
        let ResponseKind::ApiVersions(heard) = heard else { panic!() };
        let max = |key: ApiKey| heard.api_keys[number(key) as usize].max_version;
        let keys = [ApiKey::Metadata, ApiKey::Fetch, ApiKey::OffsetCommit, ApiKey::Heartbeat];
        assert_eq!(keys.map(max), [13, 18, 9, 4]);
        assert_eq!(max(ApiKey::CreateTopics), 99, "what is left as it is has no bound");
    }
}

/// After SaslHandshake v0 tokens pass without headers; then requests come again.
#[test]
fn tokens_without_a_header_pass_and_requests_are_known_again() {
    let mut edges = Edges::start();
    let mut puppet = Puppet::start(&mut edges);
    let handshake =
        framed(&[0, 17, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0, 5, b'P', b'L', b'A', b'I', b'N']);
    let (client, broker) = (&mut puppet.client.0, &mut puppet.broker);
    let pass = |from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]| {
        from.write_all(bytes).unwrap();
        let mut heard = vec![0; bytes.len()];
        to.read_exact(&mut heard).unwrap();
        assert_eq!(heard, bytes);
    };
    pass(client, broker, &handshake);
    pass(broker, client, &framed(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
    for token in [&b"\0User\0secret"[..], b"n,,n=user,r=nonce", b"x"] {
        pass(client, broker, &framed(token));
        pass(broker, client, &framed(b"v="));
    }
    let named = vec![(1, "127.0.0.1".to_owned(), 9)];
    let frame = puppet.says(ApiKey::Metadata, 9, &answer(ApiKey::Metadata, 9, &named)).unwrap();
    assert_ne!(broker_addresses(3, 9, &frame).unwrap().found[0].port, 9);
}

/// All that the embedded broker speaks, in all versions, as it says it without an edge.
#[test]
fn responses_without_brokers_pass_an_edge_unchanged() {
    let (mut edges, broker) = (Edges::start(), crate::proxy::kafka::Embedded::start());
    let real = broker.address.to_string();
    let mut here = Client::connect(&edges.open("p1-1", &real));
    let mut there = Client::connect(&real);
    let calm = [
        ApiKey::ListOffsets,
        ApiKey::ListGroups,
        ApiKey::DescribeConfigs,
        ApiKey::Fetch,
        ApiKey::ConsumerGroupHeartbeat,
        ApiKey::ConsumerGroupDescribe,
    ];
    for api in SUPPORTED.iter().filter(|api| calm.contains(&api.key)) {
        for version in api.min..=api.max {
            let (_, ask) = samples::written(api.key, version);
            here.0.write_all(&framed(&ask)).unwrap();
            there.0.write_all(&framed(&ask)).unwrap();
            assert_eq!(here.answer(), there.answer(), "{:?} {version}", api.key);
        }
    }
}
