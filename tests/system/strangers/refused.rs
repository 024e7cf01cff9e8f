//! Everything that listens on the loopback answers its owner, and no other user of the machine.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tandem::telemetry::{Metrics, Outlets, RunContext, bind};

use crate::strangers::another::{NOBODY, answer, as_nobody, as_ourselves, assert_success};
use support::experiment::{Experiment, eventually};
use support::facts::{brief, plan};
use support::recorded;
use support::up::{Up, nothing_is_left};

/// ApiVersions, version 0, correlation 1, no client id.
const API_VERSIONS: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff];

/// Its answer: correlation 1, no error, no APIs.
const NO_APIS: [u8; 14] = [0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];

/// A process of ours, which ends with its standard input.
struct Ours(Child);

impl Ours {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tandem"));
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// The next line that it prints, as JSON.
    fn line(&mut self) -> serde_json::Value {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn an_embedded_broker_refuses_another_user() {
    let mut broker = Ours::start(&["broker", "--listen", "127.0.0.1:0", "--until-eof"]);
    let line = broker.line();
    let address = line["listening"].as_str().unwrap();
    let heard = answer(as_ourselves("perl"), address, &API_VERSIONS);
    assert_eq!(heard.get(4..8), Some(&[0, 0, 0, 1][..]), "we are answered: {heard:?}");
    let heard = answer(as_nobody("perl"), address, &API_VERSIONS);
    assert!(heard.is_empty(), "{heard:?}");
}

#[test]
fn an_edge_refuses_another_user_and_the_broker_behind_it_hears_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let behind = listener.local_addr().unwrap();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            stream.read_exact(&mut [0; API_VERSIONS.len()]).unwrap();
            stream.write_all(&NO_APIS).unwrap();
            // Until the other side has enough.
            stream.read_to_end(&mut Vec::new()).ok();
        }
    });
    let mut edge = Ours::start(&["edge"]);
    let open = serde_json::json!({
        "open": {"client": "p1-1", "cluster": "a", "bootstrap": behind.to_string()}
    });
    writeln!(edge.0.stdin.as_mut().unwrap(), "{open}").unwrap();
    let line = edge.line();
    let address = line["opened"]["bootstrap"].as_str().unwrap();
    assert_eq!(answer(as_nobody("perl"), address, &API_VERSIONS), b"");
    assert_eq!(answer(as_ourselves("perl"), address, &API_VERSIONS), NO_APIS);
    assert_eq!(reached.load(Ordering::Relaxed), 1, "no connection reached the broker");
}

#[test]
fn metrics_are_served_to_their_owner_and_to_named_users() {
    let plan = plan(1, &[("p1", 1, 1)]);
    let context = || RunContext::of(&recorded::header("m", &plan, &brief(&plan, 1, &[])));
    let get = b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
    for (named, status) in [(&[][..], "403"), (&[NOBODY][..], "200")] {
        let scrape = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let scrape = scrape.with_users(named.iter().copied());
        let address = scrape.address().to_string();
        let outlets = Outlets { scrape: Some(scrape), push: None };
        let metrics = Metrics::start(&plan, &context(), outlets).unwrap();
        let read = |perl| {
            let heard = answer(perl, &address, get);
            String::from_utf8_lossy(&heard).split(' ').nth(1).map(str::to_owned)
        };
        assert_eq!(read(as_ourselves("perl")).as_deref(), Some("200"));
        assert_eq!(read(as_nobody("perl")).as_deref(), Some(status), "{named:?}");
        drop(metrics.finish());
    }
}

#[test]
fn an_unknown_user_and_a_public_address_are_refused_before_anything_starts() {
    let refused = |args: &str| {
        let finished = Experiment::calm("1s").with(args).finish();
        assert_eq!(finished.code(), Some(2), "{args}: {finished}");
        assert!(!finished.out.exists(), "{args}");
        finished.stderr
    };
    let said = refused("--metrics 127.0.0.1:0 --metrics-user no-such-user");
    assert!(said.contains("no user no-such-user"), "{said}");
    let said = refused("--metrics 0.0.0.0:0 --metrics-user nobody");
    assert!(said.contains("on the loopback"), "{said}");
    let said = refused("--metrics-user nobody");
    assert!(said.contains("--metrics"), "{said}");
}

/// Connects to a socket of the file system, asks how it stands, and prints the answer.
const UNIX: &str = r#"
use IO::Socket::UNIX;
$SIG{PIPE} = 'IGNORE';
alarm 120;
my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or do { print "no way: $!"; exit };
syswrite $socket, qq({"tandem":1,"ask":"status"}\n);
my $heard = '';
sysread $socket, $heard, 65536;
print $heard;
"#;

#[test]
fn status_answers_its_owner_alone() {
    let up = Up::start("-f topologies/solo.yaml");
    let doors = up.state().join("tandem/up");
    let socket = eventually("the socket", Duration::from_secs(60), || {
        let found = fs::read_dir(&doors).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut found = found.filter(|path| path.extension().is_some_and(|it| it == "sock"));
        found.next()
    });
    let asked = |mut perl: Command| {
        let done = perl.args(["-e", UNIX]).arg(&socket).output().unwrap();
        assert_success(&done);
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    assert!(asked(as_ourselves("perl")).contains("\"status\""), "we are answered");
    let said = asked(as_nobody("perl"));
    assert!(said.starts_with("no way"), "the folder is shut: {said}");
    // Another process opened every folder and the socket itself.
    for folder in socket.ancestors().skip(1).take_while(|it| it.starts_with(up.folder())) {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    let said = asked(as_nobody("perl"));
    assert!(said.contains("it answers only its owner"), "{said}");
    // And with the program itself, where that user can run it.
    let program = up.folder().join("tandem");
    support::install(&program);
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let mut status = as_nobody(&program.display().to_string());
    let done = status.arg("status").env("XDG_STATE_HOME", up.state()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(1) && !said.is_empty(), "{said}");
    assert!(done.stdout.is_empty(), "{}", String::from_utf8_lossy(&done.stdout));
    let state = up.state().to_owned();
    let mut up = up;
    up.signal(rustix::process::Signal::TERM);
    assert!(up.ends().success(), "{}", up.said());
    nothing_is_left(&state);
}

#[test]
fn a_refused_client_cannot_fill_a_log() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tandem"));
    command.args(["broker", "--listen", "127.0.0.1:0", "--until-eof"]);
    command.env_remove("RUST_LOG").env("NO_COLOR", "1").stderr(Stdio::piped());
    let mut broker = Ours(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let line = broker.line();
    for _ in 0..3 {
        let heard = answer(as_nobody("perl"), line["listening"].as_str().unwrap(), &API_VERSIONS);
        assert!(heard.is_empty(), "{heard:?}");
    }
    drop(broker.0.stdin.take());
    let mut log = String::new();
    broker.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("refused")).collect();
    assert!(lines.len() == 1 && lines[0].contains("user 65534"), "{log}");
}
