//! Dispatches each request to its handler. `wire/` has already refused all APIs that are not listed
//! here.

use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiVersionsResponse, RequestKind, ResponseKind};

use super::error::UNSUPPORTED_VERSION;
use super::fetch;
use super::hub::Hub;
use super::membership::{join_response, sync_response};
use super::state::{Call, Caller, State};
use crate::groups::ReplyBody;
use crate::wire::{Request, SUPPORTED, number};
use tandem_facts::time::{Mono, Wall};

/// The answer, or none if the client wants none. No answer at all while the broker shuts down.
#[expect(clippy::wildcard_enum_match_arm, reason = "those that never wait are listed below")]
pub(super) async fn answer(
    hub: &Hub,
    caller: &Caller,
    request: Request,
) -> Option<Option<ResponseKind>> {
    let Request { version, client_id, body, .. } = request;
    let call = Call { now: Mono::now(), wall: Wall::now(), version, client_id: &client_id, caller };
    let response = match body {
        RequestKind::Produce(produce) => {
            let silent = produce.acks == 0;
            let response = hub.with(|state| state.produce(&call, produce));
            return Some((!silent).then_some(ResponseKind::Produce(response)));
        }
        RequestKind::Fetch(request) => {
            ResponseKind::Fetch(fetch::fetch(hub, &call, &request).await)
        }
        RequestKind::JoinGroup(join) => {
            let wait = hub.with(|state| state.join(&call, join));
            let ReplyBody::Join(reply) = wait.await.ok()? else { return None };
            ResponseKind::JoinGroup(join_response(version, reply))
        }
        RequestKind::SyncGroup(sync) => {
            let wait = hub.with(|state| state.sync(&call, sync));
            let ReplyBody::Sync(reply) = wait.await.ok()? else { return None };
            ResponseKind::SyncGroup(sync_response(reply))
        }
        other => hub.with(|state| at_once(state, &call, other))?,
    };
    Some(Some(response))
}

/// The requests that are answered without waiting.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest never passes `wire/`")]
fn at_once(state: &mut State, call: &Call<'_>, request: RequestKind) -> Option<ResponseKind> {
    use RequestKind as Ask;
    use ResponseKind as Say;
    Some(match request {
        Ask::ApiVersions(_) => Say::ApiVersions(api_versions()),
        Ask::Metadata(ask) => Say::Metadata(state.metadata(call, &ask)),
        Ask::DescribeCluster(ask) => Say::DescribeCluster(state.describe_cluster(call, &ask)),
        Ask::FindCoordinator(ask) => Say::FindCoordinator(super::metadata::find(call, &ask)),
        Ask::ListOffsets(ask) => Say::ListOffsets(state.list_offsets(call, &ask)),
        Ask::Heartbeat(ask) => Say::Heartbeat(state.heartbeat(call, &ask)),
        Ask::LeaveGroup(ask) => Say::LeaveGroup(state.leave(call, ask)),
        Ask::OffsetCommit(ask) => Say::OffsetCommit(state.commit(call, ask)),
        Ask::OffsetFetch(ask) => Say::OffsetFetch(state.offsets(call, ask)),
        Ask::DescribeGroups(ask) => Say::DescribeGroups(state.describe_groups(call, ask)),
        Ask::ListGroups(ask) => Say::ListGroups(state.list_groups(call, &ask)),
        Ask::DeleteGroups(ask) => Say::DeleteGroups(state.delete_groups(call, ask)),
        Ask::CreateTopics(ask) => Say::CreateTopics(state.create_topics(ask)),
        Ask::CreatePartitions(ask) => Say::CreatePartitions(state.create_partitions(ask)),
        Ask::DeleteTopics(ask) => Say::DeleteTopics(state.delete_topics(call, ask)),
        Ask::DescribeConfigs(ask) => Say::DescribeConfigs(state.describe_configs(ask)),
        Ask::InitProducerId(ask) => Say::InitProducerId(state.init_producer_id(&ask)),
        _ => return None,
    })
}

fn api_versions() -> ApiVersionsResponse {
    let spoken = SUPPORTED.iter().map(|api| {
        ApiVersion::default()
            .with_api_key(number(api.key))
            .with_min_version(api.min)
            .with_max_version(api.max)
    });
    ApiVersionsResponse::default().with_api_keys(spoken.collect())
}

/// For a client that is newer than the broker.
pub(super) fn refuse_api_versions() -> ApiVersionsResponse {
    api_versions().with_error_code(UNSUPPORTED_VERSION)
}
