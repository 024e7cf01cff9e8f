//! Members on three hosts with clocks of their own that take orders, and on the first of these
//! hosts two brokers and the controller.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tandem::live_view::{Level, Picture};
use tandem::time::Mono;
use tempfile::TempDir;

use super::ROOT;
use super::experiment::{Experiment, eventually};
use super::hosts::OnHost;
use super::namespaces::Namespaces;
use super::observed::{Hold, leader};
use super::program;
use super::up::Up;

const SOON: Duration = Duration::from_secs(90);
/// A group whose leader stays for so long has settled.
const STILL: Duration = Duration::from_secs(2);
/// The host of the brokers and of the controller.
pub const HERE: usize = 0;
/// Each member, and its host.
pub const MEMBERS: [(&str, &str, usize); 4] =
    [("p1", "a", 1), ("p1", "b", 2), ("p2", "c", 0), ("p2", "d", 1)];

/// The hosts, and all that runs on them.
pub struct Apart {
    // The order of their ends.
    pub up: Option<Up>,
    pub holds: BTreeMap<String, Hold>,
    brokers: Vec<OnHost>,
    pub folder: TempDir,
    pub hosts: Namespaces,
}

/// The host of a member, which facts name like this.
pub fn host_of(member: &str) -> usize {
    MEMBERS.iter().find(|(group, name, _)| format!("{group}-{name}") == member).unwrap().2
}

impl Apart {
    /// All members are led by those of their group, and their clocks are compared.
    pub fn new() -> Self {
        let (hosts, folder) = (Namespaces::new(), TempDir::new().unwrap());
        let here = Namespaces::ADDRESSES[HERE];
        let key = folder.path().join("orders.key");
        fs::write(&key, "known on all hosts").unwrap();
        let text = format!(
            "version: 1\nname: apart\nroles: [r]\n\
             clusters: {{a: {{bootstrap: \"{here}:9092\"}}, b: {{bootstrap: \"{here}:9093\"}}}}\n\
             defaults: {{session: 3s}}\norder_key: {{file: {}}}\ngroups:\n  \
             p1: {{cluster: a, launch: external, chaos: allowed}}\n  \
             p2: {{cluster: b, launch: external, chaos: allowed}}\n",
            key.display()
        );
        fs::write(folder.path().join("t.yaml"), text).unwrap();
        let (up, holds, brokers) = (None, BTreeMap::new(), Vec::new());
        let mut apart = Self { up, holds, brokers, folder, hosts };
        apart.brokers = Vec::from([9_092, 9_093].map(|port| apart.broker(port)));
        let file = format!("-f {}", apart.file().display());
        apart.up = Some(Up::start_from(apart.tandem(HERE), &file, &apart.state(HERE)));
        for (group, name, _) in MEMBERS {
            apart.hold(&format!("{group}-{name}"));
        }
        apart.settles();
        apart
    }

    fn broker(&self, port: u16) -> OnHost {
        let mut broker = self.hosts.on(HERE, program());
        let address = format!("{}:{port}", Namespaces::ADDRESSES[HERE]);
        broker.args(["broker", "--listen", &address, "--until-eof"]);
        let broker = broker.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut broker = OnHost(broker);
        assert!(broker.first_line().contains(&address));
        broker
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("t.yaml")
    }

    /// Hosts have no files in common, but those that a user puts there.
    pub fn state(&self, host: usize) -> PathBuf {
        self.folder.path().join(format!("state-{host}"))
    }

    /// `tandem` on a host.
    pub fn tandem(&self, host: usize) -> Command {
        self.dressed(self.hosts.on(host, program()), host)
    }

    /// A program on a host, with the state directory of this.
    pub fn dressed(&self, mut command: Command, host: usize) -> Command {
        command.env("XDG_STATE_HOME", self.state(host)).env("NO_COLOR", "1");
        command.env_remove("RUST_LOG").env_remove("TANDEM_TRIALS").env_remove("TANDEM_KAFKA");
        command.current_dir(ROOT).stdin(Stdio::null());
        command
    }

    /// Starts a member on its host, or starts it again.
    pub fn hold(&mut self, member: &str) {
        let (group, name) = member.split_once('-').unwrap();
        let log = |kind| File::create(self.folder.path().join(format!("{name}.{kind}"))).unwrap();
        let mut hold = self.tandem(host_of(member));
        hold.arg("hold").arg("-f").arg(self.file());
        hold.args(["--group", group, "--name", name, "--serve", "127.0.0.1:0"]);
        hold.stdout(log("out")).stderr(log("err"));
        self.holds.insert(member.to_owned(), Hold(hold.spawn().unwrap()));
    }

    pub fn up(&self) -> &Up {
        self.up.as_ref().unwrap()
    }

    pub fn pid(&self, member: &str) -> u32 {
        self.holds[member].0.id()
    }

    /// All members live, all is led, and all clocks are compared; and the leaders stay for two
    /// seconds: members that run may still have to join, and then take a role from its leader.
    pub fn settles(&self) -> Picture {
        let (mut before, mut since) = ([None, None], Mono::now());
        eventually(&format!("all led\n{}", self.up().said()), SOON, || {
            let picture = self.up().status().1?;
            let members = picture.groups.values().flat_map(|group| group.members.values());
            let living = members.filter(|member| member.pid.is_some()).count();
            let led = picture.health == Level::Led && picture.reasons.elsewhere.is_empty();
            let now = ["p1", "p2"].map(|group| leader(&picture, group));
            if now != before {
                (before, since) = (now, Mono::now());
            }
            let stay = before.iter().all(Option::is_some) && Mono::now().since(since) > STILL;
            (living == MEMBERS.len() && led && stay).then_some(picture)
        })
    }

    /// The only leader of a group.
    pub fn leader(&self, group: &str) -> String {
        eventually(&format!("a leader of {group}"), SOON, || leader(&self.up().status().1?, group))
    }

    /// An experiment with this step, on the host of the controller.
    pub fn disturb(&self, name: &str, step: &str) -> Experiment {
        let text = format!(
            "version: 1\nname: {name}\ntrials: 1\nsteady_state: {{settled: 1s}}\n\
             objective: {{leaders_per_group: 0}}\nmethod: [{{id: k, at: 0s, {step}}}]\n"
        );
        let experiment = Experiment::of(&format!("{name}.yaml"), &text);
        experiment.with("--on apart").by(self.tandem(HERE))
    }
}
