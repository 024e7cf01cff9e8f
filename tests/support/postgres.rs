//! A PostgreSQL of the test's own, on a Unix socket in a folder of its own.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::experiment::{eventually, signal_pid};
use super::memory::{self, Folder};

/// It starts in a second; an initialised folder takes three.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server, which ends with this value.
pub struct Postgres {
    server: Child,
    folder: Folder,
}

/// A program of PostgreSQL, as its own user where this one is root: it refuses root.
fn command(program: &str) -> Command {
    let bin = Command::new("pg_config").arg("--bindir").output();
    let bin = bin.expect("pg_config: install postgresql").stdout;
    let program = format!("{}/{program}", String::from_utf8(bin).unwrap().trim());
    if !rustix::process::getuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", &program]);
    command
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

impl Postgres {
    /// Starts one, and runs this file in it.
    pub fn with(file: &str) -> Self {
        let store = Self::empty();
        done(&store.psql(&["-v", "ON_ERROR_STOP=1", "-f", file]));
        store
    }

    /// Starts one.
    pub fn empty() -> Self {
        let folder = memory::folder();
        // Its user must reach it.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let data = folder.path().join("data");
        let mut init = command("initdb");
        init.args(["--no-sync", "--auth=trust", "--username=postgres", "-D"]).arg(&data);
        done(&init.output().unwrap());
        let mut server = command("postgres");
        server.arg("-D").arg(&data).arg("-k").arg(folder.path());
        // What it promises about a power cut is of no interest here.
        server.args(["-c", "listen_addresses=", "-c", "fsync=off"]);
        let server = server.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let store = Self { server, folder };
        let answers = || store.psql(&["-c", "SELECT 1"]).status.success().then_some(());
        eventually("PostgreSQL", PATIENCE, answers);
        store
    }

    /// How a client connects.
    pub fn connection(&self) -> String {
        format!("host={} user=postgres dbname=postgres", self.folder.path().display())
    }

    fn psql(&self, args: &[&str]) -> Output {
        Command::new("psql").arg("-qAtX").arg(self.connection()).args(args).output().unwrap()
    }

    /// The rows of an answer, with fields apart by `|`.
    pub fn ask(&self, sql: &str) -> Vec<String> {
        let output = self.psql(&["-c", sql]);
        done(&output);
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At once, and with all that it has started.
        signal_pid(self.server.id(), Signal::QUIT);
        self.server.wait().ok();
    }
}
