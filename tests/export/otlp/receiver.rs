//! A collector that keeps all it got.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
    logs_service_server::{LogsService, LogsServiceServer},
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
    metrics_service_server::{MetricsService, MetricsServiceServer},
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    trace_service_server::{TraceService, TraceServiceServer},
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::{
    NumberDataPoint, metric::Data, number_data_point::Value,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto::ring};
use tokio_rustls::server::TlsStream;
use tonic::codec::CompressionEncoding;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

use crate::otlp::certificates::Certificates;

/// What a collector got, and how it behaves.
#[derive(Default)]
pub(crate) struct Kept {
    traces: Mutex<Vec<ExportTraceServiceRequest>>,
    logs: Mutex<Vec<ExportLogsServiceRequest>>,
    metrics: Mutex<Vec<ExportMetricsServiceRequest>>,
    /// The headers of the last request.
    headers: Mutex<BTreeMap<String, String>>,
    /// So many requests are refused first, as by one that is busy.
    busy: AtomicUsize,
    /// So many spans of each request are refused, in an answer that is a success.
    rejects: i64,
    /// So long after it came a request for spans is answered.
    pause: Duration,
}

/// A collector. Dropped, it is gone.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    kept: Arc<Kept>,
    // Dropped, it ends all tasks.
    runtime: Option<Runtime>,
}

impl Kept {
    /// Refuses so many requests first.
    pub(crate) fn busy(requests: usize) -> Self {
        Self { busy: AtomicUsize::new(requests), ..Self::default() }
    }

    /// Takes all requests, but for so many spans of each.
    pub(crate) fn picky(spans: i64) -> Self {
        Self { rejects: spans, ..Self::default() }
    }

    /// Takes its time for each request for spans.
    pub(crate) fn slow(pause: Duration) -> Self {
        Self { pause, ..Self::default() }
    }

    fn is_busy(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn note<'a>(&self, headers: impl Iterator<Item = (&'a str, &'a [u8])>) {
        let text = |(name, value): (&str, &[u8])| {
            (name.to_owned(), String::from_utf8_lossy(value).into_owned())
        };
        *self.headers.lock().unwrap() = headers.map(text).collect();
    }

    fn answer(&self) -> ExportTraceServiceResponse {
        let rejected = ExportTracePartialSuccess {
            rejected_spans: self.rejects,
            error_message: "not these".to_owned(),
        };
        ExportTraceServiceResponse { partial_success: (self.rejects > 0).then_some(rejected) }
    }
}

impl Receiver {
    fn start(kept: Kept) -> (Self, TcpListener) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        (Self { address, kept: Arc::new(kept), runtime: Some(runtime) }, listener)
    }

    /// A receiver over HTTP; with TLS if there are certificates, and then only for clients that the
    /// authority has signed.
    pub(crate) fn http(kept: Kept, tls: Option<&Certificates>) -> Self {
        let (receiver, listener) = Self::start(kept);
        let router = Router::new()
            .route("/v1/traces", post(traces))
            .route("/v1/logs", post(logs))
            .route("/v1/metrics", post(metrics))
            .layer(DefaultBodyLimit::max(8 << 20))
            .with_state(Arc::clone(&receiver.kept));
        if let Some(certificates) = tls {
            let acceptor = TlsAcceptor::from(Arc::new(server_config(certificates)));
            let serve = axum::serve(Secured { listener, acceptor }, router);
            receiver.spawn(async move { serve.await });
        } else {
            receiver.spawn(async move { axum::serve(listener, router).await });
        }
        receiver
    }

    /// One that is spoken to over gRPC.
    pub(crate) fn grpc(kept: Kept, tls: Option<&Certificates>) -> Self {
        let (receiver, listener) = Self::start(kept);
        let desk = Desk(Arc::clone(&receiver.kept));
        let mut server = Server::builder();
        if let Some(certificates) = tls {
            let read = |name| certificates.read(name);
            let identity = Identity::from_pem(read("server.pem"), read("server.key"));
            let authority = Certificate::from_pem(read("authority.pem"));
            let config = ServerTlsConfig::new().identity(identity).client_ca_root(authority);
            server = server.tls_config(config).unwrap();
        }
        let gzip = CompressionEncoding::Gzip;
        let router = server
            .add_service(TraceServiceServer::new(desk.clone()).accept_compressed(gzip))
            .add_service(LogsServiceServer::new(desk.clone()).accept_compressed(gzip))
            .add_service(MetricsServiceServer::new(desk).accept_compressed(gzip));
        let incoming = TcpIncoming::from(listener);
        receiver.spawn(router.serve_with_incoming(incoming));
        receiver
    }

    fn spawn(&self, task: impl Future<Output: Send + 'static> + Send + 'static) {
        let runtime = self.runtime.as_ref().unwrap();
        drop(runtime.spawn(task));
    }

    /// Refuses so many requests from now on, as one that is busy.
    pub(crate) fn refuse(&self, requests: usize) {
        self.kept.busy.store(requests, Ordering::Relaxed);
    }

    /// Ends it; what it got may still be looked at.
    pub(crate) fn kill(&mut self) {
        self.runtime = None;
    }

    /// Its address, for a client.
    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }

    /// All spans that came, in their order.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let traces = self.kept.traces.lock().unwrap();
        let resources = traces.iter().flat_map(|request| &request.resource_spans);
        resources.flat_map(|one| &one.scope_spans).flat_map(|one| one.spans.clone()).collect()
    }

    /// All log records that came, in their order.
    pub(crate) fn logs(&self) -> Vec<LogRecord> {
        let logs = self.kept.logs.lock().unwrap();
        let resources = logs.iter().flat_map(|request| &request.resource_logs);
        resources.flat_map(|one| &one.scope_logs).flat_map(|one| one.log_records.clone()).collect()
    }

    /// How many spans, and how many log records, were surely answered before it was killed: all but
    /// those of each last request, for the next one is sent after the answer.
    pub(crate) fn answered(&self) -> (u64, u64) {
        let (traces, logs) = (self.kept.traces.lock().unwrap(), self.kept.logs.lock().unwrap());
        let traces = traces.split_last().map_or(&[][..], |(_, before)| before);
        let logs = logs.split_last().map_or(&[][..], |(_, before)| before);
        let spans = traces.iter().flat_map(|request| &request.resource_spans);
        let spans = spans.flat_map(|one| &one.scope_spans).map(|one| one.spans.len() as u64);
        let records = logs.iter().flat_map(|request| &request.resource_logs);
        let records = records.flat_map(|one| &one.scope_logs);
        let records = records.map(|one| one.log_records.len() as u64);
        (spans.sum(), records.sum())
    }

    /// How many exports of metrics came.
    pub(crate) fn exports(&self) -> u64 {
        self.kept.metrics.lock().unwrap().len() as u64
    }

    /// The sum of all points of a counter in the last export of metrics that came, if any did.
    pub(crate) fn counter(&self, name: &str) -> Option<f64> {
        let metrics = self.kept.metrics.lock().unwrap();
        let scopes = metrics.last()?.resource_metrics.iter().flat_map(|one| &one.scope_metrics);
        let metric = scopes.flat_map(|one| &one.metrics).find(|one| one.name == name)?;
        let Some(Data::Sum(sum)) = &metric.data else { panic!("{name} is no counter") };
        let value = |point: &NumberDataPoint| match point.value.unwrap() {
            Value::AsDouble(value) => value,
            Value::AsInt(value) => f64::from(u32::try_from(value).unwrap()),
        };
        Some(sum.data_points.iter().map(value).sum())
    }

    /// What the last request said of the resource.
    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        let traces = self.kept.traces.lock().unwrap();
        let last = traces.last().unwrap().resource_spans[0].resource.clone().unwrap();
        last.attributes
            .iter()
            .map(|one| (one.key.clone(), crate::otlp::agrees::shown(one)))
            .collect()
    }

    /// A header of the last request.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.kept.headers.lock().unwrap().get(name).cloned()
    }
}

fn read<T: Message + Default>(kept: &Kept, headers: &HeaderMap, body: &[u8]) -> Option<T> {
    if kept.is_busy() {
        return None;
    }
    kept.note(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let mut plain = Vec::new();
    if headers.get("content-encoding").is_some_and(|value| value == "gzip") {
        GzDecoder::new(body).read_to_end(&mut plain).unwrap();
    } else {
        plain = body.to_vec();
    }
    Some(T::decode(&plain[..]).unwrap())
}

type Answer = Result<Vec<u8>, StatusCode>;

async fn traces(State(kept): State<Arc<Kept>>, headers: HeaderMap, body: Bytes) -> Answer {
    let request = read(&kept, &headers, &body).ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
    tokio::time::sleep(kept.pause).await; // clock: how slow it is
    kept.traces.lock().unwrap().push(request);
    Ok(kept.answer().encode_to_vec())
}

async fn logs(State(kept): State<Arc<Kept>>, headers: HeaderMap, body: Bytes) -> Answer {
    let request = read(&kept, &headers, &body).ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
    kept.logs.lock().unwrap().push(request);
    Ok(ExportLogsServiceResponse::default().encode_to_vec())
}

async fn metrics(State(kept): State<Arc<Kept>>, headers: HeaderMap, body: Bytes) -> Answer {
    let request = read(&kept, &headers, &body).ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
    kept.metrics.lock().unwrap().push(request);
    Ok(ExportMetricsServiceResponse::default().encode_to_vec())
}

#[derive(Clone)]
struct Desk(Arc<Kept>);

impl Desk {
    fn take<T>(&self, request: Request<T>) -> Result<T, Status> {
        if self.0.is_busy() {
            return Err(Status::unavailable("come back later"));
        }
        let headers = request.metadata().clone().into_headers();
        self.0.note(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        Ok(request.into_inner())
    }
}

#[tonic::async_trait]
impl TraceService for Desk {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let request = self.take(request)?;
        self.0.traces.lock().unwrap().push(request);
        Ok(Response::new(self.0.answer()))
    }
}

#[tonic::async_trait]
impl LogsService for Desk {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let request = self.take(request)?;
        self.0.logs.lock().unwrap().push(request);
        Ok(Response::new(ExportLogsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Desk {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let request = self.take(request)?;
        self.0.metrics.lock().unwrap().push(request);
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// Accepts TLS from clients that the authority has signed.
struct Secured {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Secured {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.listener.accept().await.unwrap();
            // An unknown client may try again.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

fn server_config(certificates: &Certificates) -> ServerConfig {
    let chain = |name: &str| {
        let pem = certificates.read(name);
        CertificateDer::pem_slice_iter(&pem).map(Result::unwrap).collect::<Vec<_>>()
    };
    let key = PrivateKeyDer::from_pem_slice(&certificates.read("server.key")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(chain("authority.pem").remove(0)).unwrap();
    let provider = Arc::new(ring::default_provider());
    let known = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(known.build().unwrap())
        .with_single_cert(chain("server.pem"), key)
        .unwrap()
}
