//! What a broker answers, read into the words of a transcript.

use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::{JoinGroupResponse, LeaveGroupResponse, ListGroupsResponse};
use kafka_protocol::messages::{OffsetFetchResponse, ResponseKind};
use tandem::groups::{
    Departure, Description, Joined, JoinedMember, Listing, MemberDescription, State,
};

use super::alias::Aliases;
use super::consumer_wire::Topics;
use super::{Answer, said};

pub struct Reader<'a> {
    /// The ids of topics on this broker, and their names.
    pub topics: &'a Topics,
    pub aliases: &'a mut Aliases,
    /// Begins the names of the groups of this play.
    pub prefix: &'a str,
}

impl Reader<'_> {
    pub fn read(&mut self, client: &str, body: ResponseKind) -> Answer {
        match body {
            ResponseKind::JoinGroup(answer) => self.joined(client, &answer),
            ResponseKind::SyncGroup(answer) => {
                let share = &answer.assignment[..];
                said::synced(client, fine(answer.error_code).map(|()| share))
            }
            ResponseKind::Heartbeat(answer) => said::done(client, "heartbeat", answer.error_code),
            ResponseKind::LeaveGroup(answer) => self.left(client, &answer),
            ResponseKind::OffsetCommit(answer) => {
                let each = answer.topics.iter().flat_map(|topic| &topic.partitions);
                let codes: Vec<_> = each.map(|partition| partition.error_code).collect();
                said::committed(client, &codes)
            }
            ResponseKind::OffsetFetch(answer) if answer.groups.is_empty() => {
                said::fetched(client, offset(&answer))
            }
            ResponseKind::DescribeGroups(answer) => {
                self.described(client, answer.groups.first().unwrap())
            }
            ResponseKind::ListGroups(answer) => self.listed(client, &answer),
            ResponseKind::DeleteGroups(answer) => {
                said::done(client, "delete", answer.results.first().unwrap().error_code)
            }
            other => self.consumer(client, other),
        }
    }

    fn joined(&mut self, client: &str, answer: &JoinGroupResponse) -> Answer {
        let member_id = self.aliases.alias(&answer.member_id);
        if let Err(code) = fine(answer.error_code) {
            return said::joined(client, &member_id, Err(code));
        }
        let mut members = Vec::new();
        for member in &answer.members {
            members.push(JoinedMember {
                member_id: self.aliases.alias(&member.member_id),
                instance_id: member.group_instance_id.as_ref().map(ToString::to_string),
                metadata: member.metadata.clone(),
            });
        }
        let joined = Joined {
            generation: answer.generation_id,
            protocol_type: answer.protocol_type.as_ref().map(ToString::to_string),
            protocol: answer.protocol_name.as_ref().map(ToString::to_string),
            leader: self.aliases.alias(&answer.leader),
            skip_assignment: answer.skip_assignment,
            members,
        };
        said::joined(client, &member_id, Ok(&joined))
    }

    fn left(&mut self, client: &str, answer: &LeaveGroupResponse) -> Answer {
        if let Err(code) = fine(answer.error_code) {
            return said::left(client, Err(code));
        }
        let mut departed = Vec::new();
        for member in &answer.members {
            let who = Departure {
                member_id: self.aliases.alias(&member.member_id),
                instance_id: member.group_instance_id.as_ref().map(ToString::to_string),
            };
            departed.push((who, member.error_code));
        }
        said::left(client, Ok(&departed))
    }

    fn described(&mut self, client: &str, group: &DescribedGroup) -> Answer {
        assert_eq!(group.error_code, 0);
        let state = state(&group.group_state);
        if state == State::Dead {
            return said::described(client, None);
        }
        let mut members = Vec::new();
        for member in &group.members {
            members.push(MemberDescription {
                member_id: self.aliases.alias(&member.member_id),
                instance_id: member.group_instance_id.as_ref().map(ToString::to_string),
                client_id: member.client_id.to_string(),
                client_host: member.client_host.to_string(),
                metadata: member.member_metadata.clone(),
                assignment: member.member_assignment.clone(),
            });
        }
        let description = Description {
            state,
            protocol_type: group.protocol_type.to_string(),
            protocol: group.protocol_data.to_string(),
            members,
        };
        said::described(client, Some(&description))
    }

    fn listed(&self, client: &str, answer: &ListGroupsResponse) -> Answer {
        assert_eq!(answer.error_code, 0);
        let mut list = Vec::new();
        for group in &answer.groups {
            let Some(name) = group.group_id.strip_prefix(self.prefix) else { continue };
            list.push(Listing {
                group: name.to_owned(),
                protocol_type: group.protocol_type.to_string(),
                state: super::consumer::state(&group.group_type, &group.group_state),
            });
        }
        said::listed(client, &list)
    }
}

fn fine(code: i16) -> Result<(), i16> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// Of the one partition that was asked for; -1 is Kafka's word for none.
fn offset(answer: &OffsetFetchResponse) -> Option<i64> {
    assert_eq!(answer.error_code, 0);
    let each = answer.topics.iter().flat_map(|topic| &topic.partitions);
    let one = each.map(|partition| (partition.error_code, partition.committed_offset)).last();
    let (code, offset) = one.unwrap();
    assert_eq!(code, 0);
    (offset >= 0).then_some(offset)
}

pub(super) fn state(name: &str) -> State {
    let all = [
        State::Empty,
        State::PreparingRebalance,
        State::CompletingRebalance,
        State::Stable,
        State::Dead,
    ];
    all.into_iter().find(|state| state.to_string() == name).unwrap()
}
