//! OffsetCommit and OffsetFetch: conversion between the wire and the coordinator.

use std::io;

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse,
};

use super::error::UNKNOWN_TOPIC_OR_PARTITION;
use super::kept::Fences;
use super::membership::{code, owned};
use super::state::{Call, State, text};
use super::topic::Topic;
use crate::groups::{Commit, CommittedOffset, Fault, Position, TopicPartition};
use tandem_facts::time::Mono;

/// The topic in which Kafka keeps committed offsets, and as many partitions as it has there by
/// default. It does not exist here, but groups may commit offsets of its partitions, as in Kafka:
/// no deletion of a topic removes these.
pub(super) const OFFSETS: (&str, i32) = ("__consumer_offsets", 50);

/// The committed offsets of one topic: partition and offset, or none.
type Read = (String, Vec<(i32, Option<CommittedOffset>)>);

impl State {
    pub(super) fn commit(
        &mut self,
        call: &Call<'_>,
        request: OffsetCommitRequest,
    ) -> OffsetCommitResponse {
        let positions: Vec<Position> =
            request.topics.iter().flat_map(|topic| self.positions(topic)).collect();
        // As in Kafka, a commit without existing partitions does not reach the group.
        let nothing = positions.is_empty();
        let commit = Commit {
            group: request.group_id.to_string(),
            member_id: request.member_id.to_string(),
            instance_id: owned(request.group_instance_id.as_ref()),
            generation: request.generation_id_or_member_epoch,
            knows_group_id_not_found: call.version >= 9,
            positions,
        };
        let outcome = if nothing {
            Ok(Vec::new())
        } else {
            self.coordinator.handle_commit(call.now, &commit).and_then(|each| {
                self.keep(&commit, &each).map_err(|error| {
                    tracing::error!(%error, "A fence is not kept, so its commit is refused.");
                    Fault::UnknownServerError
                })?;
                Ok(each)
            })
        };
        let mut each = outcome.as_ref().map(|each| each.iter().copied()).ok();
        let refused = outcome.as_ref().err().copied();
        let topics = request.topics.into_iter().map(|topic| {
            let partitions = topic.partitions.into_iter().map(|position| {
                let error = if !self.may_have(topic.name.as_str(), position.partition_index) {
                    UNKNOWN_TOPIC_OR_PARTITION
                } else if let Some(fault) = refused {
                    fault.code()
                } else {
                    code(each.as_mut().and_then(Iterator::next).unwrap_or(Ok(())))
                };
                OffsetCommitResponsePartition::default()
                    .with_partition_index(position.partition_index)
                    .with_error_code(error)
            });
            OffsetCommitResponseTopic::default()
                .with_partitions(partitions.collect())
                .with_name(topic.name)
        });
        OffsetCommitResponse::default().with_topics(topics.collect())
    }

    /// Writes down what was accepted and has to outlive this broker.
    fn keep(&mut self, commit: &Commit, each: &[Result<(), Fault>]) -> io::Result<()> {
        let mut accepted = commit.positions.iter().zip(each).filter(|(_, result)| result.is_ok());
        accepted.try_for_each(|(position, _)| self.kept.keep(&commit.group, position))
    }

    /// Groups have committed these fences in an earlier life of the broker.
    pub(super) fn restore(&mut self, fences: &Fences) {
        for ((group, partition), offset) in fences {
            let at = TopicPartition { topic: OFFSETS.0.to_owned(), partition: *partition };
            let commit = Commit {
                group: group.clone(),
                member_id: String::new(),
                instance_id: None,
                generation: -1,
                knows_group_id_not_found: true,
                positions: vec![(at, CommittedOffset { offset: *offset, ..none() })],
            };
            if let Err(fault) = self.coordinator.handle_commit(Mono::ZERO, &commit) {
                tracing::error!(group, %fault, "A fence is lost.");
            }
        }
    }

    /// The positions on existing partitions. Kafka refuses the others before it asks the group.
    fn positions(&self, topic: &OffsetCommitRequestTopic) -> Vec<Position> {
        let name = topic.name.as_str();
        let known = topic.partitions.iter().filter(|p| self.may_have(name, p.partition_index));
        let position = |partition: &OffsetCommitRequestPartition| {
            let at =
                TopicPartition { topic: name.to_owned(), partition: partition.partition_index };
            let offset = CommittedOffset {
                offset: partition.committed_offset,
                leader_epoch: partition.committed_leader_epoch,
                metadata: owned(partition.committed_metadata.as_ref()).unwrap_or_default(),
            };
            (at, offset)
        };
        known.map(position).collect()
    }

    /// Whether a group may commit an offset there.
    fn may_have(&self, topic: &str, partition: i32) -> bool {
        let exists = |found: &Topic| found.log(partition).is_some();
        self.topics.get(topic).is_some_and(exists)
            || (topic == OFFSETS.0 && (0..OFFSETS.1).contains(&partition))
    }

    pub(super) fn offsets(
        &mut self,
        call: &Call<'_>,
        request: OffsetFetchRequest,
    ) -> OffsetFetchResponse {
        if call.version < 8 {
            let requested = request.topics.map(|topics| {
                topics.into_iter().map(|t| (t.name.to_string(), t.partition_indexes)).collect()
            });
            let read = self.read_offsets(call, request.group_id.as_str(), requested);
            let topics = read.into_iter().map(topic_of_old).collect();
            return OffsetFetchResponse::default().with_topics(topics);
        }
        let mut groups = Vec::with_capacity(request.groups.len());
        for group in request.groups {
            let requested = group.topics.map(|topics| {
                topics.into_iter().map(|t| (t.name.to_string(), t.partition_indexes)).collect()
            });
            let name = group.group_id.as_str();
            let member = owned(group.member_id.as_ref());
            let may = self.coordinator.handle_check_fetch(
                call.now,
                name,
                member.as_deref(),
                group.member_epoch,
            );
            let response = OffsetFetchResponseGroup::default();
            let response = match may {
                Err(fault) => response.with_error_code(fault.code()),
                Ok(()) => {
                    let read = self.read_offsets(call, name, requested);
                    response.with_topics(read.into_iter().map(topic_of_new).collect())
                }
            };
            groups.push(response.with_group_id(group.group_id));
        }
        OffsetFetchResponse::default().with_groups(groups)
    }

    /// The requested offsets in the order of the request, or all if it names none.
    fn read_offsets(
        &mut self,
        call: &Call<'_>,
        group: &str,
        requested: Option<Vec<(String, Vec<i32>)>>,
    ) -> Vec<Read> {
        let Some(requested) = requested else {
            let mut all: Vec<Read> = Vec::new();
            for (at, offset) in self.coordinator.handle_fetch_offsets(call.now, group) {
                match all.last_mut() {
                    Some((topic, read)) if *topic == at.topic => {
                        read.push((at.partition, Some(offset)));
                    }
                    Some(_) | None => all.push((at.topic, vec![(at.partition, Some(offset))])),
                }
            }
            return all;
        };
        let mut each = |(topic, partitions): (String, Vec<i32>)| {
            let read = partitions.into_iter().map(|partition| {
                let at = TopicPartition { topic: topic.clone(), partition };
                (partition, self.coordinator.handle_fetch_offset(call.now, group, &at))
            });
            let read = read.collect();
            (topic, read)
        };
        requested.into_iter().map(&mut each).collect()
    }
}

fn none() -> CommittedOffset {
    CommittedOffset { offset: -1, leader_epoch: -1, metadata: String::new() }
}

fn topic_of_old((topic, read): Read) -> OffsetFetchResponseTopic {
    let partitions = read.into_iter().map(|(partition, offset)| {
        let offset = offset.unwrap_or_else(none);
        OffsetFetchResponsePartition::default()
            .with_partition_index(partition)
            .with_committed_offset(offset.offset)
            .with_committed_leader_epoch(offset.leader_epoch)
            .with_metadata(Some(text(offset.metadata)))
    });
    OffsetFetchResponseTopic::default()
        .with_partitions(partitions.collect())
        .with_name(text(topic).into())
}

fn topic_of_new((topic, read): Read) -> OffsetFetchResponseTopics {
    let partitions = read.into_iter().map(|(partition, offset)| {
        let offset = offset.unwrap_or_else(none);
        OffsetFetchResponsePartitions::default()
            .with_partition_index(partition)
            .with_committed_offset(offset.offset)
            .with_committed_leader_epoch(offset.leader_epoch)
            .with_metadata(Some(text(offset.metadata)))
    });
    OffsetFetchResponseTopics::default()
        .with_partitions(partitions.collect())
        .with_name(text(topic).into())
}
