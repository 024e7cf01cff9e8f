//! The broker's process and the way to it, the commands of clients, and patience.

pub mod confluent;
pub mod groups;
pub mod java;
pub mod log;
pub mod readers;
pub mod shares;

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::broker_process::BrokerProcess;
use tandem::time::Mono;

use crate::edge::process::Edges;

/// Nothing here takes longer, however loaded the machine, and however slow the network from which
/// a client is fetched.
const PATIENCE: Duration = Duration::from_secs(600);

/// A broker process, which ends when this value is dropped, even if the test fails.
pub struct Broker {
    process: BrokerProcess,
    /// Where clients find it.
    pub address: String,
    _edges: Option<Edges>,
}

impl Broker {
    /// One that clients reach directly.
    pub fn direct() -> Self {
        let process = BrokerProcess::start();
        let address = process.address.clone();
        Self { process, address, _edges: None }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// One that clients reach through an edge.
    pub fn behind_an_edge() -> Self {
        let (mut broker, mut edges) = (Self::direct(), Edges::start());
        broker.address = edges.open("p1-1", &broker.address);
        broker._edges = Some(edges);
        broker
    }
}

/// A client in the background, killed at the latest with this value.
pub struct Background(pub Child);

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A command of a client that may be missing.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let program = Path::new(program.as_ref());
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    assert!(found, "{} is missing: tests/all --install", program.display());
    Command::new(program)
}

/// Runs a command that must succeed within ten minutes, with this on its standard input; what it
/// says.
pub fn said(command: &mut Command, input: &str) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let mut background = Background(child);
    // Read beside the wait: a pipe that is full would hold it up for ever.
    let out = drained(background.0.stdout.take().unwrap());
    let err = drained(background.0.stderr.take().unwrap());
    let status = eventually("the end of a command", || background.0.try_wait().unwrap());
    let done = Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() };
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{command:?} failed\n{out}\n{err}");
    out
}

fn drained(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Looks until there is something to see.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Mono::now();
    while Mono::now().since(began) < PATIENCE {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}: not within {PATIENCE:?}");
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
