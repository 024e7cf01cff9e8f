//! Three hosts in one kernel: each is a network namespace with an address, on one bridge, and a
//! time namespace whose monotonic clocks are ahead of those of the test by a time that is known
//! exactly.
//!
//! They are made in a user namespace, so no root is needed. A process holds each of them, and ends
//! with this value, or with the test. What runs in them must have ended before.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tandem::time::Mono;

use super::experiment::eventually;

const SOON: Duration = Duration::from_secs(60);
/// Who enters the user namespace keeps its own groups.
const ENTERS: [&str; 3] = ["--user", "--preserve-credentials", "--net"];

/// A process whose end is that of its namespaces. It ends when its input does.
struct Holder {
    child: Child,
    /// The process in the namespaces.
    pid: u32,
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The hosts, by number.
pub struct Namespaces {
    hosts: Vec<Holder>,
    bridge: Holder,
}

fn link(pid: u32, kind: &str) -> Option<String> {
    Some(fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()?.display().to_string())
}

/// The only child of a process.
fn child_of(pid: u32) -> Option<u32> {
    let all = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    all.split_whitespace().next()?.parse().ok()
}

fn run(command: &mut Command) {
    let done = command.output().unwrap_or_else(|error| panic!("missing: {command:?}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
}

/// Starts `unshare` by `command`, with a child that waits for the end of its input.
fn hold(command: &mut Command, differs: impl Fn(u32) -> bool) -> Holder {
    command.args(["--fork", "--kill-child", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let child = command.spawn().unwrap_or_else(|error| panic!("missing: {command:?}: {error}"));
    let mut holder = Holder { pid: child.id(), child };
    holder.pid = eventually("namespaces", SOON, || {
        let ended = holder.child.try_wait().unwrap();
        assert!(
            ended.is_none(),
            "missing: user, network and time namespaces for users, and unshare (util-linux) with \
             --monotonic"
        );
        child_of(holder.child.id()).filter(|pid| differs(*pid))
    });
    holder
}

impl Namespaces {
    /// The address of each.
    pub const ADDRESSES: [&str; 3] = ["10.78.0.1", "10.78.0.2", "10.78.0.3"];
    /// How far ahead of the test's their clocks are.
    pub const AHEAD: [Duration; 3] =
        [Duration::from_secs(1_000), Duration::from_secs(300_000), Duration::from_secs(40_000)];

    /// Makes them. Fails where that is not possible: a test that needs them proves nothing then.
    #[must_use]
    pub fn new() -> Self {
        let own = std::process::id();
        let other = |kind: &'static str, than: u32| {
            move |pid: u32| link(pid, kind).is_some_and(|it| Some(it) != link(than, kind))
        };
        let mut unshare = Command::new("unshare");
        let bridge = hold(unshare.args(["--user", "--map-root-user", "--net"]), other("net", own));
        let mut all = Self { hosts: Vec::new(), bridge };
        run(all.on_bridge("ip").args(["link", "add", "bridge0", "type", "bridge"]));
        run(all.on_bridge("ip").args(["link", "set", "bridge0", "up"]));
        for (at, address) in Self::ADDRESSES.iter().enumerate() {
            let ahead = Self::AHEAD[at].as_secs().to_string();
            let (mut enter, pid) = (Command::new("nsenter"), all.bridge.pid.to_string());
            enter.args(["--target", &pid]).args(ENTERS).args(["--", "unshare", "--net"]);
            enter.args(["--time", "--monotonic", &ahead, "--boottime", &ahead]);
            let (net, time) = (other("net", all.bridge.pid), other("time", own));
            let host = hold(&mut enter, |pid| net(pid) && time(pid));
            let inner = host.pid.to_string();
            all.hosts.push(host);
            let (outer, both) = (format!("port{at}"), ["link", "add", "type", "veth", "peer"]);
            let mut add = all.on_bridge("ip");
            add.args(&both[..2]).arg(&outer).args(&both[2..]);
            run(add.args(["name", "eth0", "netns", &inner]));
            run(all.on_bridge("ip").args(["link", "set", &outer, "master", "bridge0", "up"]));
            run(all.on(at, "ip").args(["addr", "add", &format!("{address}/24"), "dev", "eth0"]));
            run(all.on(at, "ip").args(["link", "set", "lo", "up"]));
            all.link(at, true);
        }
        all
    }

    fn on_bridge(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.bridge.pid.to_string()]).args(ENTERS);
        command.args(["--", program]);
        command
    }

    /// A program on one of them. Its process is that of the command.
    #[must_use]
    pub fn on(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.hosts[host].pid.to_string()]).args(ENTERS);
        command.args(["--time", "--", program]);
        command
    }

    /// Plugs its cable in, or pulls it.
    pub fn link(&self, host: usize, up: bool) {
        let state = if up { "up" } else { "down" };
        run(self.on(host, "ip").args(["link", "set", "eth0", state]));
    }

    /// An instant of the clock of a host, on that of the test.
    #[must_use]
    pub fn truly(host: usize, at: Mono) -> Mono {
        at - Self::AHEAD[host]
    }
}
