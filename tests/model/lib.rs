//! The coordinator's side of a small group: what a member's request does to the coordinator of the
//! embedded broker, and how its replies read to the member. No bytes, no sockets, no clock.

// A test may fail loudly.
#![allow(clippy::missing_panics_doc, reason = "a helper of tests")]

use std::time::Duration;

use tandem_broker::groups::consumer::{ConsumerHeartbeat, Partition, TopicId};
use tandem_broker::groups::{
    Commit, CommittedOffset, Coordinator, Departure, Fault, Heartbeat, Join, JoinReply, Leave,
    Position, Protocol, ReplyBody, Sync, SyncReply, Token, TopicPartition,
};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_neli::membership::{
    self, Beat, Beaten, Joined, JoinedMember, Refusal, Request, Response,
};

/// The group of all members.
pub const GROUP: &str = "g";
/// Its topic.
pub const TOPIC: &str = "t";

/// Who asks, as the bytes of a request would say.
#[derive(Debug, Clone, Default)]
pub struct Asker {
    /// The client id.
    pub client_id: String,
    /// What makes the id of a new member unique.
    pub suffix: String,
    /// The instance id of a static member.
    pub instance_id: Option<String>,
    /// `session.timeout.ms`.
    pub session: Duration,
    /// `max.poll.interval.ms`.
    pub rebalance: Duration,
}

/// Brings a request to the coordinator. A Join and a Sync are answered through
/// [`Coordinator::poll_reply`], under `token`; FindCoordinator is no question for a coordinator.
pub fn ask(
    coordinator: &mut Coordinator,
    now: Mono,
    asker: Asker,
    token: Token,
    request: Request,
) -> Option<Response> {
    let group = GROUP.to_owned();
    let instance_id = asker.instance_id.clone();
    let done = match request {
        Request::FindCoordinator => return None,
        Request::Join(join) => {
            coordinator.handle_join(now, token, &joining(asker, join));
            return None;
        }
        Request::Sync(sync) => {
            let shares = sync.assignments.into_iter().map(|(id, share)| (id, share.into()));
            let sync = Sync {
                group,
                member_id: sync.member_id,
                instance_id,
                generation: sync.generation,
                protocol_type: Some("consumer".to_owned()),
                protocol: Some(sync.protocol.to_owned()),
                must_name_protocol: true,
                assignments: shares.collect(),
            };
            coordinator.handle_sync(now, token, &sync);
            return None;
        }
        Request::Beat(beat) => return Some(beaten(coordinator, now, asker, beat)),
        Request::Session => {
            let own = coordinator.overrides(GROUP).session;
            let session = own.unwrap_or(coordinator.settings().consumer.session);
            return Some(Response::Session(session));
        }
        Request::Members => {
            let group = coordinator.handle_describe_consumer(now, GROUP);
            return Some(Response::Members(group.map_or(0, |group| group.members.len())));
        }
        Request::Heartbeat { member_id, generation } => {
            let beat = Heartbeat { group, member_id, instance_id, generation };
            coordinator.handle_heartbeat(now, &beat)
        }
        Request::Offsets { partitions, .. } => {
            let last = partitions.into_iter().filter_map(|partition| {
                let at = topic_partition(partition);
                let last = coordinator.handle_fetch_offset(now, &group, &at)?;
                Some((partition, last.offset))
            });
            return Some(Response::Offsets(last.collect()));
        }
        // Each has one here.
        Request::Leaders { partitions } => {
            return Some(Response::Leaders(partitions.into_iter().collect()));
        }
        Request::Commit { member_id, generation, offsets } => {
            let commit = Commit {
                group,
                member_id,
                instance_id,
                generation,
                knows_group_id_not_found: true,
                positions: offsets.into_iter().map(position).collect(),
            };
            coordinator.handle_commit(now, &commit).map(|_| ())
        }
        Request::Leave { member_id } => {
            let leave = Leave { group, members: vec![Departure { member_id, instance_id }] };
            let departed = coordinator.handle_leave(now, &leave);
            departed.and_then(|departed| departed.into_iter().try_for_each(|one| one.outcome))
        }
    };
    Some(done.map_or_else(refused, |()| Response::Done))
}

/// A heartbeat of the newer protocol, and its answer.
fn beaten(coordinator: &mut Coordinator, now: Mono, asker: Asker, beat: Beat) -> Response {
    let partition = |it: membership::TopicPartition| Partition {
        topic: TopicId(it.topic),
        index: i32::try_from(it.partition.0).unwrap_or(i32::MAX),
    };
    let beat = ConsumerHeartbeat {
        group: GROUP.to_owned(),
        member_id: beat.member_id,
        epoch: beat.epoch,
        instance_id: asker.instance_id,
        rebalance: beat.whole.then_some(asker.rebalance),
        topics: beat.whole.then(|| vec![TOPIC.to_owned()]),
        owned: beat.owned.map(|owned| owned.into_iter().map(partition).collect()),
        ..ConsumerHeartbeat::default()
    };
    let reply = coordinator.handle_consumer_heartbeat(now, &beat);
    let share = |it: Partition| membership::TopicPartition {
        topic: it.topic.0,
        partition: PartitionId(u32::try_from(it.index).unwrap_or(u32::MAX)),
    };
    reply.map_or_else(refused, |reply| {
        Response::Beaten(Beaten {
            epoch: reply.epoch,
            interval: reply.interval,
            assignment: reply.assignment.map(|all| all.into_iter().map(share).collect()),
        })
    })
}

fn joining(asker: Asker, join: membership::Join) -> Join {
    let Asker { client_id, suffix, instance_id, session, rebalance } = asker;
    let protocols = join.protocols.into_iter();
    let protocols = protocols
        .map(|(name, metadata)| Protocol { name: name.to_owned(), metadata: metadata.into() });
    Join {
        group: GROUP.to_owned(),
        member_id: join.member_id,
        instance_id,
        client_id,
        client_host: String::new(),
        suffix,
        session,
        rebalance,
        protocol_type: "consumer".to_owned(),
        protocols: protocols.collect(),
        needs_known_id: true,
        can_skip_assignment: true,
    }
}

/// A reply that waited, as the member reads it.
#[must_use]
pub fn reply(body: ReplyBody) -> Response {
    match body {
        ReplyBody::Join(reply) => joined(reply),
        ReplyBody::Sync(reply) => synced(reply),
    }
}

fn topic_partition(partition: PartitionId) -> TopicPartition {
    let partition = i32::try_from(partition.0).unwrap_or(i32::MAX);
    TopicPartition { topic: TOPIC.to_owned(), partition }
}

fn position((partition, offset): (PartitionId, i64)) -> Position {
    let offset = CommittedOffset { offset, leader_epoch: -1, metadata: String::new() };
    (topic_partition(partition), offset)
}

fn refusal(fault: Fault) -> Refusal {
    Refusal::from_code(fault.code()).unwrap_or(Refusal::UnknownServerError)
}

fn refused(fault: Fault) -> Response {
    Response::Refused { refusal: refusal(fault), member_id: None }
}

fn joined(reply: JoinReply) -> Response {
    match reply.outcome {
        Err(fault) => {
            Response::Refused { refusal: refusal(fault), member_id: Some(reply.member_id) }
        }
        Ok(joined) => {
            let members = joined.members.into_iter().map(|member| JoinedMember {
                member_id: member.member_id,
                instance_id: member.instance_id,
                metadata: member.metadata.to_vec(),
            });
            Response::Joined(Joined {
                member_id: reply.member_id,
                generation: joined.generation,
                protocol: joined.protocol.unwrap_or_default(),
                leader: joined.leader,
                skip_assignment: joined.skip_assignment,
                members: members.collect(),
            })
        }
    }
}

fn synced(reply: SyncReply) -> Response {
    reply.map_or_else(refused, |synced| Response::Synced(synced.assignment.to_vec()))
}
