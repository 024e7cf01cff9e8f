//! The endpoint of `chaos run`: what it refuses, and what it bears.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use tandem::telemetry::{Metrics, Outlets, bind};

use support::experiment::Experiment;
use support::web::get;

/// No answer takes longer, however loaded the machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn refused(args: &str) -> (Option<i32>, String, bool) {
    let finished = Experiment::new("chaos/kill-leader.yaml").with(args).finish();
    let began = finished.out.exists();
    (finished.code(), finished.stderr, began)
}

#[test]
fn an_invalid_address_is_refused_before_anything_starts() {
    for bad in ["localhost", "127.0.0.1", "9464", "127.0.0.1:99999"] {
        let (code, stderr, began) = refused(&format!("--metrics {bad}"));
        assert_eq!(code, Some(2), "{bad}: {stderr}");
        assert!(stderr.contains("as in 127.0.0.1:9464") && !began, "{bad}: {stderr}");
    }
}

#[test]
fn a_port_that_is_taken_is_refused_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let (code, stderr, began) = refused(&format!("--metrics {address}"));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("name another address with --metrics") && !began, "{stderr}");
}

#[test]
fn an_invalid_interval_is_refused_before_anything_starts() {
    for bad in ["often", "0", "-1", "1.5"] {
        let script: &'static str = match bad {
            "often" => "export OTEL_METRIC_EXPORT_INTERVAL=often",
            "0" => "export OTEL_METRIC_EXPORT_INTERVAL=0",
            "-1" => "export OTEL_METRIC_EXPORT_INTERVAL=-1",
            _ => "export OTEL_METRIC_EXPORT_INTERVAL=1.5",
        };
        let finished = Experiment::new("chaos/kill-leader.yaml").after(script).finish();
        assert_eq!(finished.code(), Some(2), "{finished}");
        assert!(finished.stderr.contains("number of milliseconds"), "{finished}");
    }
}

#[test]
fn a_client_that_sends_nothing_or_too_much_keeps_no_other_out() {
    let plan = support::facts::plan(1, &[("p1", 1, 1)]);
    let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.address().port();
    let outlets = Outlets { scrape: Some(listener), push: None };
    let metrics = Metrics::start(&plan, &crate::metrics::feed::context(&plan), outlets).unwrap();
    // As many as there are seats, and all of them silent.
    let silent: Vec<_> =
        (0..16).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    // They do not go by themselves: each is ended once its place is needed.
    let mut waited = TcpStream::connect(("127.0.0.1", port)).unwrap();
    waited.set_read_timeout(Some(PATIENCE)).unwrap();
    waited.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    waited.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    drop(silent);

    let mut talker = TcpStream::connect(("127.0.0.1", port)).unwrap();
    talker.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut said = talker.write_all(b"GET /metrics HTTP/1.0\r\nX: ");
    for _ in 0..1_024 {
        if said.is_ok() {
            said = talker.write_all(&[b'x'; 1_024]);
        }
    }
    // Cut off, or answered that it says too much; a mebibyte is not read.
    let mut answer = Vec::new();
    let read = talker.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    assert!(read.is_err() || said.is_err() || !text.contains("200 OK"), "{text}");
    assert_eq!(get(port, "/nowhere").unwrap().0, 404);
    assert_eq!(get(port, "/").unwrap().0, 200);

    // It ends although a connection is open.
    let _open = TcpStream::connect(("127.0.0.1", port)).unwrap();
    drop(metrics);
    assert!(get(port, "/").is_err());
}
