//! Java's clients on three brokers, with both group protocols, while leaders move.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use support::edge::doors::Doors;
use support::edge::traffic;
use support::foreign::{Background, eventually, said};
use support::kafka::Kafka;

/// The topics of which all leaders move to one broker; the first is Java's.
pub(crate) const MOVES: [&str; 3] = ["javas", "rdkafkas", "kcat-traffic"];

const TOOLS: &str = "org.apache.kafka.tools";
const EACH: u32 = 300;

struct Java<'a> {
    kafka: &'a Kafka,
    bootstrap: &'a str,
}

impl Java<'_> {
    fn tool(&self, name: &str, arguments: &[&str]) -> Command {
        let mut tool = self.kafka.tool(&format!("{TOOLS}.{name}"));
        tool.args(arguments).args(["--bootstrap-server", self.bootstrap]);
        tool
    }

    fn says(&self, name: &str, arguments: &[&str]) -> String {
        said(&mut self.tool(name, arguments), "")
    }

    fn consumer(&self, protocol: &str) -> Command {
        let property = format!("group.protocol={protocol}");
        let all = ["--topic", MOVES[0], "--group", protocol, "--from-beginning"];
        self.tool(
            "consumer.ConsoleConsumer",
            &[&all[..], &["--command-property", &property]].concat(),
        )
    }

    /// How much of the topic is not committed, of each partition and group.
    fn lags(&self, groups: [&str; 2]) -> Vec<String> {
        let groups = groups.map(|group| ["--group", group]).concat();
        let describe = ["--describe", "--timeout", "60000"];
        let text =
            self.says("consumer.group.ConsumerGroupCommand", &[&describe[..], &groups].concat());
        let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows = rows.filter(|row| row.get(1) == Some(&MOVES[0]));
        rows.map(|row| row[5].to_owned()).collect()
    }

    /// All leaders go to the first broker, and the replicas with them.
    fn move_leaders(&self, folder: &Path) {
        let all = MOVES.iter().flat_map(|topic| (0..6).map(move |partition| (topic, partition)));
        let partitions: Vec<_> = all
            .map(|(topic, partition)| {
                let replicas = [1];
                serde_json::json!({ "topic": topic, "partition": partition, "replicas": replicas })
            })
            .collect();
        let plan = serde_json::json!({ "version": 1, "partitions": partitions }).to_string();
        let file = folder.join("moves.json");
        std::fs::write(&file, plan).unwrap();
        let file = file.to_str().unwrap();
        let text = self.says(
            "reassign.ReassignPartitionsCommand",
            &["--reassignment-json-file", file, "--execute"],
        );
        assert!(text.contains("Successfully started"), "{text}");
    }
}

/// Creates, describes, produces and consumes through it all, commits.
pub(crate) fn works(kafka: &Kafka, doors: &Doors, bootstrap: &str) {
    let java = Java { kafka, bootstrap };
    traffic::create(bootstrap, MOVES[0]);
    let heard = kafka.folder.path().join("heard");
    let into = std::fs::File::create(&heard).unwrap();
    let mut consumer = Background(java.consumer("consumer").stdout(into).spawn().unwrap());
    // Keys, so that each partition has its share.
    let keyed = ["--topic", MOVES[0], "--reader-property", "parse.key=true"];
    let mut producer = java.tool("ConsoleProducer", &keyed);
    let mut producer = Background(producer.stdin(Stdio::piped()).spawn().unwrap());
    let mut input = producer.0.stdin.take().unwrap();
    let mut send = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            writeln!(input, "{number}\tmessage {number}").unwrap();
        }
    };
    let came = |count: u32| {
        let heard = std::fs::read_to_string(&heard).unwrap();
        let mut heard = numbers(&heard);
        heard.sort_unstable();
        (heard.len() >= count as usize).then_some(heard)
    };
    send(0..EACH);
    eventually("the first messages", || came(EACH));
    let described = java.says("TopicCommand", &["--describe", "--topic", MOVES[0]]);
    assert!(described.contains("PartitionCount: 6\tReplicationFactor: 1"), "{described}");
    for leader in 1..=3 {
        let led = format!("\tLeader: {leader}\tReplicas: {leader}\tIsr: {leader}");
        assert!(described.contains(&led), "{described}");
    }

    java.move_leaders(kafka.folder.path());
    send(EACH..2 * EACH);
    let all: Vec<u32> = (0..2 * EACH).collect();
    assert_eq!(eventually("the other messages", || came(2 * EACH)), all);
    drop(input);
    assert!(producer.0.wait().unwrap().success());

    let count = (2 * EACH).to_string();
    let text = said(java.consumer("classic").args(["--max-messages", &count]), "");
    let mut again = numbers(&text);
    again.sort_unstable();
    assert_eq!(again, all);
    // Not sooner: a consumer that has just learned of a new leader asks it first how far its log
    // goes, and does not commit there meanwhile.
    kill_process(Pid::from_child(&consumer.0), Signal::TERM).unwrap();
    consumer.0.wait().unwrap();
    assert_eq!(java.lags(["consumer", "classic"]), ["0"; 12]);
    let endpoints = java.says("ClusterTool", &["list-endpoints"]);
    assert_eq!(endpoints.matches(" 127.0.0.1 ").count(), 3, "{endpoints}");
    assert!(doors.ports().all(|door| !endpoints.contains(&door.to_string())), "{endpoints}");
}

fn numbers(text: &str) -> Vec<u32> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("message "));
    lines.filter_map(|number| number.parse().ok()).collect()
}
