//! A broker behind a socket as the subject of a transcript: the embedded one, or Apache Kafka.
//!
//! Each request goes out on a connection of its own. Groups have a name of their own in each play,
//! so that plays do not meet on a broker that lives longer than they do.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::{ApiKey, CreateTopicsRequest, RequestKind, ResponseKind};
use tandem::groups::{Commit, CommittedOffset, TopicPartition};
use tandem::time::Mono;

use super::alias::Aliases;
use super::consumer::TOPICS;
use super::consumer_wire::{self, Topics};
use super::frames::{Ask, Connection, Heard};
use super::heard::Reader;
use super::line::{self, Line};
use super::wire::{self, text};
use super::{Answer, Request, Subject, lines};

/// How long nothing must come before a request counts as one that waits.
const QUIET: Duration = Duration::from_millis(60);
/// How long an answer that is expected is waited for.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How long a broker may take to be ready for groups.
const READY: Duration = Duration::from_secs(120);

pub struct Remote {
    address: SocketAddr,
    names: Vec<String>,
    /// Begins the names of all groups of this play.
    prefix: String,
    began: Mono,
    control: Connection,
    /// Requests that are not answered yet, and whose they are.
    open: BTreeMap<u64, (String, Connection)>,
    asked: u64,
    hear: Sender<Heard>,
    heard: Receiver<Heard>,
    aliases: Aliases,
    topics: Topics,
}

impl Remote {
    /// A play on that broker, which transcripts call by these names.
    pub fn new(address: SocketAddr, names: &[&str], prefix: &str) -> Self {
        let (hear, heard) = channel();
        let mut remote = Self {
            address,
            names: names.iter().map(|&name| name.to_owned()).collect(),
            prefix: format!("{prefix}-{}-", Mono::now().0),
            began: Mono::now(),
            control: Connection::open(address),
            open: BTreeMap::new(),
            asked: 0,
            hear,
            heard,
            aliases: Aliases::default(),
            topics: Topics::default(),
        };
        remote.make_ready();
        remote.began = Mono::now();
        remote
    }

    /// The topics of the transcripts exist, and the coordinator of their groups answers.
    fn make_ready(&mut self) {
        let each = TOPICS.map(|(name, width)| {
            CreatableTopic::default()
                .with_name(text(name).into())
                .with_num_partitions(width)
                .with_replication_factor(1)
        });
        let body = RequestKind::CreateTopics(
            CreateTopicsRequest::default().with_topics(each.to_vec()).with_timeout_ms(10_000),
        );
        drop(self.control.ask("ready", &Ask { key: ApiKey::CreateTopics, version: 5, body }));
        self.eventually(&consumer_wire::metadata(), |body| Topics::read(body).is_some());
        self.topics = Topics::read(&self.control.ask("ready", &consumer_wire::metadata())).unwrap();
        for group in ["g", "h", "k", "warm", "warmer"] {
            let find = Ask {
                key: ApiKey::FindCoordinator,
                version: 2,
                body: RequestKind::FindCoordinator(
                    kafka_protocol::messages::FindCoordinatorRequest::default()
                        .with_key(text(self.group(group))),
                ),
            };
            self.eventually(&find, |body| match body {
                ResponseKind::FindCoordinator(found) => found.error_code == 0,
                _ => unreachable!(),
            });
            let beat = wire::ask(
                Request::Heartbeat(tandem::groups::Heartbeat {
                    group: self.group(group),
                    member_id: "unknown".to_owned(),
                    instance_id: None,
                    generation: 0,
                }),
                &self.topics,
            );
            self.eventually(&beat.unwrap(), |body| match body {
                ResponseKind::Heartbeat(answer) => answer.error_code == 25,
                _ => unreachable!(),
            });
        }
        self.warm_up();
        let warm = self.group("warm");
        self.commit(&warm);
        drop(self.control.ask("ready", &wire::ask(Request::Delete(warm), &self.topics).unwrap()));
    }

    /// A member of the newer protocol comes and goes: the first one of a broker is answered late.
    fn warm_up(&mut self) {
        // Which does not speak this version of the protocol.
        if self.names.iter().any(|name| name == "kafka-3.9.1") {
            return;
        }
        for line in ["enter w group=warmer topics=books assignor=range", "quit w group=warmer"] {
            let request = line::request(&Line::parse(line), &BTreeMap::new());
            let request = self.translated(request);
            self.eventually(&wire::ask(request, &self.topics).unwrap(), |body| match body {
                ResponseKind::ConsumerGroupHeartbeat(answer) => answer.error_code == 0,
                _ => unreachable!(),
            });
        }
        let delete = Request::Delete(self.group("warmer"));
        drop(self.control.ask("ready", &wire::ask(delete, &self.topics).unwrap()));
    }

    /// Writes to the partition of the offsets topic in which this group is.
    fn commit(&mut self, group: &str) {
        let commit = wire::ask(
            Request::Commit(Commit {
                group: group.to_owned(),
                member_id: String::new(),
                instance_id: None,
                generation: -1,
                knows_group_id_not_found: true,
                positions: vec![(
                    TopicPartition { topic: "ledger".to_owned(), partition: 0 },
                    CommittedOffset { offset: 1, leader_epoch: -1, metadata: String::new() },
                )],
            }),
            &self.topics,
        );
        self.eventually(&commit.unwrap(), |body| match body {
            ResponseKind::OffsetCommit(answer) => {
                answer.topics.iter().flat_map(|t| &t.partitions).all(|p| p.error_code == 0)
            }
            _ => unreachable!(),
        });
    }

    /// Kafka lists what has been committed, and a join that is refused writes nothing: its group is
    /// seen with the next write to its partition (`GroupMetadataManager.listGroups` takes the
    /// committed offset).
    fn commit_to_all(&mut self) {
        // Of four partitions, as `deploy/kafka/up` makes: Java's hashes of names that differ in one
        // digit differ by that, times an odd number.
        for digit in 0..4 {
            self.commit(&format!("{digit}-beside-{}", self.prefix));
        }
    }

    fn eventually(&mut self, ask: &Ask, fine: impl Fn(&ResponseKind) -> bool) {
        let began = Mono::now();
        loop {
            let answer = self.control.ask("ready", ask);
            if fine(&answer) {
                return;
            }
            assert!(Mono::now().since(began) < READY, "not ready: {answer:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the broker calls a group. One without a name has none there either.
    fn group(&self, name: &str) -> String {
        if name.is_empty() { String::new() } else { format!("{}{name}", self.prefix) }
    }

    /// The request as the broker must read it: with its names for groups and members.
    fn translated(&mut self, request: Request) -> Request {
        match request {
            Request::Join(mut join) => {
                join.group = self.group(&join.group);
                join.member_id = self.member(&join.group, &join.member_id);
                Request::Join(join)
            }
            Request::Sync(mut sync) => {
                sync.group = self.group(&sync.group);
                sync.member_id = self.aliases.id(&sync.member_id);
                for (member, _) in &mut sync.assignments {
                    *member = self.aliases.id(member);
                }
                Request::Sync(sync)
            }
            Request::Heartbeat(mut beat) => {
                beat.group = self.group(&beat.group);
                beat.member_id = self.aliases.id(&beat.member_id);
                Request::Heartbeat(beat)
            }
            Request::Leave(mut leave) => {
                leave.group = self.group(&leave.group);
                for who in &mut leave.members {
                    who.member_id = self.aliases.id(&who.member_id);
                }
                Request::Leave(leave)
            }
            Request::Commit(mut commit) => {
                commit.group = self.group(&commit.group);
                commit.member_id = self.aliases.id(&commit.member_id);
                Request::Commit(commit)
            }
            Request::Fetch(group, at) => Request::Fetch(self.group(&group), at),
            Request::Describe(group) => Request::Describe(self.group(&group)),
            Request::Delete(group) => Request::Delete(self.group(&group)),
            Request::Beat(mut beat) => {
                beat.group = self.group(&beat.group);
                Request::Beat(beat)
            }
            Request::Inspect(group) => Request::Inspect(self.group(&group)),
            Request::Configure(group, to) => Request::Configure(self.group(&group), to),
            Request::Recall(group, member, epoch, at) => {
                Request::Recall(self.group(&group), member, epoch, at)
            }
            Request::List => Request::List,
            Request::Wait => Request::Wait,
        }
    }

    /// A member's id; if its client does not know it yet, it is looked up in the group.
    fn member(&mut self, group: &str, alias: &str) -> String {
        if self.aliases.is_next(alias) && self.aliases.id(alias) == alias {
            let ask = wire::ask(Request::Describe(group.to_owned()), &self.topics).unwrap();
            let answer = self.control.ask("ready", &ask);
            let ResponseKind::DescribeGroups(answer) = answer else { unreachable!() };
            for member in answer.groups.iter().flat_map(|group| &group.members) {
                drop(self.aliases.alias(&member.member_id));
            }
        }
        self.aliases.id(alias)
    }
}

impl Subject for Remote {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn is_real(&self) -> bool {
        true
    }

    fn ask(&mut self, at: Mono, client: &str, request: Request) {
        if matches!(request, Request::List) && self.names.iter().any(|name| name == "kafka") {
            self.commit_to_all();
        }
        let due = self.began + at.since(Mono::ZERO);
        std::thread::sleep(due.since(Mono::now()));
        let request = self.translated(request);
        let settled = consumer_wire::settled(&request);
        let Some(ask) = wire::ask(request, &self.topics) else { return };
        self.asked += 1;
        let mut connection = Connection::open(self.address);
        connection.post(client, &ask, self.asked, self.hear.clone());
        self.open.insert(self.asked, (client.to_owned(), connection));
        if let Some((ask, values)) = settled {
            // A broker takes a while to follow its controller; it may have refused.
            let until = Mono::now() + PATIENCE;
            while Mono::now() < until
                && !consumer_wire::has(&self.control.ask("ready", &ask), &values)
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            // A controller writes settings to its disk. A play that begins with them has no member
            // yet, and its time begins when they are there.
            if self.asked == 1 {
                self.began = Mono::now();
            }
        }
    }

    fn answers(&mut self, expected: usize) -> Vec<(String, Answer)> {
        let mut answers = Vec::new();
        let patience = if expected == 0 { QUIET } else { PATIENCE };
        let until = Mono::now() + patience;
        while expected == 0 || lines(&answers) < expected {
            let left = until.since(Mono::now());
            let Ok((id, body)) = self.heard.recv_timeout(left) else { break };
            let (client, _connection) = self.open.remove(&id).unwrap();
            let (topics, prefix) = (&self.topics, self.prefix.as_str());
            let reader = &mut Reader { topics, aliases: &mut self.aliases, prefix };
            answers.push((client.clone(), reader.read(&client, body)));
        }
        answers
    }
}
