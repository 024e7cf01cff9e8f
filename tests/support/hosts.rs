//! Two hosts as network namespaces, joined by a pair of virtual devices. They end with this value;
//! what runs in them must have ended before.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::experiment::eventually;
use super::{ROOT, program};

const SOON: Duration = Duration::from_secs(60);

/// The hosts `a` and `b`.
pub struct Hosts {
    holders: [Holder; 2],
}

/// A process whose end is that of its network.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A process on a host; killed with this value.
pub struct OnHost(pub Child);

impl Drop for OnHost {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl OnHost {
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Hosts {
    /// The address of each: an address of a network that only the two have.
    pub const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

    /// None where this process may not make networks.
    pub fn new() -> Option<Self> {
        let hold = || {
            let mut command = Command::new("unshare");
            command.args(["--net", "sleep", "600"]).stdin(Stdio::null());
            Holder(command.spawn().unwrap())
        };
        let may = Command::new("unshare").args(["--net", "true"]).output();
        if !may.is_ok_and(|may| may.status.success()) {
            return None;
        }
        let hosts = Self { holders: [hold(), hold()] };
        let net = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        for holder in &hosts.holders {
            let (pid, ours) = (holder.0.id().to_string(), net("self"));
            eventually("a network", SOON, || {
                (net(&pid).is_some() && net(&pid) != ours).then_some(())
            });
        }
        let [a, b] = [0, 1].map(|at| hosts.holders[at].0.id().to_string());
        run(Command::new("ip")
            .args(["link", "add", "link0", "netns", &a, "type", "veth"])
            .args(["peer", "name", "link0", "netns", &b]));
        for (at, address) in Self::ADDRESSES.iter().enumerate() {
            run(hosts.on(at, "ip").args(["addr", "add", &format!("{address}/24"), "dev", "link0"]));
            run(hosts.on(at, "ip").args(["link", "set", "link0", "up"]));
            run(hosts.on(at, "ip").args(["link", "set", "lo", "up"]));
        }
        Some(hosts)
    }

    /// A program on one of them.
    pub fn on(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.holders[host].0.id().to_string();
        command.args(["--target", &pid, "--net", "--", program]);
        command
    }

    /// A broker there, which has said that it listens.
    pub fn broker(&self, host: usize) -> (OnHost, String) {
        let address = format!("{}:9092", Self::ADDRESSES[host]);
        let mut command = self.on(host, program());
        command.args(["broker", "--listen", &address, "--auto-create-topics", "4", "--until-eof"]);
        let broker = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut broker = OnHost(broker);
        assert!(broker.first_line().contains(&address));
        (broker, address)
    }

    /// A relay there, each part later by so many milliseconds.
    pub fn relay(&self, host: usize, delay_ms: u64, pairs: &[String]) -> OnHost {
        let mut command = self.on(host, "python3");
        command.arg(Path::new(ROOT).join("tests/support/delaying_relay.py"));
        command.arg(delay_ms.to_string()).args(pairs);
        let relay = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut relay = OnHost(relay);
        assert_eq!(relay.first_line(), "ready\n");
        relay
    }
}

/// An authority of a test's own in this folder, and a certificate of it for members: the files.
pub fn certificates(folder: &Path) -> [PathBuf; 3] {
    let make = |name: &str, more: &[&str]| {
        run(Command::new("openssl")
            .current_dir(folder)
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-days", "2", "-subj", &format!("/CN={name}")])
            .args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.pem")])
            .args(more));
    };
    make("authority", &["-addext", "keyUsage=keyCertSign"]);
    let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
    make("member", &[&["-CA", "authority.pem", "-CAkey", "authority.key"][..], &leaf].concat());
    ["authority.pem", "member.pem", "member.key"].map(|name| folder.join(name))
}
