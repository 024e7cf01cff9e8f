//! DescribeGroups: the members of a group and their assignments.

use bytes::Bytes;

use super::coordinator::Coordinator;
use super::group::State;
use tandem_facts::time::Mono;

/// A group, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The state of the group.
    pub state: State,
    /// `consumer`.
    pub protocol_type: String,
    /// The elected assignor; empty unless the group is stable.
    pub protocol: String,
    /// The members, by id.
    pub members: Vec<MemberDescription>,
}

/// A member, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberDescription {
    /// The member id.
    pub member_id: String,
    /// The instance id, if the member is static.
    pub instance_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// The client's host.
    pub client_host: String,
    /// The subscription; empty unless the group is stable.
    pub metadata: Bytes,
    /// The assignment; during a rebalance that of the previous generation.
    pub assignment: Bytes,
}

impl Coordinator {
    /// The current state of the group; none if it does not exist, which Kafka calls dead.
    pub fn handle_describe(&mut self, now: Mono, group: &str) -> Option<Description> {
        self.handle_timeout(now);
        let group = self.groups.get(group)?;
        let stable = group.state == State::Stable;
        let protocol =
            if stable { group.protocol.clone().unwrap_or_default() } else { String::new() };
        let members = group.members.iter().map(|(id, member)| MemberDescription {
            member_id: id.clone(),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            metadata: if stable { member.metadata(&protocol) } else { Bytes::new() },
            assignment: member.assignment.clone(),
        });
        Some(Description {
            state: group.state,
            protocol_type: group.protocol_type.clone().unwrap_or_default(),
            members: members.collect(),
            protocol,
        })
    }
}
