//! Predictable traffic: every received message must be the next of its lane, byte by byte.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::metadata::MetadataTopic;
use rdkafka::producer::{BaseRecord, ThreadedProducer};
use tandem::time::Mono;

use crate::experiment::eventually;

/// What keeps its order: a partition to rdkafka, a key to kcat.
const LANES: u32 = 6;
/// A message a lane that often: a hundred a second.
const ROUND: Duration = Duration::from_millis(60);
const LENGTH_MAX: usize = 4_000;
/// However loaded the machine, a message does not take longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A consumer that a busy machine holds up must not be thrown out of its group: it would begin
/// again at what it has committed.
const SESSION: &str = "session.timeout.ms=300000";

/// What has come.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub sent: u64,
    /// Those that came, in order and as they were sent.
    pub messages: u64,
    /// Unexpected messages: not the next of their lane, or more than were sent.
    pub wrong: u64,
    pub bytes: u64,
}

impl Tally {
    /// Both.
    pub fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            messages: self.messages + other.messages,
            wrong: self.wrong + other.wrong,
            bytes: self.bytes + other.bytes,
        }
    }

    /// Every message came once, in order, as it was sent.
    pub fn is_whole(self) -> bool {
        self.messages == self.sent && self.wrong == 0
    }
}

/// Makes a topic for it, of which a broker keeps a minute, and waits until all brokers know it: a
/// consumer that asks one that does not takes that for an error.
pub fn create(bootstrap: &str, topic: &str) {
    let admin: AdminClient<_> = config(bootstrap).create().unwrap();
    let name = topic;
    let topic = NewTopic::new(topic, LANES.cast_signed(), TopicReplication::Fixed(1));
    let topic = topic.set("retention.ms", "60000");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = runtime.block_on(admin.create_topics([&topic], &AdminOptions::new())).unwrap();
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    let all = admin.inner().fetch_metadata(None, PATIENCE).unwrap();
    for broker in all.brokers() {
        let broker = format!("{}:{}", broker.host(), broker.port());
        let is_known = || knows(&broker, name).then_some(());
        eventually("a broker that knows the topic", PATIENCE, is_known);
    }
}

/// Whether this broker knows all of a topic: it is the only one that a new client is connected to.
fn knows(broker: &str, topic: &str) -> bool {
    let client: BaseConsumer = config(broker).create().unwrap();
    let found = client.fetch_metadata(Some(topic), PATIENCE);
    let whole = |it: &MetadataTopic| it.name() == topic && it.partitions().len() == LANES as usize;
    found.is_ok_and(|all| all.topics().iter().any(whole))
}

/// An rdkafka producer and consumer, until it is time to end.
pub fn rdkafka(bootstrap: &str, topic: &str, until: &impl Fn() -> bool) -> Tally {
    create(bootstrap, topic);
    let producer: ThreadedProducer<_> =
        config(bootstrap).set("enable.idempotence", "true").create().unwrap();
    let (session, ms) = SESSION.split_once('=').unwrap();
    let consumer: BaseConsumer = config(bootstrap)
        .set("group.id", topic)
        .set(session, ms)
        .set("auto.offset.reset", "earliest")
        .set("fetch.wait.max.ms", "100")
        .create()
        .unwrap();
    consumer.subscribe(&[topic]).unwrap();
    let send = |message: Option<(u32, &str)>| {
        let Some((lane, text)) = message else { return };
        let record = BaseRecord::<(), _>::to(topic).partition(lane.cast_signed()).payload(text);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    };
    let receive = |wait| {
        let message = consumer.poll(wait)?.ok()?;
        let text = String::from_utf8(message.payload().unwrap().to_vec()).unwrap();
        Some((message.partition() as u32, text))
    };
    carry(until, send, receive)
}

/// A kcat that produces and one that consumes, until it is time to end.
pub fn kcat(bootstrap: &str, topic: &str, until: &impl Fn() -> bool) -> Tally {
    create(bootstrap, topic);
    let start = |arguments: &[&str]| {
        let mut kcat = Command::new("kcat");
        kcat.args(["-b", bootstrap, "-q", "-X", "client.id=kcat-traffic"]).args(arguments);
        Kcat(kcat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    };
    let once = ["-X", "enable.idempotence=true"];
    let mut producer = start(&[&["-P", "-t", topic, "-K:"], &once[..]].concat());
    let all = ["-u", "-X", SESSION, "-X", "auto.offset.reset=earliest", "-f", "%k %s\\n"];
    let mut consumer = start(&[&all[..], &["-G", topic, topic]].concat());
    let heard = consumer.lines();
    let mut input = producer.0.stdin.take();
    // It keeps a line until it sees another, or the end.
    let send = |message: Option<(u32, &str)>| match message {
        Some((lane, text)) => writeln!(input.as_mut().unwrap(), "{lane}:{text}").unwrap(),
        None => input = None,
    };
    let receive = |wait| {
        let line = heard.recv_timeout(wait).ok()?;
        let (lane, text) = line.split_once(' ').unwrap();
        Some((lane.parse().unwrap(), text.to_owned()))
    };
    let tally = carry(until, send, receive);
    assert!(producer.0.wait().unwrap().success(), "kcat could not deliver");
    tally
}

/// Killed with this value.
struct Kcat(Child);

impl Kcat {
    fn lines(&mut self) -> Receiver<String> {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let (says, said) = channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| says.send(line))
        });
        said
    }
}

impl Drop for Kcat {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("client.id", "rdkafka-traffic");
    config
}

/// The message of that number: the number, and letters that follow from it and its lane.
fn text(lane: u32, number: u32) -> String {
    let mut chance = ChaCha8Rng::seed_from_u64(u64::from(lane) << 32 | u64::from(number));
    let mut letters = vec![0; chance.random_range(0..=LENGTH_MAX)];
    chance.fill_bytes(&mut letters);
    let letters = letters.into_iter().map(|byte| char::from(b'a' + byte % 26));
    format!("{number} {}", letters.collect::<String>())
}

/// What has come, and what must come next.
struct Heard {
    next: [u32; LANES as usize],
    tally: Tally,
    last: Mono,
}

impl Heard {
    fn hear(&mut self, (lane, came): (u32, String)) {
        let number = &mut self.next[lane as usize];
        let wanted = text(lane, *number);
        self.last = Mono::now();
        if came == wanted {
            *number += 1;
            self.tally.messages += 1;
            self.tally.bytes += came.len() as u64;
        } else {
            self.tally.wrong += 1;
            eprintln!("lane {lane}: {came:.40} came instead of {wanted:.40}");
        }
    }

    /// Whether what was sent comes within a time.
    fn is_patient(&self, sent: u32) -> bool {
        let behind = self.next.iter().any(|next| *next < sent);
        let fine = !behind || Mono::now().since(self.last) < PATIENCE;
        if !fine {
            eprintln!("of {sent} messages a lane only {:?} have come", self.next);
        }
        fine
    }
}

/// Sends and receives; what comes is compared with what was sent, message by message.
fn carry(
    until: &impl Fn() -> bool,
    mut send: impl FnMut(Option<(u32, &str)>),
    mut receive: impl FnMut(Duration) -> Option<(u32, String)>,
) -> Tally {
    let began = Mono::now();
    let mut heard = Heard { next: [0; LANES as usize], tally: Tally::default(), last: began };
    let mut sent = 0;
    'sending: while !until() {
        (0..LANES).for_each(|lane| send(Some((lane, &text(lane, sent)))));
        sent += 1;
        let due = began + ROUND * sent;
        loop {
            let left = due.since(Mono::now());
            match receive(left) {
                Some(message) => heard.hear(message),
                None if left.is_zero() => break,
                None if heard.is_patient(sent) => {}
                None => break 'sending,
            }
        }
    }
    send(None);
    while heard.next.iter().any(|next| *next < sent) && heard.is_patient(sent) {
        receive(Duration::from_millis(100)).into_iter().for_each(|message| heard.hear(message));
    }
    if let Some((lane, text)) = receive(Duration::from_secs(1)) {
        eprintln!("more came than was sent: in lane {lane}, {text:.40}");
        heard.tally.wrong += 1;
    }
    Tally { sent: u64::from(sent) * u64::from(LANES), ..heard.tally }
}
