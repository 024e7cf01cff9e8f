//! Finds groups and clusters that only `--set` names: a single value for an unknown group is a
//! typing error, not a new group.

use crate::neli::elections::among::Among;
use crate::yaml::{Entry, Node, Origin, Problem, Value, choices};

/// The mapping, the noun for its entries, and the keys that a new entry needs at least one of.
const NAMED: [(&str, &str, &[&str]); 2] = [
    ("groups", "group", &["cluster"]),
    ("clusters", "cluster", &["embedded", "bootstrap", "etcd", "zookeeper", "nats"]),
];

/// The names that an override uses and the file does not have. An override that sets everything a
/// new entry needs adds it.
pub(super) fn of(root: &Node) -> Vec<Problem> {
    NAMED.iter().flat_map(|(key, noun, needs)| strangers(root, key, noun, needs)).collect()
}

/// Whether it is a group that needs no cluster.
fn alone(entry: &Entry) -> bool {
    let election = entry.node.entry("election").map(|entry| &entry.node.value);
    matches!(election, Some(Value::Text(text)) if Among::named(text).is_some())
}

fn strangers(root: &Node, key: &str, noun: &str, needs: &[&str]) -> Vec<Problem> {
    let Some(Value::Map(entries)) = root.entry(key).map(|entry| &entry.node.value) else {
        return Vec::new();
    };
    let written = |entry: &&Entry| matches!(entry.key_origin, Origin::File(_));
    let names: Vec<&str> = entries.iter().filter(written).map(|entry| entry.key.as_str()).collect();
    let whole = |entry: &Entry| match entry.node.value {
        Value::Map(_) => needs.iter().any(|key| entry.node.entry(key).is_some()) || alone(entry),
        Value::Nothing
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_) => true,
    };
    let stranger = |entry: &&Entry| !written(entry) && !whole(entry);
    let problem = |entry: &Entry| {
        let message = format!("there is no {noun} `{}`", entry.key);
        let hint = choices(&entry.key, names.iter().copied());
        Problem::at(entry.key_origin.clone(), message).hint(hint)
    };
    entries.iter().filter(stranger).map(problem).collect()
}
