//! Apache Kafka as the subject of the coordinator's transcripts: it must answer what is written in
//! `tests/coordinator/*.txt`, as the core and the embedded broker do. The clusters are started by
//! `deploy/kafka/up`, which needs Java 17 and Maven; without them these tests fail.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    clippy::print_stderr,
    reason = "a test may fail loudly, and what is shared is not all used here"
)]

mod coordinator_support;
mod kafka_support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coordinator_support::line::{self, Line};
use coordinator_support::parity;
use coordinator_support::remote::Remote;
use kafka_support::Kafka;

#[test]
fn kafka_4_3_0_answers_as_it_is_written() {
    answers_as_it_is_written("4.3.0");
}

#[test]
fn kafka_3_9_1_answers_as_it_is_written() {
    answers_as_it_is_written("3.9.1");
}

/// A cluster for each set of rules that transcripts want, one after the other.
fn answers_as_it_is_written(version: &str) {
    let mut by_rules: BTreeMap<Vec<String>, Vec<PathBuf>> = BTreeMap::new();
    for path in parity::transcripts() {
        by_rules.entry(rules_of(&path)).or_default().push(path);
    }
    let own = format!("kafka-{version}");
    for (rules, paths) in by_rules {
        let mut options = vec!["--version", version];
        options.extend(rules.iter().flat_map(|rule| ["--set", rule]));
        let kafka = Kafka::up(1, &options);
        let address = kafka.bootstraps[0].parse().unwrap();
        parity::assert_parity(&paths, |name, _| Remote::new(address, &["kafka", &own], name));
    }
}

/// What a broker must be told, as Kafka calls it.
fn rules_of(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let rules = text.lines().find(|line| line.starts_with("settings")).unwrap_or("settings");
    let settings = line::settings(&Line::parse(rules));
    vec![
        format!("group.initial.rebalance.delay.ms={}", settings.initial_delay.as_millis()),
        format!("group.max.size={}", settings.members_max),
        format!("group.min.session.timeout.ms={}", settings.session_min.as_millis()),
    ]
}
