//! OTLP over HTTP, in protobuf.

use std::io::{Read, Write};
use std::time::{Duration, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};

use super::courier::{CourierError, Refusal};
use super::export_settings::Target;
use super::signal::Signal;
use super::tls;
use crate::time::Wall;

/// The most bytes that are read of a response.
const ANSWER_MAX: u64 = 64 << 10;

/// A client of one collector.
pub(super) struct Http {
    client: Client,
    url: Url,
    gzip: bool,
}

impl Http {
    pub(super) fn new(target: &Target) -> Result<Self, CourierError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &target.headers {
            let name = reqwest::header::HeaderName::try_from(name.as_str());
            let value = reqwest::header::HeaderValue::try_from(value.as_str());
            // The settings accept only valid headers.
            if let (Ok(name), Ok(mut value)) = (name, value) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        // An explicit configuration even without TLS: otherwise reqwest looks for an installed
        // cryptography provider, and there is none.
        let tls = if target.url.scheme() == "https" { target.trust.http()? } else { tls::none()? };
        let mut client = Client::builder()
            .user_agent(concat!("tandem/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            // A redirected POST loses its body.
            .redirect(Policy::none())
            .tls_backend_preconfigured(tls);
        if target.is_near() {
            client = client.no_proxy();
        }
        let client = client.build().map_err(CourierError::Http)?;
        Ok(Self { client, url: target.url.clone(), gzip: target.gzip })
    }

    pub(super) fn send<S: Signal>(
        &self,
        request: &S,
        within: Duration,
    ) -> Result<S::Answer, Refusal> {
        let mut body = request.encode_to_vec();
        let mut post = self.client.post(self.url.clone()).timeout(within);
        if self.gzip {
            body = packed(&body).map_err(|error| Refusal::last(error.to_string()))?;
            post = post.header(CONTENT_ENCODING, "gzip");
        }
        let post = post.header(CONTENT_TYPE, "application/x-protobuf").body(body);
        // The address may hold a password, so the error leaves it out.
        let lost = |error: reqwest::Error| {
            let error = error.without_url();
            Refusal { again: true, after: None, why: crate::error::chain(&error) }
        };
        let answer = post.send().map_err(lost)?;
        if !answer.status().is_success() {
            return Err(refusal(&answer));
        }
        let mut bytes = Vec::new();
        let read = answer.take(ANSWER_MAX).read_to_end(&mut bytes);
        // The status says that the request was accepted, even if the response's body is lost.
        let bytes = read.map_or(&[][..], |_| &bytes[..]);
        Ok(S::Answer::decode(bytes).unwrap_or_default())
    }
}

impl Refusal {
    pub(super) fn last(why: String) -> Self {
        Self { again: false, after: None, why }
    }
}

fn packed(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(body)?;
    packed.finish()
}

/// The specification names the four retryable statuses.
fn refusal(answer: &Response) -> Refusal {
    let status = answer.status();
    let again = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    );
    let after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|text| wait(text, Wall::now()));
    let why = format!("the collector answered {status}");
    Refusal { again, after, why }
}

/// How long a collector asks to wait: seconds, or a date (RFC 9110, 10.2.3).
fn wait(text: &str, now: Wall) -> Option<Duration> {
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let now = Duration::from_millis(now.0.try_into().ok()?);
    Some(at.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_both_forms() {
        let now = Wall(784_111_777_000);
        let seconds = |text| wait(text, now).map(|wait| wait.as_secs());
        assert_eq!(seconds("40"), Some(40));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:50:17 GMT"), Some(40));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(0), "now");
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0), "that is over");
        assert_eq!(seconds("soon"), None);
    }
}
