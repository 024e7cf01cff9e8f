//! A real etcd for a test. Without it the test fails.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::experiment::{output, signal_pid};
use crate::kafka::free_ports;

/// One etcd, which ends with this value.
pub struct Etcd {
    folder: TempDir,
    pub address: String,
}

impl Etcd {
    /// Starts it with `deploy/etcd/up`.
    pub fn up() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("etcd");
        let port = free_ports(1).to_string();
        let mut up = Command::new(format!("{}/deploy/etcd/up", crate::ROOT));
        let done = output(up.args(["--port", &port, "--state"]).arg(&state));
        let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self { folder, address: said }
    }

    /// What puts `topologies/mixed-etcd.yaml` onto it.
    pub fn mixed(&self) -> String {
        format!("-f topologies/mixed-etcd.yaml --set clusters.e.etcd={}", self.address)
    }

    /// Kills it.
    pub fn kill(&self) {
        let pid = fs::read_to_string(self.state().join("pid")).unwrap();
        signal_pid(pid.split_whitespace().next().unwrap().parse().unwrap(), Signal::KILL);
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("etcd")
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let mut down = Command::new(format!("{}/deploy/etcd/down", crate::ROOT));
        // The folder goes in any case.
        down.arg("--state").arg(self.state()).output().ok();
    }
}
