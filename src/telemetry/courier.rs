//! Carries requests to a collector, over HTTP or gRPC, one at a time and tried again within bounds.
//!
//! It blocks, and so does what it drops: it belongs on a thread of its own, never on one of
//! tokio's.

use std::thread;
use std::time::Duration;

use super::deadline::Deadline;
use super::export_settings::{Protocol, Target};
use super::grpc::Grpc;
use super::http::Http;
use super::signal::Signal;
use super::tls::TrustError;

/// How often a request is sent at most.
const TRIES: u32 = 6;
/// How long the first pause is; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause, even where a collector asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Why a collector cannot be spoken to at all.
#[derive(Debug, thiserror::Error)]
pub enum CourierError {
    /// TLS.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The HTTP client.
    #[error("the HTTP client cannot be built")]
    Http(#[source] reqwest::Error),
    /// The gRPC client.
    #[error("the gRPC client cannot be built")]
    Grpc(#[source] tonic::transport::Error),
    /// The operating system.
    #[error("the gRPC client has no runtime")]
    Runtime(#[source] std::io::Error),
}

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// It may be taken another time.
    pub(super) again: bool,
    /// Not before so long.
    pub(super) after: Option<Duration>,
    /// In words.
    pub(super) why: String,
}

/// Carries requests to one collector.
pub(super) struct Courier {
    kind: Kind,
    timeout: Duration,
    deadline: Deadline,
}

enum Kind {
    Http(Http),
    Grpc(Grpc),
}

impl Courier {
    /// To `target`, until `deadline`.
    pub(super) fn new(target: &Target, deadline: Deadline) -> Result<Self, CourierError> {
        let kind = match target.protocol {
            Protocol::Http => Kind::Http(Http::new(target)?),
            Protocol::Grpc => Kind::Grpc(Grpc::new(target)?),
        };
        Ok(Self { kind, timeout: target.timeout, deadline })
    }

    /// Sends it, several times if need be; how many of its items were not taken, and why.
    pub(super) fn send<S: Signal>(&self, request: &S) -> Result<(u64, String), String> {
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            match self.once(request) {
                Ok(taken) => return Ok(taken),
                Err(refusal) if !refusal.again => return Err(refusal.why),
                Err(refusal) => {
                    let wait = refusal.after.unwrap_or(pause).min(PAUSE_MAX);
                    pause = pause.saturating_mul(2);
                    if wait >= self.deadline.left() {
                        return Err(refusal.why);
                    }
                    self.sleep(wait);
                }
            }
        }
        self.once(request).map_err(|refusal| refusal.why)
    }

    fn once<S: Signal>(&self, request: &S) -> Result<(u64, String), Refusal> {
        let within = self.timeout.min(self.deadline.left());
        if within.is_zero() {
            let why = "there was no time left".to_owned();
            return Err(Refusal { again: false, after: None, why });
        }
        let answer = match &self.kind {
            Kind::Http(http) => http.send(request, within),
            Kind::Grpc(grpc) => grpc.send(request, within),
        };
        answer.map(S::rejected)
    }

    /// Sleeps, but not beyond a deadline that is set meanwhile.
    fn sleep(&self, wait: Duration) {
        let mut left = wait;
        while !left.is_zero() && !self.deadline.left().is_zero() {
            let step = left.min(Duration::from_millis(20)).min(self.deadline.left());
            thread::sleep(step);
            left = left.saturating_sub(step);
        }
    }
}
