//! The page of the broker names the versions that are tested.

use std::fs;
use std::path::Path;

use support::foreign::{confluent, java, readers};

fn text(name: &str) -> String {
    fs::read_to_string(Path::new(support::ROOT).join(name)).unwrap()
}

/// What stands between these in a file.
fn between(text: &str, before: &str, after: &str) -> String {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before}"));
    rest.split_once(after).unwrap().0.to_owned()
}

#[test]
fn the_page_names_the_versions_that_are_tested() {
    const READERS: &str = "tests/broker/clients/readers";
    let node = text(&format!("{READERS}/node/package.json"));
    let go = text(&format!("{READERS}/go/go.mod"));
    let (_, python) = readers::KAFKA_PYTHON.split_once("==").unwrap();
    let sys = between(&text("Cargo.lock"), "name = \"rdkafka-sys\"\nversion = \"", "\"");
    let (_, librdkafka) = sys.split_once('+').unwrap();
    let streams = text("tests/broker/clients/streams/pom.xml");
    let named = "<artifactId>kafka-streams</artifactId>\n      <version>";
    let tested = [
        ("Java (Apache Kafka's own)", java::VERSION.to_owned()),
        ("Kafka Streams", between(&streams, named, "</version>")),
        ("librdkafka in rdkafka (Rust)", librdkafka.to_owned()),
        ("librdkafka in confluent-kafka (Python)", confluent::VERSION.to_owned()),
        ("kafka-python", python.to_owned()),
        ("kafkajs", between(&node, "\"kafkajs\": \"", "\"")),
        ("franz-go", between(&go, "franz-go v", "\n")),
    ];
    let page = text("crates/broker/README.md");
    for (client, version) in tested {
        let row = format!("| {client} | {version} |");
        assert!(page.contains(&row), "crates/broker/README.md has no row {row}");
    }
}
