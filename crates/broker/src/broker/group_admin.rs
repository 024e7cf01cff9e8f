//! ListGroups, DescribeGroups, DeleteGroups: requests of operators.

use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{
    DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    ListGroupsRequest, ListGroupsResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::error::NONE;
use super::membership::code;
use super::state::{Call, State, text};
use crate::groups::{Description, Fault, MemberDescription};

/// Kafka's value for authorized operations that were not requested (KIP-430).
pub(super) const NO_OPERATIONS: i32 = i32::MIN;

impl State {
    pub(super) fn list_groups(
        &mut self,
        call: &Call<'_>,
        request: &ListGroupsRequest,
    ) -> ListGroupsResponse {
        let wanted = |filter: &[StrBytes], value: &str| {
            filter.is_empty() || filter.iter().any(|one| one.eq_ignore_ascii_case(value))
        };
        let listed = self.coordinator.handle_list(call.now).into_iter().filter(|line| {
            wanted(&request.states_filter, &line.state.to_string())
                && wanted(&request.types_filter, line.state.kind())
        });
        let groups = listed.map(|line| {
            let group = ListedGroup::default()
                .with_group_id(text(line.group).into())
                .with_protocol_type(text(line.protocol_type));
            // Fields that a version lacks must stay at their defaults.
            let group = if call.version >= 4 {
                group.with_group_state(text(line.state.to_string()))
            } else {
                group
            };
            if call.version >= 5 { group.with_group_type(text(line.state.kind())) } else { group }
        });
        ListGroupsResponse::default().with_groups(groups.collect())
    }

    pub(super) fn describe_groups(
        &mut self,
        call: &Call<'_>,
        request: DescribeGroupsRequest,
    ) -> DescribeGroupsResponse {
        let each = request.groups.into_iter().map(|name| {
            let description = self.coordinator.handle_describe(call.now, name.as_str());
            let group = DescribedGroup::default()
                .with_group_id(name)
                .with_authorized_operations(NO_OPERATIONS);
            match description {
                Some(description) => described(group, description),
                // Since version 6 (KIP-1043) a missing group is an error; before, it was dead.
                None if call.version >= 6 => group
                    .with_group_state(text("Dead"))
                    .with_error_code(Fault::GroupIdNotFound.code())
                    .with_error_message(Some(text(Fault::GroupIdNotFound.to_string()))),
                None => group.with_group_state(text("Dead")),
            }
        });
        DescribeGroupsResponse::default().with_groups(each.collect())
    }

    pub(super) fn delete_groups(
        &mut self,
        call: &Call<'_>,
        request: DeleteGroupsRequest,
    ) -> DeleteGroupsResponse {
        let each = request.groups_names.into_iter().map(|name| {
            let outcome = self.coordinator.handle_delete(call.now, name.as_str());
            DeletableGroupResult::default().with_group_id(name).with_error_code(code(outcome))
        });
        DeleteGroupsResponse::default().with_results(each.collect())
    }
}

fn described(group: DescribedGroup, description: Description) -> DescribedGroup {
    group
        .with_error_code(NONE)
        .with_group_state(text(description.state.to_string()))
        .with_protocol_type(text(description.protocol_type))
        .with_protocol_data(text(description.protocol))
        .with_members(description.members.into_iter().map(member).collect())
}

fn member(member: MemberDescription) -> DescribedGroupMember {
    DescribedGroupMember::default()
        .with_member_id(text(member.member_id))
        .with_group_instance_id(member.instance_id.map(text))
        .with_client_id(text(member.client_id))
        .with_client_host(text(member.client_host))
        .with_member_metadata(member.metadata)
        .with_member_assignment(member.assignment)
}
