//! Scenes of one connection: a broker that asks for a user, over plain text or TLS, and what the
//! member makes of what it says.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, FindCoordinatorResponse, RequestHeader, RequestKind,
    ResponseHeader, ResponseKind, SaslAuthenticateResponse, SaslHandshakeResponse,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use super::line::{Address, Answer, Line};
use super::security::Security;
use super::wire::Speaker;
use crate::kafka::{Access, Cluster};
use tandem_host::secret::Secret;
use tandem_neli::membership::{Assignors, GroupConfig, Request, RequestId, Response};

/// No answer takes longer, however loaded the machine.
pub(super) const SOON: Duration = Duration::from_secs(60);

/// How long a session lasts that is to end. A host that stops the test for longer may end it sooner
/// than the test does: [`asked`] leaves out what follows from that.
pub(super) const BRIEF_MS: i64 = 500;

/// Waits for longer than that: the next request finds the session over.
pub(super) fn outlast_the_session() {
    std::thread::sleep(Duration::from_millis(600));
}

/// What was received, in order. A session that was over before its first request was begun again,
/// perhaps more than once: that is one login.
pub(super) fn asked(seen: &Seen) -> Vec<ApiKey> {
    let twice = [LOGIN, LOGIN].concat();
    let mut asked = Vec::new();
    for key in &*seen.lock().unwrap() {
        asked.push(*key);
        if asked.ends_with(&twice) {
            asked.truncate(asked.len() - LOGIN.len());
        }
    }
    asked
}

/// What a broker of a scene has received, in order.
pub(super) type Seen = Arc<Mutex<Vec<ApiKey>>>;

/// Answers requests; the user is `m` with the password `open sesame`, or a token that begins with
/// `good`, and its session lasts this.
pub(super) fn serve(mut stream: impl Read + Write, seen: &Seen, session_ms: i64) -> Option<()> {
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length).ok()?;
        let mut frame = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
        stream.read_exact(&mut frame).ok()?;
        let key = ApiKey::try_from(i16::from_be_bytes([frame[0], frame[1]])).unwrap();
        let version = i16::from_be_bytes([frame[2], frame[3]]);
        let mut frame = Bytes::from(frame);
        RequestHeader::decode(&mut frame, key.request_header_version(version)).unwrap();
        let request = RequestKind::decode(key, &mut frame, version).unwrap();
        seen.lock().unwrap().push(key);
        let mut bytes = BytesMut::new();
        bytes.put_i32(0);
        let header = key.response_header_version(version);
        ResponseHeader::default().encode(&mut bytes, header).unwrap();
        answer(&request, session_ms).encode(&mut bytes, version).unwrap();
        let length = u32::try_from(bytes.len() - 4).unwrap();
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        stream.write_all(&bytes).ok()?;
    }
}

/// What it has against a token (RFC 7628, 3.2.2).
pub(super) const REFUSAL: &str = "{\"status\":\"invalid_token\"}";

#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is asked")]
fn answer(request: &RequestKind, session_ms: i64) -> ResponseKind {
    match request {
        RequestKind::ApiVersions(_) => {
            let keys = [(10, 4), (17, 1), (18, 4), (36, 2)].map(|(key, newest)| {
                ApiVersion::default().with_api_key(key).with_max_version(newest)
            });
            let versions = ApiVersionsResponse::default().with_api_keys(keys.to_vec());
            ResponseKind::ApiVersions(versions)
        }
        RequestKind::SaslHandshake(it) => {
            let mechanisms = ["PLAIN", "OAUTHBEARER"].map(StrBytes::from_static_str).to_vec();
            let known = mechanisms.contains(&it.mechanism);
            let answer = SaslHandshakeResponse::default().with_mechanisms(mechanisms);
            ResponseKind::SaslHandshake(answer.with_error_code(if known { 0 } else { 33 }))
        }
        RequestKind::SaslAuthenticate(it) => {
            let answer = SaslAuthenticateResponse::default();
            let given = String::from_utf8_lossy(&it.auth_bytes).into_owned();
            let is_token =
                given.starts_with("n,,\u{1}auth=Bearer ") && given.ends_with("\u{1}\u{1}");
            let is_good = is_token && given.contains(" good");
            ResponseKind::SaslAuthenticate(if given == "\0m\0open sesame" || is_good {
                answer.with_session_lifetime_ms(session_ms)
            } else if is_token {
                answer.with_auth_bytes(REFUSAL.into())
            } else if given == "\u{1}" {
                answer.with_error_code(58).with_error_message(Some(REFUSAL.into()))
            } else {
                let message = format!("not {given}\u{1b}[31m");
                answer.with_error_code(58).with_error_message(Some(message.into()))
            })
        }
        RequestKind::FindCoordinator(_) => {
            let answer = FindCoordinatorResponse::default();
            let host = StrBytes::from_static_str("there");
            ResponseKind::FindCoordinator(answer.with_host(host).with_port(9092))
        }
        other => panic!("not in this scene: {other:?}"),
    }
}

/// A member's connection to `address`, with these properties, and these as secrets: each in a file.
pub(super) struct Scene {
    line: Line,
    answers: Receiver<Answer>,
    folder: tempfile::TempDir,
}

impl Scene {
    pub(super) fn of(port: u16, properties: &[(&str, &str)], secrets: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secret = |(key, value): &(&str, &str)| {
            let file = folder.path().join(key);
            std::fs::write(&file, value).unwrap();
            ((*key).to_owned(), Secret::File(file.display().to_string()))
        };
        let property = |(key, it): &(&str, &str)| ((*key).to_owned(), (*it).to_owned());
        let access = Access {
            properties: properties.iter().map(property).collect::<BTreeMap<_, _>>(),
            secrets: secrets.iter().map(secret).collect(),
        };
        let cluster = Cluster { bootstrap: format!("127.0.0.1:{port}"), access };
        let security = Security::of(&cluster, SOON);
        let mut security = security.unwrap_or_else(|error| panic!("{error}"));
        // Handshakes may outlast the request for which they are made: here for longer than a host
        // stops a test.
        security.handshakes *= 100;
        let group = GroupConfig {
            group: "g".parse().unwrap(),
            topic: "t".parse().unwrap(),
            width: std::num::NonZeroU32::MIN,
            instance: None,
            assignors: Assignors::parse("range").unwrap(),
            session: Duration::from_secs(1),
            heartbeat: Duration::from_millis(100),
            rebalance: Duration::from_secs(10),
            renews_id: false,
            commit: None,
            learns: None,
            wall_ms: 0,
            gives_way: None,
            hold: Duration::ZERO,
            backoff: Duration::from_millis(20),
            backoff_max: Duration::from_millis(200),
            seed: 0,
        };
        let speaker = Arc::new(Speaker::new("m-1.1".to_owned(), &group));
        let (to_answers, answers) = channel();
        let address = Address { host: "127.0.0.1".to_owned(), port };
        let line = Line::open(address, speaker, Arc::new(security), to_answers);
        Self { line, answers, folder }
    }

    /// Another value of a secret.
    pub(super) fn rewrite(&self, key: &str, value: &str) {
        std::fs::write(self.folder.path().join(key), value).unwrap();
    }

    /// Finds the coordinator; the error is why that failed, and whether one side refuses the other.
    pub(super) fn find(&mut self) -> Result<(), (String, bool)> {
        assert!(self.line.send(RequestId(1), Request::FindCoordinator));
        let answer = self.answers.recv_timeout(SOON).unwrap();
        self.line.free();
        match answer.response {
            Ok(Response::Coordinator(broker)) => {
                assert_eq!((broker.host.as_str(), broker.port), ("there", 9092));
                Ok(())
            }
            Ok(other) => panic!("{other:?}"),
            Err(broken) => Err((broken.why, broken.refused)),
        }
    }
}

/// A broker that speaks plain text, for one connection.
pub(super) fn plain(session_ms: i64) -> (u16, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Seen::default();
    let shared = Arc::clone(&seen);
    std::thread::spawn(move || serve(listener.accept().unwrap().0, &shared, session_ms));
    (port, seen)
}

const PLAIN: [(&str, &str); 3] =
    [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", "PLAIN"), ("sasl.username", "m")];
pub(super) const LOGIN: [ApiKey; 2] = [ApiKey::SaslHandshake, ApiKey::SaslAuthenticate];

#[test]
fn a_user_authenticates_before_the_first_request_and_not_again() {
    let (port, seen) = plain(0);
    let mut scene = Scene::of(port, &PLAIN, &[("sasl.password", "open sesame\n")]);
    scene.find().unwrap();
    scene.find().unwrap();
    let find = ApiKey::FindCoordinator;
    let expected = [&[ApiKey::ApiVersions][..], &LOGIN, &[find, find]].concat();
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_session_that_ends_is_renewed_on_the_same_connection() {
    let (port, seen) = plain(BRIEF_MS);
    let mut scene = Scene::of(port, &PLAIN, &[("sasl.password", "open sesame")]);
    scene.find().unwrap();
    outlast_the_session();
    scene.find().unwrap();
    let find = [ApiKey::FindCoordinator];
    let expected = [&[ApiKey::ApiVersions][..], &LOGIN, &find, &LOGIN, &find].concat();
    assert_eq!(asked(&seen), expected);
}

#[test]
fn a_refused_user_is_named_and_its_password_is_not() {
    let (port, _) = plain(0);
    let mut scene = Scene::of(port, &PLAIN, &[("sasl.password", "let me in")]);
    let (why, refused) = scene.find().unwrap_err();
    assert!(refused && why.starts_with("the cluster refuses user m: the name, the"), "{why}");
    assert!(why.contains("***") && !why.contains("let me in"), "{why}");
    assert!(!why.contains('\u{1b}'), "control characters are escaped: {why}");
}

#[test]
fn a_mechanism_that_the_broker_lacks_is_refused_with_those_that_it_has() {
    if !cfg!(feature = "tls") {
        return;
    }
    let (port, _) = plain(0);
    let scram = [PLAIN[0], ("sasl.mechanism", "SCRAM-SHA-256"), PLAIN[2]];
    let mut scene = Scene::of(port, &scram, &[("sasl.password", "x")]);
    let (why, refused) = scene.find().unwrap_err();
    assert!(refused && why.contains("broker's supported mechanisms: PLAIN"), "{why}");
}

#[test]
fn a_broker_that_goes_silent_holds_up_no_member_that_gives_up() {
    for protocol in ["SASL_PLAINTEXT", "SASL_SSL"] {
        if protocol == "SASL_SSL" && !cfg!(feature = "tls") {
            continue;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let properties = [("security.protocol", protocol), PLAIN[1], PLAIN[2]];
        let mut scene = Scene::of(port, &properties, &[("sasl.password", "x")]);
        assert!(scene.line.send(RequestId(1), Request::FindCoordinator));
        let (mut silent, _) = listener.accept().unwrap();
        // It has begun, and waits for an answer.
        assert!(silent.read(&mut [0; 1]).unwrap() > 0);
        drop(scene.line);
        let answer = scene.answers.recv_timeout(SOON).unwrap();
        assert!(answer.response.is_err_and(|broken| !broken.refused), "{protocol}");
    }
}

#[test]
fn handshakes_go_on_although_the_request_that_waits_for_them_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut scene = Scene::of(port, &PLAIN, &[("sasl.password", "open sesame")]);
    assert!(scene.line.send(RequestId(1), Request::FindCoordinator));
    let (slow, _) = listener.accept().unwrap();
    assert_eq!(slow.peek(&mut [0; 1]).unwrap(), 1, "it has begun");
    assert!(scene.line.forget(RequestId(1)));
    assert!(!scene.line.is_busy());
    assert!(scene.line.send(RequestId(2), Request::FindCoordinator));
    let seen = Seen::default();
    let shared = Arc::clone(&seen);
    std::thread::spawn(move || serve(slow, &shared, 0));
    let answer = scene.answers.recv_timeout(SOON).unwrap();
    assert!(answer.id == RequestId(2) && answer.response.is_ok());
    let find = ApiKey::FindCoordinator;
    assert_eq!(*seen.lock().unwrap(), [&[ApiKey::ApiVersions][..], &LOGIN, &[find]].concat());
    // Once requests go out, one that is given up takes its connection along.
    assert!(!scene.line.forget(RequestId(2)));
}
