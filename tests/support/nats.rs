//! A real NATS for a test. Without it the test fails.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::deployed::Deployed;
use crate::experiment::{output, signal_pid};

/// One server, which ends with this value.
pub struct Nats {
    deployed: Deployed,
    pub address: String,
}

impl Nats {
    pub fn up() -> Self {
        let deployed = Deployed::up("nats", "1");
        Self { address: deployed.addresses.clone(), deployed }
    }

    /// What puts `topologies/mixed-nats.yaml` onto it.
    pub fn mixed(&self) -> String {
        mixed(&self.address)
    }

    /// Kills it.
    pub fn kill(&self) {
        signal_pid(self.pid(), Signal::KILL);
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        let pid = fs::read_to_string(self.deployed.state().join("pid")).unwrap();
        pid.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Starts it again, at its address.
    pub fn start_again(&self) {
        let script = |name| {
            let mut script = Command::new(format!("{}/deploy/nats/{name}", crate::ROOT));
            script.arg("--state").arg(self.deployed.state());
            script
        };
        let (_, port) = self.address.rsplit_once(':').unwrap();
        let (mut down, mut up) = (script("down"), script("up"));
        for step in [&mut down, up.args(["--port", port])] {
            let done = output(step);
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
    }
}

/// What puts `topologies/mixed-nats.yaml` onto the NATS at this address.
pub fn mixed(address: &str) -> String {
    format!("-f topologies/mixed-nats.yaml --set clusters.n.nats={address}")
}
