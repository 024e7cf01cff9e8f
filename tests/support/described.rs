//! Who has which partition: as the broker describes the group, and as the members' claims say.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tandem::ids::{Life, PartitionId};
use tandem::time::Mono;
use tandem::timeline::GroupLine;
use tandem::topology::PlannedGroup;

/// The broker's answer to DescribeGroups; members go by their client id, which is their life.
pub fn assignments(broker: &str, group: &PlannedGroup) -> BTreeMap<PartitionId, Life> {
    let consumer: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", broker).create().unwrap();
    let name = group.consumer_group.as_str();
    let list = consumer.fetch_group_list(Some(name), Duration::from_secs(20)).unwrap();
    let found = list.groups().first().unwrap();
    assert_eq!((found.name(), found.state()), (name, "Stable"));
    let mut all = BTreeMap::new();
    for member in found.members() {
        let life = Life::try_from(member.client_id().to_owned()).unwrap();
        for partition in decode(member.assignment().unwrap(), group.topic.as_str()) {
            let other = all.insert(partition, life.clone());
            assert_eq!(other, None, "{partition} was given to one member");
        }
    }
    all
}

/// The assignment of the consumer protocol: version, then topics, each with its partitions.
fn decode(mut bytes: &[u8], wanted: &str) -> Vec<PartitionId> {
    let mut partitions = Vec::new();
    assert!(i16::from_be_bytes(take(&mut bytes)) >= 0, "a version");
    for _ in 0..u32::from_be_bytes(take(&mut bytes)) {
        let length = usize::from(u16::from_be_bytes(take(&mut bytes)));
        let (topic, rest) = bytes.split_at(length);
        bytes = rest;
        assert_eq!(topic, wanted.as_bytes());
        for _ in 0..u32::from_be_bytes(take(&mut bytes)) {
            partitions.push(PartitionId(u32::from_be_bytes(take(&mut bytes))));
        }
    }
    partitions
}

fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
    let (number, rest) = bytes.split_first_chunk().unwrap();
    *bytes = rest;
    *number
}

/// Who claimed each partition at an instant at which one member did.
pub fn settled_claims(group: &GroupLine, at: Mono) -> BTreeMap<PartitionId, Life> {
    let one = |(partition, lane): (&PartitionId, &tandem::timeline::Lane)| {
        let claims = lane.claimed.iter().filter(|(_, view)| view.sure.contains(at));
        let lives: Vec<_> = claims.map(|(life, _)| life.clone()).collect();
        assert_eq!(lives.len(), 1, "{partition} is claimed by {lives:?}");
        (*partition, lives[0].clone())
    };
    group.lanes.iter().map(one).collect()
}

/// The `client.id` of every member of a group, as the broker lists them, in order; none where it
/// knows no such group.
pub fn members(broker: &str, group: &str) -> Vec<String> {
    let consumer: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", broker).create().unwrap();
    let list = consumer.fetch_group_list(Some(group), Duration::from_secs(20));
    let Ok(list) = list else { return Vec::new() };
    let groups = list.groups().iter();
    let all =
        groups.flat_map(rdkafka::groups::GroupInfo::members).map(|one| one.client_id().to_owned());
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

/// The client that has each partition of this topic, once the group is stable with so many members.
pub fn stable(
    broker: &str,
    (group, topic): (&str, &str),
    members: usize,
) -> Option<BTreeMap<PartitionId, String>> {
    let consumer: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", broker).create().unwrap();
    let list = consumer.fetch_group_list(Some(group), Duration::from_secs(20)).ok()?;
    let found = list.groups().first()?;
    if found.state() != "Stable" || found.members().len() != members {
        return None;
    }
    let mut all = BTreeMap::new();
    for member in found.members() {
        let share = member.assignment().filter(|share| !share.is_empty())?;
        let client = member.client_id().to_owned();
        all.extend(decode(share, topic).into_iter().map(|partition| (partition, client.clone())));
    }
    Some(all)
}
