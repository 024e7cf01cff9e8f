//! A real etcd for a test. Without it the test fails.

use std::fs;

use rustix::process::Signal;

use crate::deployed::Deployed;
use crate::experiment::signal_pid;

/// One etcd or three, which ends with this value.
pub struct Etcd {
    deployed: Deployed,
    pub address: String,
}

impl Etcd {
    /// One server.
    pub fn up() -> Self {
        Self::of("1")
    }

    /// A cluster of three.
    pub fn three() -> Self {
        Self::of("3")
    }

    fn of(servers: &str) -> Self {
        let deployed = Deployed::up("etcd", servers);
        Self { address: deployed.addresses.clone(), deployed }
    }

    /// What puts `topologies/mixed-etcd.yaml` onto it.
    pub fn mixed(&self) -> String {
        format!("-f topologies/mixed-etcd.yaml --set clusters.e.etcd={}", self.address)
    }

    /// Kills it.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Sends the first server a signal.
    pub fn signal(&self, signal: Signal) {
        self.signal_one(1, signal);
    }

    /// Sends a signal to one server; they count from 1.
    pub fn signal_one(&self, number: usize, signal: Signal) {
        signal_pid(self.pid(number), signal);
    }

    /// The process of one server.
    pub fn pid(&self, number: usize) -> u32 {
        let pid = fs::read_to_string(self.deployed.state().join("pid")).unwrap();
        let pid = pid.lines().nth(number - 1).unwrap().split_whitespace().next().unwrap();
        pid.parse().unwrap()
    }
}
