//! ConsumerGroupDescribe: the epochs of a group, its members and both of their assignments.

use std::collections::BTreeSet;

use super::catalog::Partition;
use super::group::ConsumerState;
use crate::groups::coordinator::Coordinator;
use tandem_facts::time::Mono;

/// A group, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerDescription {
    /// The state of the group.
    pub state: ConsumerState,
    /// The epoch of the group.
    pub epoch: i32,
    /// The epoch for which the target assignment was computed.
    pub assignment_epoch: i32,
    /// The assignor that is used.
    pub assignor: &'static str,
    /// The members, by id.
    pub members: Vec<ConsumerMemberDescription>,
}

/// A member, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerMemberDescription {
    /// The member id.
    pub member_id: String,
    /// The instance id, if the member is static.
    pub instance_id: Option<String>,
    /// The rack of the member, if it has one.
    pub rack_id: Option<String>,
    /// The member's epoch; -2 for a static member that is away.
    pub epoch: i32,
    /// The client id.
    pub client_id: String,
    /// The client's host.
    pub client_host: String,
    /// The topics that it subscribes to.
    pub topics: BTreeSet<String>,
    /// The regular expression of its subscription, if it has one.
    pub regex: Option<String>,
    /// The partitions that it holds, and such as it must give up and has not yet.
    pub assigned: BTreeSet<Partition>,
    /// The partitions that it shall hold.
    pub target: BTreeSet<Partition>,
}

impl Coordinator {
    /// The current state of the group; none if it does not exist or is a classic one.
    pub fn handle_describe_consumer(
        &mut self,
        now: Mono,
        group: &str,
    ) -> Option<ConsumerDescription> {
        self.handle_timeout(now);
        let group = self.consumers.get(group)?;
        let members = group.members.iter().map(|(id, member)| ConsumerMemberDescription {
            member_id: id.clone(),
            instance_id: member.instance_id.clone(),
            rack_id: member.rack_id.clone(),
            epoch: member.epoch,
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            topics: member.topics.clone(),
            regex: member.regex.clone(),
            assigned: member.assigned.keys().chain(member.revoking.keys()).copied().collect(),
            target: group.target.get(id).cloned().unwrap_or_default(),
        });
        Some(ConsumerDescription {
            state: group.state(),
            epoch: group.epoch,
            assignment_epoch: group.assignment_epoch,
            assignor: group.assignor().name(),
            members: members.collect(),
        })
    }
}
