//! The three requests of OTLP, and their responses.

use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse, logs_service_client::LogsServiceClient,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
    metrics_service_client::MetricsServiceClient,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse, trace_service_client::TraceServiceClient,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use tonic::codec::CompressionEncoding;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::RunContext;

/// A request of OTLP.
pub(super) trait Signal: Message + Clone + Send + 'static {
    /// The response.
    type Answer: Message + Default;

    /// How many items of the request the collector rejected, and why.
    fn rejected(answer: Self::Answer) -> (u64, String);

    /// Sends the request over gRPC.
    fn call(
        channel: Channel,
        gzip: bool,
        request: Request<Self>,
    ) -> impl Future<Output = Result<Response<Self::Answer>, Status>> + Send;
}

/// A signal that is sent in chunks.
pub(super) trait Chunks: Signal {
    /// The items of a chunk.
    type Item: Message + Send + 'static;

    /// Builds a request from items.
    fn of(context: &RunContext, items: Vec<Self::Item>) -> Self;
}

macro_rules! signal {
    ($request:ident, $answer:ident, $client:ident, $rejected:ident) => {
        impl Signal for $request {
            type Answer = $answer;

            fn rejected(answer: $answer) -> (u64, String) {
                let partial = answer.partial_success.unwrap_or_default();
                (u64::try_from(partial.$rejected).unwrap_or(0), partial.error_message)
            }

            async fn call(
                channel: Channel,
                gzip: bool,
                request: Request<Self>,
            ) -> Result<Response<$answer>, Status> {
                let mut client = $client::new(channel);
                if gzip {
                    let encoding = CompressionEncoding::Gzip;
                    client = client.send_compressed(encoding).accept_compressed(encoding);
                }
                client.export(request).await
            }
        }
    };
}

signal!(ExportTraceServiceRequest, ExportTraceServiceResponse, TraceServiceClient, rejected_spans);
signal!(
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
    LogsServiceClient,
    rejected_log_records
);
signal!(
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
    MetricsServiceClient,
    rejected_data_points
);

impl Chunks for ExportTraceServiceRequest {
    type Item = Span;

    fn of(context: &RunContext, spans: Vec<Span>) -> Self {
        let spans = ScopeSpans { scope: Some(RunContext::scope()), spans, ..ScopeSpans::default() };
        let resource = Some(context.resource());
        let spans =
            ResourceSpans { resource, scope_spans: vec![spans], ..ResourceSpans::default() };
        Self { resource_spans: vec![spans] }
    }
}

impl Chunks for ExportLogsServiceRequest {
    type Item = LogRecord;

    fn of(context: &RunContext, log_records: Vec<LogRecord>) -> Self {
        let logs =
            ScopeLogs { scope: Some(RunContext::scope()), log_records, ..ScopeLogs::default() };
        let resource = Some(context.resource());
        let logs = ResourceLogs { resource, scope_logs: vec![logs], ..ResourceLogs::default() };
        Self { resource_logs: vec![logs] }
    }
}
