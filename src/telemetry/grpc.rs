//! OTLP over gRPC.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Extensions, Request, Status};

use super::courier::{CourierError, Refusal};
use super::export_settings::Target;
use super::signal::Signal;

/// A client of one collector, with a runtime of its own that runs only during a request.
pub(super) struct Grpc {
    runtime: Runtime,
    channel: Channel,
    headers: MetadataMap,
    gzip: bool,
}

impl Grpc {
    pub(super) fn new(target: &Target) -> Result<Self, CourierError> {
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(CourierError::Runtime)?;
        let mut endpoint = Endpoint::from_shared(target.shown()).map_err(CourierError::Grpc)?;
        if target.url.scheme() == "https" {
            endpoint = endpoint.tls_config(target.trust.grpc()).map_err(CourierError::Grpc)?;
        }
        let mut headers = MetadataMap::new();
        for (name, value) in &target.headers {
            let name = AsciiMetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes());
            // The settings accept only valid headers.
            if let (Ok(name), Ok(value)) = (name, AsciiMetadataValue::try_from(value.as_str())) {
                headers.insert(name, value);
            }
        }
        let entered = runtime.enter();
        let channel = endpoint.connect_lazy();
        drop(entered);
        Ok(Self { runtime, channel, headers, gzip: target.gzip })
    }

    pub(super) fn send<S: Signal>(
        &self,
        request: &S,
        within: Duration,
    ) -> Result<S::Answer, Refusal> {
        let request =
            Request::from_parts(self.headers.clone(), Extensions::default(), request.clone());
        let call = S::call(self.channel.clone(), self.gzip, request);
        let answer = self.runtime.block_on(async { tokio::time::timeout(within, call).await });
        match answer {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(refusal(&status)),
            Err(_) => {
                let why = format!("the collector did not answer within {} ms", within.as_millis());
                Err(Refusal { again: true, after: None, why })
            }
        }
    }
}

/// The specification names the retryable codes. It lets an exhausted collector say when to retry;
/// one that does not say is retried as well, because the number of attempts is bounded.
fn refusal(status: &Status) -> Refusal {
    let again = matches!(
        status.code(),
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss
    );
    let code = status.code();
    let why = format!("the collector answered {code:?}: {}", crate::error::chain(status));
    Refusal { again, after: None, why }
}
