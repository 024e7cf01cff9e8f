//! Dispatches each request to its handler. `wire/` has already refused all APIs that are not listed
//! here.

use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse, RequestKind, ResponseKind};

use super::error::UNSUPPORTED_VERSION;
use super::fetch;
use super::hub::Hub;
use super::membership::{join_response, sync_response};
use super::state::{Call, Caller, State};
use crate::groups::ReplyBody;
use crate::wire::{Api, Request, SUPPORTED, number};
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
    use RequestKind as Req;
    use ResponseKind as Resp;
    Some(match request {
        Req::ApiVersions(_) => Resp::ApiVersions(api_versions()),
        Req::Metadata(request) => Resp::Metadata(state.metadata(call, &request)),
        Req::DescribeCluster(request) => {
            Resp::DescribeCluster(state.describe_cluster(call, &request))
        }
        Req::FindCoordinator(request) => {
            Resp::FindCoordinator(super::metadata::find(call, &request))
        }
        Req::ListOffsets(request) => Resp::ListOffsets(state.list_offsets(call, &request)),
        Req::Heartbeat(request) => Resp::Heartbeat(state.heartbeat(call, &request)),
        Req::LeaveGroup(request) => Resp::LeaveGroup(state.leave(call, request)),
        Req::OffsetCommit(request) => Resp::OffsetCommit(state.commit(call, request)),
        Req::OffsetFetch(request) => Resp::OffsetFetch(state.offsets(call, request)),
        Req::DescribeGroups(request) => Resp::DescribeGroups(state.describe_groups(call, request)),
        Req::ListGroups(request) => Resp::ListGroups(state.list_groups(call, &request)),
        Req::ConsumerGroupHeartbeat(request) => {
            Resp::ConsumerGroupHeartbeat(state.consumer_heartbeat(call, request))
        }
        Req::ConsumerGroupDescribe(request) => {
            Resp::ConsumerGroupDescribe(state.describe_consumer_groups(call, request))
        }
        Req::DeleteGroups(request) => Resp::DeleteGroups(state.delete_groups(call, request)),
        Req::CreateTopics(request) => Resp::CreateTopics(state.create_topics(call, request)),
        Req::CreatePartitions(request) => {
            Resp::CreatePartitions(state.create_partitions(call, request))
        }
        Req::DeleteTopics(request) => Resp::DeleteTopics(state.delete_topics(call, request)),
        Req::DescribeConfigs(request) => Resp::DescribeConfigs(state.describe_configs(request)),
        Req::IncrementalAlterConfigs(request) => {
            Resp::IncrementalAlterConfigs(state.alter_configs(call, request))
        }
        Req::DeleteRecords(request) => Resp::DeleteRecords(state.delete_records(request)),
        Req::DescribeLogDirs(request) => Resp::DescribeLogDirs(state.describe_log_dirs(&request)),
        Req::InitProducerId(request) => Resp::InitProducerId(state.init_producer_id(&request)),
        _ => return None,
    })
}

fn api_versions() -> ApiVersionsResponse {
    let spoken = SUPPORTED.iter().map(|api| {
        ApiVersion::default()
            .with_api_key(number(api.key))
            .with_min_version(advertised_min(*api))
            .with_max_version(api.max)
    });
    ApiVersionsResponse::default().with_api_keys(spoken.collect())
}

/// Kafka 4 lists Produce from version 0 on and refuses 0 to 2, and so does this broker: librdkafka
/// before 2.8 does not compress if that is missing (KAFKA-18659).
fn advertised_min(api: Api) -> i16 {
    if api.key == ApiKey::Produce { 0 } else { api.min }
}

/// For a client that is newer than the broker.
pub(super) fn refuse_api_versions() -> ApiVersionsResponse {
    api_versions().with_error_code(UNSUPPORTED_VERSION)
}
