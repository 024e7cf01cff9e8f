//! Transcripts of the newer protocol (KIP-848): its lines, and its answers.
//!
//!   enter a topics=books assignor=range   epoch 0, with all that a first heartbeat has
//!   beat a owns=books:0,1                 the next one; `owns=none` says that nothing is held
//!   quit a epoch=-2                       leaves; -1, for good, if there is no epoch
//!
//! The member id is the client's letter, as these members choose it themselves.

use std::collections::{BTreeMap, BTreeSet};

use tandem::groups::consumer::{
    ConsumerDescription, ConsumerHeartbeat, ConsumerReply, ConsumerState, GroupOverrides,
    Partition, TopicId,
};
use tandem::groups::{GroupState, TopicPartition};

use super::line::{Client, Line};
use super::{Answer, Request, heard, said};

/// The topics of all transcripts, and their widths.
pub const TOPICS: [(&str, i32); 3] = [("books", 4), ("ledger", 1), ("pages", 3)];

/// The id of a topic in the core.
pub fn topic_id(name: &str) -> TopicId {
    let at = TOPICS.iter().position(|(known, _)| *known == name).unwrap();
    TopicId(u128::try_from(at).unwrap())
}

fn topic_name(id: TopicId) -> &'static str {
    TOPICS[usize::try_from(id.0).unwrap()].0
}

pub fn request(line: &Line<'_>, client: &Client, group: String) -> Request {
    let member_id = line.text("member", line.client);
    let joins = line.word == "enter";
    let epoch = match line.word {
        "enter" => 0,
        "quit" => line.number("epoch", -1),
        _ => line.number("epoch", client.generation.into()),
    };
    let epoch = i32::try_from(epoch).unwrap();
    match line.word {
        "inspect" => Request::Inspect(group),
        "configure" => {
            let span = |name| line.option(name).map(|_| line.span(name, 0));
            let overrides =
                GroupOverrides { session: span("session"), heartbeat: span("heartbeat") };
            Request::Configure(group, overrides)
        }
        "recall" => {
            let member =
                if line.text("as", "member") == "none" { String::new() } else { member_id };
            Request::Recall(group, member, epoch, position(line))
        }
        "enter" | "beat" | "quit" => {
            let owns = line.option("owns").or_else(|| joins.then(|| "none".to_owned()));
            let topics = line.option("topics").map(|names| {
                names.split(',').filter(|name| *name != "none").map(str::to_owned).collect()
            });
            let spans = joins || line.option("rebalance").is_some();
            Request::Beat(ConsumerHeartbeat {
                group,
                member_id,
                epoch,
                instance_id: line.option("instance"),
                rack_id: None,
                client_id: line.client.to_owned(),
                client_host: "/127.0.0.1".to_owned(),
                rebalance: spans.then(|| line.span("rebalance", 3_000)),
                topics,
                regex: line.option("regex"),
                assignor: line.option("assignor"),
                owned: owns.map(|owns| partitions(&owns)),
                spare_id: None,
            })
        }
        word => panic!("{word} is no request"),
    }
}

/// `books:0,1/pages:2`, or `none`.
fn partitions(written: &str) -> Vec<Partition> {
    let topics = written.split('/').filter_map(|one| one.split_once(':'));
    let each = topics.flat_map(|(name, indexes)| {
        let topic = topic_id(name);
        indexes.split(',').map(move |index| Partition { topic, index: index.parse().unwrap() })
    });
    each.collect()
}

/// The partition of a commit, or of a question for it.
pub fn position(line: &Line<'_>) -> TopicPartition {
    let on = line.text("on", "ledger:0");
    let (topic, partition) = on.split_once(':').unwrap();
    TopicPartition { topic: topic.to_owned(), partition: partition.parse().unwrap() }
}

fn shown(partitions: &BTreeSet<Partition>) -> String {
    let mut topics: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for at in partitions {
        topics.entry(topic_name(at.topic)).or_default().push(at.index.to_string());
    }
    let each = topics.into_iter().map(|(name, indexes)| format!("{name}:{}", indexes.join(",")));
    if partitions.is_empty() { "none".to_owned() } else { each.collect::<Vec<_>>().join("/") }
}

/// The answer with numbers of partitions in the place of partitions.
pub fn counted(said: &str) -> String {
    let count = |word: &str| match word.split_once(':') {
        Some(_) => word.split('/').map(|one| one.split(',').count()).sum::<usize>().to_string(),
        None => word.to_owned(),
    };
    let lines = said.lines().map(|line| line.split(' ').map(count).collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

pub fn beaten(client: &str, reply: Result<&ConsumerReply, i16>) -> Answer {
    let reply = match reply {
        Ok(reply) => reply,
        Err(code) => return said::done(client, "beat", code),
    };
    let mut line = format!("{client} epoch={}", reply.epoch);
    if reply.member_id != client {
        line.push_str(&format!(" member={}", reply.member_id));
    }
    if let Some(assigned) = &reply.assignment {
        line.push_str(&format!(" holds {}", shown(assigned)));
    }
    let generation = (reply.epoch >= 0).then_some(reply.epoch);
    Answer { line, member_id: Some(reply.member_id.clone()), generation }
}

/// A line of the group, and one of each member.
pub fn inspected(client: &str, found: Result<&ConsumerDescription, i16>) -> Answer {
    let group = match found {
        Ok(group) => group,
        Err(code) => return said::done(client, "inspect", code),
    };
    let mut lines = vec![format!(
        "{client} inspect {} epoch={} target={} {}",
        group.state, group.epoch, group.assignment_epoch, group.assignor
    )];
    let each = group.members.iter().map(|member| {
        let instance = member.instance_id.as_ref().map(|i| format!("/{i}")).unwrap_or_default();
        let regex = member.regex.as_ref().map(|regex| format!("/{regex}/"));
        let topics: Vec<_> = member.topics.iter().cloned().chain(regex).collect();
        format!(
            "{client} inspect {}{instance} epoch={} of {} holds {} shall {}",
            member.member_id,
            member.epoch,
            topics.join(","),
            shown(&member.assigned),
            shown(&member.target)
        )
    });
    let mut members: Vec<_> = each.collect();
    members.sort();
    lines.extend(members);
    Answer { line: lines.join("\n"), ..Answer::default() }
}

pub fn recalled(client: &str, found: Result<Option<i64>, i16>) -> Answer {
    match found {
        Err(code) => said::done(client, "recall", code),
        Ok(found) => {
            let offset = found.map_or_else(|| "none".to_owned(), |offset| offset.to_string());
            Answer { line: format!("{client} recall {offset}"), ..Answer::default() }
        }
    }
}

/// The state of a group of this type.
pub fn state(kind: &str, name: &str) -> GroupState {
    if kind.eq_ignore_ascii_case("consumer") {
        GroupState::Consumer(consumer_state(name))
    } else {
        GroupState::Classic(heard::state(name))
    }
}

pub fn consumer_state(name: &str) -> ConsumerState {
    let all = [
        ConsumerState::Empty,
        ConsumerState::Assigning,
        ConsumerState::Reconciling,
        ConsumerState::Stable,
    ];
    all.into_iter().find(|state| state.to_string() == name).unwrap()
}
