//! `tandem broker` as a process: it says where it answers, and ends when it is asked to.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use kafka_protocol::messages::{ApiKey, ResponseKind};
use rustix::process::{Pid, Signal, kill_process};

use crate::embedded::support::{Running, eventually};
use crate::embedded::versions::Raw;
use support::samples;

/// A broker process; killed if the test ends before it.
struct Process(Child);

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_tandem"))
            .args(["broker", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    fn address(&mut self) -> SocketAddr {
        let mut line = String::new();
        BufReader::new(self.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        said.get("listening").unwrap().as_str().unwrap().parse().unwrap()
    }

    fn ends_well(&mut self) {
        let status = eventually("the end", || self.0.try_wait().unwrap());
        assert!(status.success(), "{status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn is_answered_at(address: SocketAddr) {
    let mut raw = Raw::connect(&Running::elsewhere(address));
    raw.send(&samples::written(ApiKey::Metadata, 1).1);
    drop(raw.receive(ApiKey::Metadata, 1));
}

#[test]
fn it_ends_with_its_standard_input() {
    let mut process = Process::start(&["--until-eof"]);
    is_answered_at(process.address());
    drop(process.0.stdin.take());
    process.ends_well();
}

#[test]
fn it_ends_when_asked_and_not_with_its_standard_input() {
    let mut process = Process::start(&[]);
    drop(process.0.stdin.take());
    is_answered_at(process.address());
    kill_process(Pid::from_child(&process.0), Signal::TERM).unwrap();
    process.ends_well();
}

/// Behind a mapped port or a proxy, clients cannot reach the address on which it listens.
#[test]
fn metadata_names_the_address_that_it_advertises() {
    let mut process = Process::start(&["--advertise", "[::1]:19092"]);
    let mut raw = Raw::connect(&Running::elsewhere(process.address()));
    raw.send(&samples::written(ApiKey::Metadata, 1).1);
    let ResponseKind::Metadata(metadata) = raw.receive(ApiKey::Metadata, 1) else { panic!() };
    let named = metadata.brokers.iter().map(|one| (one.host.as_str(), one.port));
    assert_eq!(named.collect::<Vec<_>>(), [("::1", 19_092)]);
}
