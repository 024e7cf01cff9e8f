//! What a plan makes of whose stamps a topic has, in the mode that trusts those of the brokers.

use std::collections::BTreeMap;

use tandem::ids::TopicName;
use tandem::topology::{ClusterFacts, Weight, judge, plan};

const TEXT: &str = "\
version: 1
name: t
roles: [r]
clusters: {a: {bootstrap: \"h:1\"}}
groups: {p1: {cluster: a, partitions: 4, topic: ledger}}
";

/// What is said of stamps on a cluster that has the topic, with these stamps if they are visible.
fn judged(mode: &str, stamps: Option<&str>) -> Vec<(Weight, String)> {
    let ledger: TopicName = "ledger".parse().unwrap();
    let text = format!("{TEXT}defaults: {{mode: {mode}}}\n");
    let facts = ClusterFacts {
        widths: BTreeMap::from([(ledger.clone(), 4)]),
        stamps: stamps.map(|stamps| (ledger, stamps.to_owned())).into_iter().collect(),
        ..ClusterFacts::default()
    };
    let facts = BTreeMap::from([("a".parse().unwrap(), facts)]);
    let findings = judge(&plan(&text, &[]).unwrap(), &facts).into_iter();
    let of_stamps = findings.filter(|found| found.text.contains("stamps"));
    of_stamps.map(|found| (found.weight, found.text)).collect()
}

#[test]
fn members_that_trust_stamps_need_a_topic_with_those_of_the_brokers() {
    let mode = "exclusive-paper";
    let fine = judged(mode, Some("LogAppendTime"));
    assert!(fine.len() == 1 && fine[0].0 == Weight::Fine, "{fine:?}");
    let refused = judged(mode, Some("CreateTime"));
    assert!(refused.len() == 1 && refused[0].0 == Weight::Refused, "{refused:?}");
    assert!(refused[0].1.contains("set `message.timestamp.type=LogAppendTime`"), "{refused:?}");
    let unknown = judged(mode, None);
    assert!(unknown.len() == 1 && unknown[0].0 == Weight::Warned, "{unknown:?}");
    assert!(unknown[0].1.contains("requires DescribeConfigs on it"), "{unknown:?}");
    for other in ["exclusive", "non-exclusive"] {
        assert_eq!(judged(other, Some("CreateTime")), []);
    }
}
