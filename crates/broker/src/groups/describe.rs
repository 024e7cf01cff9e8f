//! DescribeGroups: who is in a group, and what it holds.

use bytes::Bytes;

use super::coordinator::Coordinator;
use super::group::State;
use tandem_facts::time::Mono;

/// A group, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Where it stands.
    pub state: State,
    /// `consumer`.
    pub protocol_type: String,
    /// The elected assignor, told where the group is stable.
    pub protocol: String,
    /// Its members, by id.
    pub members: Vec<MemberDescription>,
}

/// A member, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberDescription {
    /// Its id.
    pub member_id: String,
    /// Its instance id, if it is static.
    pub instance_id: Option<String>,
    /// How the client calls itself.
    pub client_id: String,
    /// Where it calls from.
    pub client_host: String,
    /// Its subscription, told where the group is stable.
    pub metadata: Bytes,
    /// Its share; while the group rebalances still that of the generation before.
    pub assignment: Bytes,
}

impl Coordinator {
    /// The group as it is now; none where it does not exist, which Kafka calls dead.
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
