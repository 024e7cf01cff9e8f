//! Groups of readers, whichever clients they are: members join, leave and are killed, and each
//! partition has one owner afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use kafka_protocol::messages::ResponseKind;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use rustix::process::{Pid, Signal, kill_process};
use tandem::groups::consumer::GroupOverrides;

use crate::coordinator::Request;
use crate::coordinator::consumer_wire::{self, Topics};
use crate::coordinator::frames::Connection;

use super::log::{Line, Log, judge, translate};
use super::readers::Client;
use super::shares::{Coordinator, Shares};
use super::{Background, eventually};

/// At Kafka's defaults of the newer protocol, a session of 45 s and a heartbeat each 5 s, a group
/// of three took 12 s for a member that joined and 45 s for one that was killed, and on Kafka 4.3.0
/// 19 and 48 s.
const SESSION: Duration = Duration::from_secs(3);
const HEARTBEAT: Duration = Duration::from_millis(150);

/// How a group shares its partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// As the client has it by default.
    Usual,
    /// What all have of the classic protocol.
    Range,
    /// The newer one (KIP-848).
    Consumer,
}

impl Protocol {
    fn word(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Range => "range",
            Self::Consumer => "consumer",
        }
    }

    /// The options of a member of Tandem's.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Usual | Self::Range => &["--assignor", "range"],
            Self::Consumer => &["--protocol", "consumer", "--assignor", "uniform"],
        }
    }
}

/// Those who speak the classic protocol with an assignor that all of them have.
pub const CLASSIC: [Client; 4] =
    [Client::Java, Client::Tandem, Client::Librdkafka, Client::KafkaPython];
/// Those who speak the newer one.
pub const NEWER: [Client; 3] = [Client::Java, Client::Tandem, Client::Librdkafka];

/// The members of one group that run.
pub struct Group<'a> {
    address: &'a str,
    /// The group, and its topic.
    name: &'a str,
    protocol: Protocol,
    width: i32,
    log: Log,
    members: BTreeMap<String, Background>,
    started: usize,
    complaints: tempfile::TempDir,
}

impl<'a> Group<'a> {
    /// One without members, on the only broker of a cluster.
    pub fn new(address: &'a str, name: &'a str, protocol: Protocol, width: i32) -> Self {
        create(address, name, width);
        if protocol == Protocol::Consumer {
            let (session, heartbeat) = (Some(SESSION), Some(HEARTBEAT));
            configure(address, name, GroupOverrides { session, heartbeat });
        }
        let complaints = tempfile::tempdir().unwrap();
        let (log, members) = (Log::new(), BTreeMap::new());
        Self { address, name, protocol, width, log, members, started: 0, complaints }
    }

    fn complain(&self, name: &str) -> File {
        File::create(self.complaints.path().join(name)).unwrap()
    }

    /// Starts a member; its name.
    pub fn join(&mut self, client: Client) -> String {
        self.started += 1;
        let name = format!("p1-{}", self.started);
        let mut program = client.program();
        let ms = SESSION.as_millis().to_string();
        let (address, group, protocol) = (self.address, self.name, self.protocol.word());
        match client {
            Client::Tandem => {
                let (life, width) = (format!("{name}.1"), self.width.to_string());
                program.args(["member", &life, "--bootstrap", address, "--topic", group]);
                program.args(["--consumer-group", group, "--partitions", &width]);
                program.args(["--session", "3s", "--heartbeat", "150ms", "--membership", "own"]);
                program.args(self.protocol.options());
                program.stdout(Stdio::piped());
            }
            Client::Librdkafka => {
                program.args([address, group, group, &name, protocol, &ms]);
                program.stdout(self.log.pipe());
            }
            Client::FranzGo | Client::KafkaJs | Client::KafkaPython | Client::Java => {
                program.args(["consume", address, group, group, &name, protocol, &ms]);
                program.stdout(self.log.pipe());
            }
        }
        // An input that stays open: its end would end a member of Tandem's.
        program.stdin(Stdio::piped()).stderr(self.complain(&name));
        let mut child = program.spawn().unwrap();
        if let Some(facts) = child.stdout.take() {
            let (name, into) = (name.clone(), self.log.pipe());
            std::thread::spawn(move || translate(&name, facts, into));
        }
        self.members.insert(name.clone(), Background(child));
        name
    }

    pub fn kill(&mut self, name: &str) {
        let mut member = self.members.remove(name).unwrap();
        assert_eq!(member.0.try_wait().unwrap(), None, "{name} had ended");
        drop(member);
    }

    /// Asks it to leave, and waits for its end.
    pub fn leave(&mut self, name: &str) {
        let mut member = self.members.remove(name).unwrap();
        assert_eq!(member.0.try_wait().unwrap(), None, "{name} had ended");
        kill_process(Pid::from_child(&member.0), Signal::TERM).unwrap();
        eventually("the end of a member that leaves", || member.0.try_wait().unwrap());
    }

    /// What each of the members holds that run, by its own words.
    fn held(&self) -> BTreeMap<&str, BTreeSet<i32>> {
        let mut held: BTreeMap<&str, _> =
            self.members.keys().map(|name| (name.as_str(), BTreeSet::new())).collect();
        for line in self.log.lines() {
            if let Line::Assigned(name, all) = line
                && let Some(known) = held.get_mut(name.as_str())
            {
                *known = all;
            }
        }
        held
    }

    /// Waits until each partition has one owner, and each member a partition.
    pub fn settle(&mut self) {
        for (name, member) in &mut self.members {
            assert_eq!(member.0.try_wait().unwrap(), None, "{name} ended");
        }
        let width = usize::try_from(self.width).unwrap();
        eventually("one owner for each partition", || {
            let held = self.held();
            let all: BTreeSet<i32> = held.values().flatten().copied().collect();
            let sum: usize = held.values().map(BTreeSet::len).sum();
            let each = held.values().all(|share| !share.is_empty());
            (each && all.len() == width && sum == width).then_some(())
        });
    }

    /// Waits until the coordinator says the same. A member of Tandem's calls itself by its life.
    fn agree(&self) {
        let coordinator = Coordinator { address: self.address, group: self.name };
        eventually("a coordinator that says the same", || {
            let said = match self.protocol {
                Protocol::Consumer => coordinator.consumer(),
                Protocol::Usual | Protocol::Range => coordinator.classic(),
            };
            let name = |client: &str| client.split('.').next().unwrap().to_owned();
            let said: Shares = said.into_iter().map(|(id, all)| (name(&id), all)).collect();
            let held = self.held().into_iter().map(|(name, all)| (name.to_owned(), all));
            (said == held.collect()).then_some(())
        });
    }

    /// In `times` rebalances a member of each kind in turn leaves or is killed, and comes back.
    pub fn rebalance(&mut self, clients: &[Client], times: usize) {
        let mut names: Vec<String> = clients.iter().map(|client| self.join(*client)).collect();
        self.settle();
        for time in 0..times {
            let (round, at) = (time / 2, time / 2 % clients.len());
            if time % 2 == 1 {
                names[at] = self.join(clients[at]);
            } else if (round + round / clients.len()).is_multiple_of(2) {
                self.leave(&names[at]);
            } else {
                self.kill(&names[at]);
            }
            self.settle();
            self.agree();
            println!("{}: {:?}", time + 1, self.held());
        }
    }

    /// Starts what produces the messages.
    fn producer(&self, client: Client) -> Background {
        let mut program = client.program();
        program.args(["produce", self.address, self.name, &self.width.to_string()]);
        program.stdin(Stdio::piped()).stdout(self.log.pipe()).stderr(self.complain("producer"));
        Background(program.spawn().unwrap())
    }

    fn committed(&self) -> i64 {
        let mut config = config(self.address);
        let consumer: BaseConsumer = config.set("group.id", self.name).create().unwrap();
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range(self.name, 0, self.width - 1);
        let committed = consumer.committed_offsets(asked, Duration::from_secs(20)).unwrap();
        let offset = |offset| if let Offset::Offset(at) = offset { at } else { 0 };
        committed.elements().iter().map(|one| offset(one.offset())).sum()
    }

    /// Ten thousand messages through a group of three, while members join, leave and are killed.
    pub fn reads_all(&mut self, client: Client) {
        const EACH: i64 = 2_000;
        let mut producer = self.producer(client);
        let send = |child: &mut Child| {
            writeln!(child.stdin.as_mut().unwrap(), "{EACH}").unwrap();
        };
        let a = self.join(client);
        send(&mut producer.0);
        self.settle();
        let (b, _) = (self.join(client), self.join(client));
        send(&mut producer.0);
        self.settle();
        // While the members hear them.
        send(&mut producer.0);
        self.kill(&b);
        self.settle();
        let d = self.join(client);
        self.settle();
        send(&mut producer.0);
        self.leave(&a);
        self.settle();
        send(&mut producer.0);
        self.kill(&d);
        self.join(client);
        self.settle();
        let all = 5 * EACH;
        eventually("all messages", || {
            (judge(&self.log.lines()).heard == usize::try_from(all).unwrap()).then_some(())
        });
        // A member may hear the last of them before its producer hears that they are there.
        eventually("the acknowledgement of all", || {
            self.log.lines().contains(&Line::Produced(all)).then_some(())
        });
        eventually("all commits", || (self.committed() == all).then_some(()));
        let judged = judge(&self.log.lines());
        println!("{client:?}: {} messages, {} heard again", judged.heard, judged.again);
        assert_eq!(judged.wrong, Vec::<String>::new(), "were heard again after their commit");
        assert_eq!(judged.heard, usize::try_from(all).unwrap());
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let said = self.log.texts();
        let last = said.iter().rev().take(40).rev();
        last.for_each(|line| eprintln!("{line}"));
        for entry in std::fs::read_dir(self.complaints.path()).unwrap().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines[lines.len().saturating_sub(15)..].join("\n");
            eprintln!("-- {}\n{last}", entry.file_name().display());
        }
    }
}

fn config(address: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address);
    config
}

/// Sets the settings of a group of the newer protocol.
pub fn configure(address: &str, group: &str, to: GroupOverrides) {
    let request = Request::Configure(group.to_owned(), to);
    let ask = consumer_wire::ask(request, &Topics::default()).unwrap();
    let answer = Connection::open(address.parse().unwrap()).ask("settings", &ask);
    let ResponseKind::IncrementalAlterConfigs(answer) = answer else { unreachable!() };
    assert_eq!(answer.responses[0].error_code, 0, "{answer:?}");
}

/// Creates a topic on the only broker.
pub fn create(address: &str, topic: &str, width: i32) {
    let admin: AdminClient<_> = config(address).create().unwrap();
    let topic = NewTopic::new(topic, width, TopicReplication::Fixed(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = runtime.block_on(admin.create_topics([&topic], &AdminOptions::new())).unwrap();
    made.into_iter().for_each(|one| drop(one.unwrap()));
}
