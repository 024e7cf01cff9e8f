//! What the coordinator says of a group's members, to compare with what they say themselves.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Buf;
use kafka_protocol::messages::{
    ApiKey, ConsumerGroupDescribeRequest, ConsumerProtocolAssignment, DescribeGroupsRequest,
    RequestKind, ResponseKind,
};
use kafka_protocol::protocol::{Decodable, StrBytes};

use crate::coordinator::frames::{Ask, Connection};

/// The partitions of each member, by its client id.
pub type Shares = BTreeMap<String, BTreeSet<i32>>;

/// A broker that coordinates the group, for lack of others.
pub struct Coordinator<'a> {
    pub address: &'a str,
    pub group: &'a str,
}

impl Coordinator<'_> {
    fn ask(&self, key: ApiKey, version: i16, body: RequestKind) -> ResponseKind {
        let ask = Ask { key, version, body };
        Connection::open(self.address.parse().unwrap()).ask("shares", &ask)
    }

    fn group(&self) -> StrBytes {
        StrBytes::from_string(self.group.to_owned())
    }

    /// Of a group of the newer protocol.
    pub fn consumer(&self) -> Shares {
        let body =
            ConsumerGroupDescribeRequest::default().with_group_ids(vec![self.group().into()]);
        let body = RequestKind::ConsumerGroupDescribe(body);
        let answer = self.ask(ApiKey::ConsumerGroupDescribe, 1, body);
        let ResponseKind::ConsumerGroupDescribe(answer) = answer else { unreachable!() };
        let members = answer.groups[0].members.iter().map(|member| {
            let topics = member.assignment.topic_partitions.iter();
            let held = topics.flat_map(|topic| &topic.partitions).copied().collect();
            (member.client_id.to_string(), held)
        });
        members.collect()
    }

    /// Of a classic group.
    pub fn classic(&self) -> Shares {
        let body = DescribeGroupsRequest::default().with_groups(vec![self.group().into()]);
        let answer = self.ask(ApiKey::DescribeGroups, 5, RequestKind::DescribeGroups(body));
        let ResponseKind::DescribeGroups(answer) = answer else { unreachable!() };
        let members = answer.groups[0].members.iter().map(|member| {
            let mut bytes = member.member_assignment.clone();
            // None while the group rebalances.
            let version = bytes.try_get_i16().ok();
            let assigned = version.map(|version| {
                let assigned = ConsumerProtocolAssignment::decode(&mut bytes, version).unwrap();
                let topics = assigned.assigned_partitions.into_iter();
                topics.flat_map(|topic| topic.partitions).collect()
            });
            (member.client_id.to_string(), assigned.unwrap_or_default())
        });
        members.collect()
    }
}
