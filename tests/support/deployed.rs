//! A real store for a test, started on this machine by a script below `deploy`. Without it the test
//! fails.

use std::path::PathBuf;
use std::process::Command;

use crate::experiment::output;
use crate::kafka::free_ports;
use crate::memory::{self, Folder};

/// The servers of a store. They end with this value.
pub struct Deployed {
    store: &'static str,
    folder: Folder,
    /// Their addresses, as the script prints them.
    pub addresses: String,
}

impl Deployed {
    /// So many servers, by `deploy/STORE/up`.
    pub fn up(store: &'static str, servers: &str) -> Self {
        Self::up_with(store, servers, &[])
    }

    /// The same, with these options of the script.
    pub fn up_with(store: &'static str, servers: &str, options: &[&str]) -> Self {
        let folder = memory::folder();
        let port = free_ports(1).to_string();
        let mut up = Command::new(format!("{}/deploy/{store}/up", crate::ROOT));
        let state = folder.path().join(store);
        let done =
            output(up.args(options).args(["--port", &port, "--state"]).arg(state).arg(servers));
        let addresses = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self { store, folder, addresses }
    }

    /// The folder of its state.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join(self.store)
    }
}

impl Drop for Deployed {
    fn drop(&mut self) {
        let mut down = Command::new(format!("{}/deploy/{}/down", crate::ROOT, self.store));
        // The folder goes in any case.
        down.arg("--state").arg(self.state()).output().ok();
    }
}
