//! A collector that others wrote, between us and the one that keeps all it got: Rotel, from PyPI,
//! in an environment of its own below the target folder.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::otlp::agrees::spans_agree;
use crate::otlp::many;
use crate::otlp::receiver::{Kept, Receiver};
use crate::otlp::trouble::PATIENT;
use support::experiment::{eventually, output, tandem};
use support::web::free_port;

const VERSION: &str = "0.0.1a15";
const PATIENCE: Duration = Duration::from_secs(60);

/// The collector's process. Dropped, it is gone.
struct Rotel {
    process: Child,
    http: String,
    grpc: String,
}

impl Drop for Rotel {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Runs a command that must succeed; what it said.
fn said(command: &mut Command) -> String {
    let done = output(command);
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.success(),
        "{command:?}: {stderr}; tests/all --install brings python3-venv"
    );
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

/// The program, installed once.
fn program() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rotel-{VERSION}"));
    let (python, complete) = (folder.join("bin/python"), folder.join("complete"));
    if !complete.exists() {
        said(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        said(install.arg(format!("rotel=={VERSION}")));
        std::fs::write(complete, "").unwrap();
    }
    let place = "import os, rotel; print(os.path.dirname(rotel.__file__))";
    let program = Path::new(&said(Command::new(&python).args(["-c", place]))).join("rotel-agent");
    // It comes without the right to be run; the package's own code gives it that.
    said(Command::new("chmod").arg("+x").arg(&program));
    program
}

impl Rotel {
    /// One that hands on all it gets to `receiver`.
    fn start(receiver: &Receiver) -> Self {
        let free = || format!("127.0.0.1:{}", free_port());
        let (http, grpc) = (free(), free());
        let mut command = Command::new(program());
        command.args(["start", "--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        command.args(["--exporter", "otlp", "--otlp-exporter-protocol", "grpc"]);
        command.args(["--otlp-exporter-endpoint", &receiver.url("http")]);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let rotel = Self { process: quiet.spawn().unwrap(), http, grpc };
        for address in [&rotel.http, &rotel.grpc] {
            eventually("the collector", PATIENCE, || TcpStream::connect(address).ok());
        }
        rotel
    }
}

/// What it handed on, once each: it sends again what is answered late.
fn handed_on(receiver: &Receiver) -> (Vec<Span>, Vec<LogRecord>) {
    let (mut spans, mut logs) = (receiver.spans(), receiver.logs());
    spans.sort_by(|one, other| {
        (&one.trace_id, &one.span_id).cmp(&(&other.trace_id, &other.span_id))
    });
    spans.dedup();
    logs.sort_by(|one, other| {
        (one.time_unix_nano, &one.event_name).cmp(&(other.time_unix_nano, &other.event_name))
    });
    logs.dedup();
    (spans, logs)
}

#[test]
fn a_collector_that_others_wrote_hands_on_all_of_it() {
    let trials = 20;
    let folder = many::written(trials);
    let recording = tandem::journal::read(&folder.path().join("journal.jsonl")).unwrap();
    for protocol in ["http/protobuf", "grpc"] {
        let receiver = Receiver::grpc(Kept::default(), None);
        let rotel = Rotel::start(&receiver);
        let address = if protocol == "grpc" { &rotel.grpc } else { &rotel.http };
        let state = tempfile::tempdir().unwrap();
        let mut command = tandem(state.path());
        command.arg("export").arg(folder.path()).args(["--otlp", &format!("http://{address}")]);
        command.args(PATIENT);
        let done = output(command.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol));
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{stderr}");
        let (spans, logs) = (many::spans(trials), 2 * trials as usize + 2);
        let (got, records) = eventually("all that was sent", PATIENCE, || {
            let got = handed_on(&receiver);
            (got.0.len() >= spans && got.1.len() >= logs).then_some(got)
        });
        assert_eq!((got.len(), records.len()), (spans, logs), "{protocol}");
        spans_agree(&recording, &got);
    }
}
