//! A real ZooKeeper for a test. Without it the test fails.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::deployed::Deployed;
use crate::experiment::signal_pid;

/// One server or three, which end with this value.
pub struct ZooKeeper {
    deployed: Deployed,
    /// `host:port`, separated by commas.
    pub addresses: String,
}

impl ZooKeeper {
    /// One server.
    pub fn up() -> Self {
        Self::of("1")
    }

    /// One server with this `tickTime`, in milliseconds.
    pub fn ticking(tick: &str) -> Self {
        let deployed = Deployed::up_with("zookeeper", "1", &["--tick", tick]);
        Self { addresses: deployed.addresses.clone(), deployed }
    }

    /// An ensemble of three.
    pub fn three() -> Self {
        Self::of("3")
    }

    fn of(servers: &str) -> Self {
        let deployed = Deployed::up("zookeeper", servers);
        Self { addresses: deployed.addresses.clone(), deployed }
    }

    /// What puts `topologies/mixed-zookeeper.yaml` onto it.
    pub fn mixed(&self) -> String {
        let alone = !self.addresses.contains(',');
        // Servers of an ensemble need their part of a session.
        let pace =
            if alone { "" } else { " --set clusters.z.sync_limit=5 --set groups.p2.session=4s" };
        let addresses = &self.addresses;
        format!("-f topologies/mixed-zookeeper.yaml --set clusters.z.zookeeper={addresses}{pace}")
    }

    /// Sends a signal to the only server.
    pub fn signal(&self, signal: Signal) {
        self.signal_one(1, signal);
    }

    /// Sends a signal to one server; they count from 1.
    pub fn signal_one(&self, number: usize, signal: Signal) {
        signal_pid(self.pid(number), signal);
    }

    /// The process of one server.
    pub fn pid(&self, number: usize) -> u32 {
        let pid = self.deployed.state().join(format!("{number}/pid"));
        let pid = fs::read_to_string(pid).unwrap();
        pid.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Kills the server that leads the ensemble, and returns the addresses of the others.
    pub fn kill_leader(&self) -> Vec<String> {
        let servers: Vec<String> = self.addresses.split(',').map(str::to_owned).collect();
        let leads = |address: &String| mode(address).as_deref() == Some("leader");
        let leader = servers.iter().position(leads).expect("an ensemble has a leader");
        self.signal_one(leader + 1, Signal::KILL);
        let lives = |(number, server): (usize, &String)| (number != leader).then(|| server.clone());
        servers.iter().enumerate().filter_map(lives).collect()
    }
}

/// What the server at this address is: `standalone`, `leader`, `follower`; none if it serves none.
pub fn mode(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"srvr").ok()?;
    let mut said = String::new();
    stream.read_to_string(&mut said).ok()?;
    said.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::to_owned)
}
