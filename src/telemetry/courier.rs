//! Sends requests to a collector, over HTTP or gRPC, one at a time, with bounded retries.
//!
//! Sending blocks, and so does dropping its clients: use it on a thread of its own, never on one of
//! tokio's.

use std::thread;
use std::time::Duration;

use super::deadline::Deadline;
use super::export_settings::{Protocol, Target};
use super::grpc::Grpc;
use super::http::Http;
use super::signal::Signal;
use super::tls::TrustError;

/// The most attempts to send a request, beside those after a longer pause that the collector asked
/// for.
const TRIES: u32 = 6;
/// The first pause; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause where a collector asks for none.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The longest pause that a collector may ask for.
const ASKED_MAX: Duration = Duration::from_secs(600);

/// Why a client for a collector cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum CourierError {
    /// TLS cannot be set up.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Http(#[source] reqwest::Error),
    /// The gRPC client cannot be built.
    #[error("the gRPC client cannot be built")]
    Grpc(#[source] tonic::transport::Error),
    /// The operating system refuses a runtime.
    #[error("the runtime of the gRPC client cannot be built")]
    Runtime(#[source] std::io::Error),
}

/// Why a collector did not accept a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Whether a retry may succeed.
    pub(super) again: bool,
    /// How long to wait before the retry.
    pub(super) after: Option<Duration>,
    /// The reason, for people.
    pub(super) why: String,
}

/// Sends requests to one collector.
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
    /// A courier to `target`, until `deadline`.
    pub(super) fn new(target: &Target, deadline: Deadline) -> Result<Self, CourierError> {
        let kind = match target.protocol {
            Protocol::Http => Kind::Http(Http::new(target)?),
            Protocol::Grpc => Kind::Grpc(Grpc::new(target)?),
        };
        Ok(Self { kind, timeout: target.timeout, deadline })
    }

    /// Sends a request, with retries. Returns how many of its items the collector rejected, and
    /// why.
    pub(super) fn send<S: Signal>(&self, request: &S) -> Result<(u64, String), String> {
        let (mut pause, mut tries) = (PAUSE, 1);
        loop {
            let refusal = match self.once(request) {
                Ok(taken) => return Ok(taken),
                Err(refusal) => refusal,
            };
            let asked = asked(refusal.after, pause);
            let wait = asked.unwrap_or(pause);
            if !refusal.again || tries >= TRIES || wait >= self.deadline.left() {
                return Err(refusal.why);
            }
            if asked.is_none() {
                tries += 1;
                pause = pause.saturating_mul(2).min(PAUSE_MAX);
            }
            self.sleep(wait);
        }
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

    /// Sleeps, but not beyond a deadline, even if it is set meanwhile.
    fn sleep(&self, wait: Duration) {
        let mut left = wait;
        while !left.is_zero() && !self.deadline.left().is_zero() {
            let step = left.min(Duration::from_millis(20)).min(self.deadline.left());
            thread::sleep(step);
            left = left.saturating_sub(step);
        }
    }
}

/// The pause that a collector asks for, if it is longer than `pause`. One that asks for none, or
/// names a time that is over, is not asked again at once and without end.
fn asked(after: Option<Duration>, pause: Duration) -> Option<Duration> {
    after.filter(|after| *after > pause).map(|after| after.min(ASKED_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_longer_pause_is_taken_from_a_collector() {
        let asked = |after: u64| asked(Some(Duration::from_secs(after)), PAUSE_MAX);
        assert_eq!(asked(0), None, "a time that is over");
        assert_eq!(asked(5), None, "no longer than the own pause");
        assert_eq!(asked(40), Some(Duration::from_secs(40)));
        assert_eq!(asked(3_600), Some(ASKED_MAX));
    }
}
