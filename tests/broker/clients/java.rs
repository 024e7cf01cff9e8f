//! The console tools of Apache Kafka 4.3.0, on Java's client.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::librdkafka::create;
use support::foreign::java::jars;
use support::foreign::{Background, Broker, command, eventually, said};

const TOPICS: &str = "org.apache.kafka.tools.TopicCommand";
const GROUPS: &str = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
const CONFIGS: &str = "kafka.admin.ConfigCommand";
const DELETE_RECORDS: &str = "org.apache.kafka.tools.DeleteRecordsCommand";
const LOG_DIRS: &str = "org.apache.kafka.tools.LogDirsCommand";
const PRODUCER: &str = "org.apache.kafka.tools.ConsoleProducer";
const CONSUMER: &str = "org.apache.kafka.tools.consumer.ConsoleConsumer";
/// How long the tool waits for a group, in place of 5 s.
const PATIENT: [&str; 2] = ["--timeout", "60000"];

fn java(broker: &Broker, tool: &str, arguments: &[&str]) -> Command {
    let mut java = command("java");
    java.args(["-XX:TieredStopAtLevel=1", "-Xmx128m", "-cp"]).arg(jars()).arg(tool);
    java.args(["--bootstrap-server", &broker.address]).args(arguments);
    java
}

/// A consumer of the group that runs until it is stopped. No stall of the host ends its session.
fn consumer(broker: &Broker) -> Background {
    let paced = ["session.timeout.ms=60000", "heartbeat.interval.ms=100"];
    let mut consumer = java(broker, CONSUMER, &["--topic", "ledger", "--group", "readers"]);
    for property in paced {
        consumer.args(["--command-property", property]);
    }
    Background(consumer.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// Waits until the tool says so of the group, and names its assignor.
fn is_stable(broker: &Broker, assignor: &str) {
    let state = [&["--describe", "--group", "readers", "--state"][..], &PATIENT].concat();
    eventually("a group that is stable", || {
        let state = said(&mut java(broker, GROUPS, &state), "");
        (state.contains("Stable") && state.contains(assignor)).then_some(())
    });
}

directly!(
    the_console_tools_create_produce_consume_and_delete,
    the_console_tools_use_the_newer_protocol,
);
by_an_edge!(
    the_console_tools_see_a_rebalance,
    the_console_tools_change_settings_delete_records_and_measure_logs,
);

fn the_console_tools_create_produce_consume_and_delete(broker: &Broker) {
    let topics = |arguments: &[&str]| said(&mut java(broker, TOPICS, arguments), "");
    topics(&["--create", "--topic", "ledger", "--partitions", "3", "--replication-factor", "1"]);
    topics(&["--alter", "--topic", "ledger", "--partitions", "4"]);
    assert_eq!(topics(&["--list"]).trim(), "ledger");
    let described = topics(&["--describe", "--topic", "ledger"]);
    assert!(described.contains("PartitionCount: 4\tReplicationFactor: 1"), "{described}");
    assert!(described.contains("Partition: 3\tLeader: 1\tReplicas: 1\tIsr: 1"), "{described}");

    let lines: String = (0..100).map(|number| format!("message {number}\n")).collect();
    said(&mut java(broker, PRODUCER, &["--topic", "ledger"]), &lines);
    let all = ["--topic", "ledger", "--group", "readers", "--from-beginning"];
    let mut consumer = java(broker, CONSUMER, &all);
    let heard = said(consumer.args(["--max-messages", "100"]), "");
    let mut heard: Vec<_> = heard.lines().filter(|line| line.starts_with("message")).collect();
    let mut sent: Vec<_> = lines.lines().collect();
    heard.sort_unstable();
    sent.sort_unstable();
    assert_eq!(heard, sent);

    let groups = |arguments: &[&str]| said(&mut java(broker, GROUPS, arguments), "");
    let lag: i64 = groups(&[&["--describe", "--group", "readers"][..], &PATIENT].concat())
        .lines()
        .filter(|line| line.starts_with("readers"))
        .map(|line| line.split_whitespace().nth(5).unwrap().parse::<i64>().unwrap())
        .sum();
    assert_eq!(lag, 0);
    let reset = ["--group", "readers", "--topic", "ledger", "--reset-offsets", "--to-earliest"];
    groups(&[&reset[..], &["--execute"], &PATIENT].concat());
    groups(&[&["--delete", "--group", "readers"][..], &PATIENT].concat());
    assert_eq!(groups(&[&["--list"][..], &PATIENT].concat()).trim(), "");
    topics(&["--delete", "--topic", "ledger"]);
    assert_eq!(topics(&["--list"]).trim(), "");
}

fn the_console_tools_see_a_rebalance(broker: &Broker) {
    create(broker, "ledger", 4);
    // The number of partitions of each member, as the tool counts them.
    let shares = || {
        let members = ["--describe", "--group", "readers", "--members", "--verbose"];
        let members = [&members[..], &PATIENT].concat();
        let text = said(&mut java(broker, GROUPS, &members), "");
        let members = text.lines().filter(|line| line.starts_with("readers"));
        let mut shares: Vec<usize> =
            members.map(|line| line.split_whitespace().nth(4).unwrap().parse().unwrap()).collect();
        shares.sort_unstable();
        shares
    };
    let (one, mut two) = (consumer(broker), consumer(broker));
    eventually("an even share", || (shares() == [2, 2]).then_some(()));
    is_stable(broker, "range");
    kill_process(Pid::from_child(&two.0), Signal::TERM).unwrap();
    two.0.wait().unwrap();
    eventually("everything with one", || (shares() == [4]).then_some(()));
    drop(one);
}

/// Java's consumer with `group.protocol=consumer`, and the tools' view of its group.
fn the_console_tools_use_the_newer_protocol(broker: &Broker) {
    create(broker, "ledger", 4);
    let settings = "consumer.session.timeout.ms=3000,consumer.heartbeat.interval.ms=300";
    let alter = ["--entity-type", "groups", "--entity-name", "readers", "--alter"];
    said(&mut java(broker, CONFIGS, &[&alter[..], &["--add-config", settings]].concat()), "");
    let described = ["--entity-type", "groups", "--entity-name", "readers", "--describe"];
    let described = said(&mut java(broker, CONFIGS, &described), "");
    assert!(described.contains("consumer.session.timeout.ms=3000"), "{described}");

    let start = || {
        let mut one = java(broker, CONSUMER, &["--topic", "ledger", "--group", "readers"]);
        one.args(["--command-property", "group.protocol=consumer"]);
        Background(one.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let shares = || {
        let members = ["--describe", "--group", "readers", "--members", "--verbose"];
        let members = [&members[..], &PATIENT].concat();
        let text = said(&mut java(broker, GROUPS, &members), "");
        let lines = text.lines().filter(|line| line.starts_with("readers"));
        let mut shares: Vec<usize> = lines
            .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).next())
            .map(Option::unwrap_or_default)
            .collect();
        shares.sort_unstable();
        shares
    };
    let (one, mut two) = (start(), start());
    eventually("an even share", || (shares() == [2, 2]).then_some(()));
    is_stable(broker, "uniform");
    let list = said(&mut java(broker, GROUPS, &["--list", "--type"]), "");
    assert!(list.contains("readers") && list.to_lowercase().contains("consumer"), "{list}");
    // Killed, not asked to leave: its session is waited for.
    two.0.kill().unwrap();
    two.0.wait().unwrap();
    eventually("everything with one", || (shares() == [4]).then_some(()));
    drop(one);
}

fn the_console_tools_change_settings_delete_records_and_measure_logs(broker: &Broker) {
    create(broker, "ledger", 1);
    let configs = |arguments: &[&str]| {
        let of = ["--entity-type", "topics", "--entity-name", "ledger"];
        said(&mut java(broker, CONFIGS, &[&of[..], arguments].concat()), "")
    };
    configs(&["--alter", "--add-config", "retention.ms=86400000,cleanup.policy=[compact,delete]"]);
    let described = configs(&["--describe"]);
    assert!(described.contains("retention.ms=86400000"), "{described}");
    assert!(described.contains("cleanup.policy=compact,delete"), "{described}");
    configs(&["--alter", "--delete-config", "retention.ms"]);
    let described = configs(&["--describe"]);
    assert!(!described.contains("retention.ms="), "{described}");

    let line = "again and again\n";
    let compressed = ["--topic", "ledger", "--compression-codec", "gzip"];
    said(&mut java(broker, PRODUCER, &compressed), &line.repeat(1_000));
    let measured = said(&mut java(broker, LOG_DIRS, &["--describe"]), "");
    let json = measured.lines().find(|line| line.starts_with('{')).unwrap();
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let folder = &json["brokers"][0]["logDirs"][0];
    assert_eq!((&folder["error"], &folder["logDir"]), (&serde_json::Value::Null, &"memory".into()));
    let size = folder["partitions"][0]["size"].as_u64().unwrap();
    assert!((1..u64::try_from(line.len()).unwrap() * 500).contains(&size), "{measured}");

    let wanted = tempfile::NamedTempFile::new().unwrap();
    let from = serde_json::json!({
        "version": 1,
        "partitions": [{"topic": "ledger", "partition": 0, "offset": 990}],
    });
    std::fs::write(wanted.path(), from.to_string()).unwrap();
    let file = ["--offset-json-file", wanted.path().to_str().unwrap()];
    let deleted = said(&mut java(broker, DELETE_RECORDS, &file), "");
    assert!(deleted.contains("low_watermark: 990"), "{deleted}");
    let all = ["--topic", "ledger", "--from-beginning", "--max-messages", "10"];
    let left = said(&mut java(broker, CONSUMER, &all), "");
    assert_eq!(left.lines().filter(|one| *one == line.trim_end()).count(), 10, "{left}");
}
