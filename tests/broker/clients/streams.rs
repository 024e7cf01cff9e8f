//! Kafka Streams with a state store: a topology that is killed and loses its folder counts on, from
//! the changelog that it kept on the broker.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::metadata::MetadataTopic;
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};

use super::librdkafka::{WAIT, config, create};
use support::foreign::java::jars;
use support::foreign::readers::{made, source};
use support::foreign::{Background, Broker, command, eventually, said};

const KEYS: [&str; 3] = ["apples", "pears", "plums"];
const WIDTH: i32 = 3;

/// The topology as a process, and what it says; standard error goes to its folder.
struct Counter {
    _process: Background,
    lines: Receiver<String>,
    folder: tempfile::TempDir,
}

impl Counter {
    fn start(broker: &Broker) -> Self {
        // First: two of Maven's at once would write the same files of its repository.
        drop(jars());
        let text = |name: &str| std::fs::read_to_string(source(name)).unwrap();
        let (pom, counter) = ("../streams/pom.xml", "../streams/Counter.java");
        let classes = made("streams", &[pom, counter].map(text).concat(), |folder| {
            let mut copy = command("mvn");
            copy.args(["-q", "-B", "-f"]).arg(source(pom));
            copy.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
            said(copy.arg(format!("-DoutputDirectory={}", folder.join("lib").display())), "");
            let mut compile = command("javac");
            compile.arg("-cp").arg(folder.join("lib/*")).arg("-d").arg(folder);
            said(compile.arg(source(counter)), "");
        });
        let folder = tempfile::tempdir().unwrap();
        let mut path = classes.join("lib/*").into_os_string();
        path.push(":");
        path.push(&classes);
        let mut java = command("java");
        java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp"]).arg(path);
        java.arg("Counter").arg(&broker.address).arg(folder.path().join("state"));
        let complaints = File::create(folder.path().join("complaints")).unwrap();
        let mut child = java.stdout(Stdio::piped()).stderr(complaints).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { _process: Background(child), lines, folder }
    }

    /// Waits until it has said this of all keys; all that it says until then.
    fn counts(&mut self, count: usize) -> Vec<String> {
        let mut heard = Vec::new();
        eventually("the counts of all keys", || {
            heard.extend(self.lines.try_iter());
            let all = KEYS.iter().all(|key| heard.contains(&format!("{key} {count}")));
            all.then_some(())
        });
        heard
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = std::fs::read_to_string(self.folder.path().join("complaints"));
            eprintln!("{}", text.unwrap_or_default());
        }
    }
}

/// So many records of each key.
fn produce(broker: &Broker, each: usize) {
    let producer: ThreadedProducer<_> = config(broker).create().unwrap();
    for key in KEYS.repeat(each) {
        producer.send(BaseRecord::to("words").key(key).payload("x")).map_err(|it| it.0).unwrap();
    }
    producer.flush(WAIT).unwrap();
}

#[test]
fn a_state_store_is_filled_from_its_changelog() {
    let broker = Broker::direct();
    create(&broker, "words", WIDTH);
    let mut counter = Counter::start(&broker);
    produce(&broker, 10);
    let mut heard = counter.counts(10);
    heard.sort_unstable();
    let each = |key: &&str| (1..=10).map(|count| format!("{key} {count}")).collect::<Vec<_>>();
    let mut all: Vec<_> = KEYS.iter().flat_map(each).collect();
    all.sort_unstable();
    assert_eq!(heard, all, "each record is counted once");
    let group: BaseConsumer = config(&broker).set("group.id", "counter").create().unwrap();
    eventually("the commits", || {
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range("words", 0, WIDTH - 1);
        let committed = group.committed_offsets(asked, WAIT).ok()?;
        let offset = |at| if let Offset::Offset(at) = at { at } else { 0 };
        let sum: i64 = committed.elements().iter().map(|one| offset(one.offset())).sum();
        (sum == 30).then_some(())
    });
    let topics = group.fetch_metadata(None, WAIT).unwrap();
    let names: Vec<_> = topics.topics().iter().map(MetadataTopic::name).collect();
    assert!(names.contains(&"counter-counts-changelog"), "{names:?}");

    // Killed, and its folder is gone: only the broker knows the counts.
    drop(counter);
    let mut counter = Counter::start(&broker);
    produce(&broker, 1);
    assert_eq!(counter.counts(11).len(), KEYS.len(), "nothing is counted again");
}
