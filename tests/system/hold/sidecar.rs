//! `tandem hold --serve` as a program of any language meets it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use support::experiment::{eventually, signal_pid};
use support::held::{SOON, Stage};
use support::web::{ask, get};
use tandem::time::Mono;

use crate::documented::python::{VALIDATOR, ask as ask_python};
use crate::strangers::another::{answer, as_nobody, as_ourselves};

/// A leader that leads on while the host stops any process for two seconds.
const LONG: &str = "mode: exclusive, session: 30s, heartbeat: 300ms, hold: 10s";
/// The same for sessions alone: a member waits for the hold before it gives its role back.
const BRIEF: &str = "mode: exclusive, session: 30s, heartbeat: 300ms, hold: 1500ms";

/// The answer for role `r`, as status and JSON.
fn role(port: u16) -> (u16, Value) {
    let (status, body) = get(port, "/v1/roles/r").unwrap();
    (status, serde_json::from_str(&body).unwrap())
}

fn leads(port: u16) -> Value {
    eventually("the lead", SOON, || {
        let (status, body) = role(port);
        (status == 200).then_some(body)
    })
}

fn health(port: u16, well: bool) -> (u16, String) {
    ask(port, "PUT /v1/health", "", &json!({ "well": well }).to_string()).unwrap()
}

#[test]
fn a_program_learns_what_it_leads_and_for_how_long() {
    let stage = Stage::new(LONG);
    let (_hold, port) = stage.serve("a", &[]);
    let body = leads(port);
    assert_eq!(body["role"], "r");
    assert_eq!(body["promised"], true);
    assert!(body["fence"].as_i64().is_some_and(|fence| fence > 0), "{body}");
    // No promise is longer than the hold, counted from before the request.
    for _ in 0..50 {
        let left = role(port).1["remaining_ms"].as_u64().unwrap();
        assert!(left <= 10_000 && left > 0, "{left}");
    }
    assert_eq!(get(port, "/v1/roles/x").unwrap().0, 404);
    assert_eq!(get(port, "/livez").unwrap(), (200, "alive\n".to_owned()));
    let ready = (200, "ready\n".to_owned());
    eventually("a member that is ready", SOON, || {
        (get(port, "/readyz").unwrap() == ready).then_some(())
    });
    let row = "tandem_hold_led_partitions{group=\"p1\",member=\"a\"} 1\n";
    eventually(row, SOON, || get(port, "/metrics").ok()?.1.contains(row).then_some(()));
}

#[test]
fn a_job_that_holds_its_promise_to_the_last_meets_no_successor() {
    let stage = Stage::new(BRIEF);
    let (mut first, port) = stage.serve("a", &[]);
    let (_second, other) = stage.serve("b", &[]);
    // Both have joined: a rebalance takes the role from its leader for a moment.
    assert_eq!(stage.settled(2), "a", "round robin gives the only partition to the first");
    // A clock, then the question; the promise lasts from the clock on.
    let (asked, left) = eventually("a promise", SOON, || {
        let asked = Mono::now(); // clock: a program does so
        role(port).1["remaining_ms"].as_u64().map(|left| (asked, left))
    });
    first.signal(Signal::TERM);
    let successor = eventually("the successor", SOON, || {
        (role(other).0 == 200).then(Mono::now) // clock: no later than this
    });
    assert!(successor >= asked + Duration::from_millis(left), "{successor:?} {asked:?} {left}");
    assert_eq!(first.ends().code(), Some(0));
}

#[test]
fn an_ill_program_hands_its_roles_over_and_takes_them_back() {
    let stage = Stage::new("session: 10s");
    let (_first, port) = stage.serve("a", &[]);
    leads(port);
    let mut events = follow(port);
    // The stream begins with what is led. It has begun before anything else is asked.
    assert_eq!(events.next().as_deref(), Some("claimed"));
    assert_eq!(health(port, false).0, 200);
    eventually("the end of the lead", SOON, || (role(port).0 == 409).then_some(()));
    let (status, body) = get(port, "/readyz").unwrap();
    assert!(status == 503 && body.contains("cannot do the work"), "{status} {body}");
    let (_second, other) = stage.serve("b", &[]);
    leads(other);
    health(other, false);
    assert_eq!(health(port, true).0, 200);
    leads(port);
    // What happened while it began is sent twice.
    let rest = events.skip_while(|name| name == "claimed");
    let names: Vec<String> = rest.take(3).collect();
    assert_eq!(names, ["lapsed", "left", "claimed"]);
}

/// The names of the events, as they come; `connected` may come at any time.
fn follow(port: u16) -> impl Iterator<Item = String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(b"GET /v1/events HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let names = lines.filter_map(|line| line.strip_prefix("event: ").map(str::to_owned));
    names.filter(|name| !name.ends_with("connected"))
}

#[test]
fn only_who_may_changes_anything() {
    let stage = Stage::new("session: 2s");
    fs::write(stage.path("token"), "secret\n").unwrap();
    let (_hold, port) = stage.serve("a", &["--token-file", "token"]);
    let put = |headers: &str| ask(port, "PUT /v1/health", headers, "{\"well\":true}").unwrap().0;
    assert_eq!(put(""), 401);
    assert_eq!(put("Authorization: Bearer secre\r\n"), 401);
    assert_eq!(put("Authorization: Bearer secret\r\n"), 200);
    let wrong = ask(port, "PUT /v1/health", "Authorization: Bearer secret\r\n", "{}").unwrap();
    assert!(wrong.0 == 400 && wrong.1.contains("write {\\\"well\\\": true}"), "{wrong:?}");
    let (_hold, port) = stage.serve("b", &[]);
    let request = b"PUT /v1/health HTTP/1.0\r\nContent-Length: 13\r\n\r\n{\"well\":true}";
    let address = format!("127.0.0.1:{port}");
    let status = |perl| String::from_utf8(answer(perl, &address, request)).unwrap();
    assert!(status(as_ourselves("perl")).starts_with("HTTP/1.0 200"));
    assert!(status(as_nobody("perl")).starts_with("HTTP/1.0 403"));
    let mut open = stage.command("c", &["--serve", "0.0.0.0:0"], &[]);
    assert_eq!(open.status().unwrap().code(), Some(2));
    assert!(stage.said("c.err").contains("takes a --token-file"), "{}", stage.said("c.err"));
}

#[test]
fn members_that_lose_their_brokers_are_not_ready_and_do_not_lead() {
    let stage = Stage::exclusive();
    let (_hold, port) = stage.serve("a", &[]);
    leads(port);
    signal_pid(stage.broker.pid(), Signal::STOP);
    eventually("the end of the claim", SOON, || (role(port).0 == 409).then_some(()));
    eventually("the reason", SOON, || {
        let (status, body) = get(port, "/readyz").unwrap();
        (status == 503 && body.contains("the brokers cannot be reached")).then_some(())
    });
    signal_pid(stage.broker.pid(), Signal::CONT);
    leads(port);
}

/// The answers are what the OpenAPI file says; the validator is not ours.
#[test]
fn answers_match_the_openapi_file() {
    let stage = Stage::new(LONG);
    let (_hold, port) = stage.serve("a", &[]);
    leads(port);
    let text = fs::read_to_string("deploy/schema/hold.openapi.json").unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let served: Value = serde_json::from_str(&get(port, "/openapi.json").unwrap().1).unwrap();
    assert_eq!(served, file);
    let health_body = "{\"well\":true}";
    let answers = [
        ("/v1/roles/{role}", "get", "200", get(port, "/v1/roles/r").unwrap()),
        ("/v1/roles/{role}", "get", "404", get(port, "/v1/roles/x").unwrap()),
        ("/v1/health", "put", "200", ask(port, "PUT /v1/health", "", health_body).unwrap()),
        ("/v1/health", "put", "400", ask(port, "PUT /v1/health", "", "x").unwrap()),
    ];
    // Ill, it leads no more and is not ready.
    health(port, false);
    eventually("the end of the lead", SOON, || (role(port).0 == 409).then_some(()));
    let more = [
        ("/v1/roles/{role}", "get", "409", get(port, "/v1/roles/r").unwrap()),
        ("/readyz", "get", "503", get(port, "/readyz").unwrap()),
    ];
    let mut lines = Vec::new();
    for (number, (path, method, status, (code, body))) in
        answers.into_iter().chain(more).enumerate()
    {
        assert_eq!(code.to_string(), status, "{method} {path}: {body}");
        let answer = &file["paths"][path][method]["responses"][status];
        let mut schema = answer["content"]["application/json"]["schema"].clone();
        assert!(schema.is_object(), "{method} {path} {status} is not described");
        schema["components"] = file["components"].clone();
        let write = |name: String, text: String| {
            fs::write(stage.path(&name), text).unwrap();
            stage.path(&name)
        };
        let schema = write(format!("schema-{number}"), schema.to_string());
        let body = write(format!("answer-{number}"), body);
        lines.push(json!({"schema": schema, "file": body, "form": "json"}).to_string());
        // Another answer would be refused.
        let wrong = write(format!("wrong-{number}"), "{\"rolle\": 1}".to_owned());
        lines.push(json!({"schema": schema, "file": wrong, "form": "json"}).to_string());
    }
    for (number, errors) in ask_python("validate.py", &VALIDATOR, &lines).iter().enumerate() {
        let is_fine = errors.as_array().unwrap().is_empty();
        assert_eq!(is_fine, number % 2 == 0, "{}: {errors}", lines[number]);
    }
}

#[test]
fn a_member_that_does_not_lead_says_where_the_leader_is() {
    let stage = Stage::new("session: 10s");
    let one = stage.serve("a", &["--advertise", "host-a:1"]);
    let two = stage.serve("b", &["--advertise", "host-b:2"]);
    let ports = [(one.1, "host-a:1"), (two.1, "host-b:2")];
    eventually("the address of the leader", SOON, || {
        let leads = |port| role(port).0 == 200;
        let [(first, _), (second, _)] = ports;
        let ((_, address), (other, _)) = match (leads(first), leads(second)) {
            (true, false) => (ports[0], ports[1]),
            (false, true) => (ports[1], ports[0]),
            (true, true) | (false, false) => return None,
        };
        let (status, body) = role(other);
        (status == 409 && body["leader"] == address).then_some(())
    });
}

/// An answer on a Unix socket: its status, and its body.
fn over_unix(path: &std::path::Path, request: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = std::os::unix::net::UnixStream::connect(path).ok()?;
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nHost: tandem\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .ok()?;
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

#[test]
fn a_sidecar_answers_on_a_unix_socket_its_own_user_alone() {
    let stage = Stage::exclusive();
    let path = stage.path("a.sock");
    // What a process that has ended left there is no obstacle; another file is.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut hold = stage.hold_at("a", &["--serve", "unix:a.sock"]);
    let led = || over_unix(&path, "GET /v1/roles/r", "").filter(|(status, _)| *status == 200);
    let (_, body) = eventually("the lead", SOON, led);
    assert!(body.contains("\"promised\":true"), "{body}");
    assert!(stage.said("a.err").contains("answers on unix:/"), "{}", stage.said("a.err"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "only its own user may connect");
    let ill = over_unix(&path, "PUT /v1/health", "{\"well\":false}").unwrap();
    assert_eq!(ill.0, 200, "{}", ill.1);
    eventually("the end of the lead", SOON, || {
        over_unix(&path, "GET /v1/roles/r", "").filter(|(status, _)| *status == 409)
    });
    hold.signal(Signal::TERM);
    assert_eq!(hold.ends().code(), Some(0));
    assert!(!path.exists(), "the socket is removed");
    fs::write(&path, "a file").unwrap();
    let mut refused = stage.hold_at("a", &["--serve", "unix:a.sock"]);
    assert_eq!(refused.ends().code(), Some(1));
    assert_eq!(stage.said("a.sock"), "a file");
}

#[test]
fn a_program_asks_for_the_leader_of_a_key() {
    let stage = Stage::new(BRIEF);
    let (_plain, first) = stage.serve("a", &[]);
    leads(first);
    let (status, body) = get(first, "/v1/keys/somekey").unwrap();
    assert!(status == 404 && body.contains("has no slots"), "{status} {body}");
    let (_hold, port) = stage.serve("b", &["--set", "slots={count: 16384, hash: crc16}"]);
    // Of two roles, the slots with even numbers belong to the first.
    for (key, role) in [("somekey", "r"), ("foo%7Bhash_tag%7D", "s"), ("bar%7Bhash_tag%7D", "s")] {
        let (status, body) = get(port, &format!("/v1/keys/{key}")).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        // Another member leads all roles of the only partition.
        assert_eq!((status, body["role"].as_str()), (409, Some(role)), "{key}: {body}");
    }
    // It hands over, and the answers say the same of the leader.
    health(first, false);
    eventually("the lead of each key", SOON, || {
        let led = ["somekey", "x"].map(|key| get(port, &format!("/v1/keys/{key}")).unwrap().0);
        (led == [200, 200]).then_some(())
    });
}
