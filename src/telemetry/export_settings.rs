//! Where telemetry goes, from OpenTelemetry's standard variables and `--otlp`.
//!
//! Telemetry is off without an endpoint. Settings that change where and how data goes are refused
//! before anything starts, if they are invalid. Others, and variables of OpenTelemetry's
//! specification that have no effect here, are noted: an environment is often that of many
//! programs.

use std::cell::RefCell;
use std::time::Duration;

use opentelemetry_sdk::metrics::Temporality;
use reqwest::Url;

use super::lists::pairs;
use super::tls::{Trust, TrustError};

/// The default timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest timeout, in milliseconds.
const TIMEOUT_MS_MAX: u64 = 600_000;

/// Variables of the specification that have no effect: Tandem samples
/// nothing, sends what there is as soon as it can, and writes no attribute that it would cut.
/// <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>
const WITHOUT_EFFECT: &[&str] = &[
    "OTEL_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_BLRP_EXPORT_TIMEOUT",
    "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BLRP_MAX_QUEUE_SIZE",
    "OTEL_BLRP_SCHEDULE_DELAY",
    "OTEL_BSP_EXPORT_TIMEOUT",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_CONFIG_FILE",
    "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_EXPORTER_OTLP_INSECURE",
    "OTEL_EXPORTER_OTLP_LOGS_INSECURE",
    "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
    "OTEL_EXPORTER_OTLP_METRICS_INSECURE",
    "OTEL_EXPORTER_OTLP_TRACES_INSECURE",
    "OTEL_EXPORTER_PROMETHEUS_HOST",
    "OTEL_EXPORTER_PROMETHEUS_PORT",
    "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_LOG_LEVEL",
    "OTEL_METRICS_EXEMPLAR_FILTER",
    "OTEL_METRIC_EXPORT_TIMEOUT",
    "OTEL_PROPAGATORS",
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_SPAN_EVENT_COUNT_LIMIT",
    "OTEL_SPAN_LINK_COUNT_LIMIT",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
];

/// Where each signal goes; `None` if a signal is off.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportSettings {
    /// Where traces go.
    pub traces: Option<Target>,
    /// Where logs go.
    pub logs: Option<Target>,
    /// Where metrics go.
    pub metrics: Option<Target>,
    /// `OTEL_SERVICE_NAME`.
    pub service: Option<String>,
    /// `OTEL_RESOURCE_ATTRIBUTES`.
    pub attributes: Vec<(String, String)>,
    /// From when the points of metrics count:
    /// `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`. With `delta` an export that is lost
    /// takes its points with it.
    pub temporality: Temporality,
    /// What of the environment is not followed, in words.
    pub notes: Vec<String>,
}

/// Where one signal goes, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The address; over HTTP with the signal's path.
    pub url: Url,
    /// The protocol.
    pub protocol: Protocol,
    /// The headers of each request.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
    /// Whether requests are compressed with gzip.
    pub gzip: bool,
    /// The authorities to trust, and the client's identity.
    pub trust: Trust,
}

/// The protocol of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over HTTP, in protobuf.
    Http,
    /// OTLP over gRPC.
    Grpc,
}

/// Why a setting is refused.
#[derive(Debug, thiserror::Error)]
pub enum ExportSettingsError {
    /// An invalid value. The message shows it, except for headers, which are secret.
    #[error("{variable} {problem}: {meant}")]
    Value {
        /// The variable, or `--otlp`.
        variable: String,
        /// The problem.
        problem: String,
        /// The valid values.
        meant: &'static str,
    },
    /// A certificate or key cannot be used.
    #[error("{variable} cannot be used")]
    Trust {
        /// The variable.
        variable: String,
        /// The cause.
        #[source]
        source: TrustError,
    },
}

impl Target {
    /// The address without parts that may be secret.
    #[must_use]
    pub fn shown(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{}://{host}{port}", self.url.scheme())
    }

    /// Whether the address is on this machine, where no proxy is used.
    pub(super) fn is_near(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let address = host.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// One of the three signals.
struct Signal<'a, G> {
    name: &'static str,
    path: &'static str,
    flag: Option<&'a str>,
    get: &'a G,
    notes: &'a RefCell<Vec<String>>,
}

impl ExportSettings {
    /// The targets of all signals that are on.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        [&self.traces, &self.logs, &self.metrics].into_iter().flatten()
    }

    /// Reads variables with `get`; `flag` is the address from the command line.
    ///
    /// # Errors
    /// A value is invalid. There are no errors if telemetry is off.
    pub fn read(
        flag: Option<&str>,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, ExportSettingsError> {
        // The specification treats an empty variable as unset.
        let get = |name: &str| get(name).map(|v| v.trim().to_owned()).filter(|v| !v.is_empty());
        if get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let notes = RefCell::default();
        let read = |name, path| Signal { name, path, flag, get: &get, notes: &notes }.read();
        let traces = read("TRACES", "v1/traces")?;
        let logs = read("LOGS", "v1/logs")?;
        let metrics = read("METRICS", "v1/metrics")?;
        if traces.is_none() && logs.is_none() && metrics.is_none() {
            return Ok(None);
        }
        let temporality = metrics.as_ref().map(|_| temporality(&get)).transpose()?;
        let temporality = temporality.unwrap_or_default();
        let attributes = attributes(&get).unwrap_or_else(|error| {
            notes.borrow_mut().push(error.to_string());
            Vec::new()
        });
        let mut notes = notes.into_inner();
        // A wrong value for all signals is wrong for each.
        notes.sort();
        notes.dedup();
        let idle: Vec<&str> =
            WITHOUT_EFFECT.iter().copied().filter(|name| get(name).is_some()).collect();
        if !idle.is_empty() {
            notes.push(format!("no effect here: {}", idle.join(", ")));
        }
        let service = get("OTEL_SERVICE_NAME");
        Ok(Some(Self { traces, logs, metrics, service, attributes, temporality, notes }))
    }
}

/// The attributes of the resource.
fn attributes(
    get: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, ExportSettingsError> {
    let variable = "OTEL_RESOURCE_ATTRIBUTES";
    let attributes = get(variable).map(|value| pairs(&value)).transpose();
    let attributes = attributes.map_err(|problem| ExportSettingsError::Value {
        variable: variable.to_owned(),
        problem,
        meant: "write key=value, with commas between, as in team=pricing,env=test",
    });
    Ok(attributes?.unwrap_or_default())
}

fn temporality(get: &impl Fn(&str) -> Option<String>) -> Result<Temporality, ExportSettingsError> {
    let variable = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    let Some(value) = get(variable) else { return Ok(Temporality::default()) };
    match value.to_ascii_lowercase().as_str() {
        "cumulative" => Ok(Temporality::Cumulative),
        "delta" => Ok(Temporality::Delta),
        "lowmemory" => Ok(Temporality::LowMemory),
        _ => Err(refused(variable, &value, "write cumulative, the default, delta or lowmemory")),
    }
}

impl<G: Fn(&str) -> Option<String>> Signal<'_, G> {
    /// The signal's own variable if set, else the one of all signals; with its name.
    fn find(&self, what: &str) -> Option<(String, String)> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{what}", self.name);
        let all = format!("OTEL_EXPORTER_OTLP_{what}");
        [own, all].into_iter().find_map(|name| (self.get)(&name).map(|value| (name, value)))
    }

    /// The value, or the usual one and a note.
    fn or_noted<T>(&self, value: Result<T, ExportSettingsError>, usual: T) -> T {
        value.unwrap_or_else(|error| {
            self.notes.borrow_mut().push(error.to_string());
            usual
        })
    }

    fn read(&self) -> Result<Option<Target>, ExportSettingsError> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", self.name);
        let (variable, address, whole) = if let Some(flag) = self.flag {
            ("--otlp".to_owned(), flag.to_owned(), false)
        } else if let Some(address) = (self.get)(&own) {
            (own, address, true)
        } else if let Some(address) = (self.get)("OTEL_EXPORTER_OTLP_ENDPOINT") {
            ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), address, false)
        } else {
            return Ok(None);
        };
        let exporter = format!("OTEL_{}_EXPORTER", self.name);
        match (self.get)(&exporter).as_deref() {
            Some("none") => return Ok(None),
            Some("otlp") | None => {}
            Some(other) => {
                let meant = "write otlp, or none to leave this signal out";
                return Err(refused(&exporter, other, meant));
            }
        }
        let protocol = self.protocol()?;
        let url = self.url(&variable, &address, whole, protocol)?;
        Ok(Some(Target {
            url,
            protocol,
            headers: self.headers()?,
            timeout: self.or_noted(self.timeout(), TIMEOUT),
            gzip: self.or_noted(self.gzip(), false),
            trust: self.trust()?,
        }))
    }

    fn url(
        &self,
        variable: &str,
        address: &str,
        whole: bool,
        protocol: Protocol,
    ) -> Result<Url, ExportSettingsError> {
        let meant = "write an address, as in http://127.0.0.1:4318 or https://collector:4317";
        let parsed = Url::parse(address).ok();
        let legal = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let Some(mut url) = parsed.filter(legal) else {
            // The value may hold a password.
            let problem = "is not an address of a collector".to_owned();
            return Err(ExportSettingsError::Value {
                variable: variable.to_owned(),
                problem,
                meant,
            });
        };
        if protocol == Protocol::Http && !whole {
            let base = url.path().trim_end_matches('/').to_owned();
            url.set_path(&format!("{base}/{}", self.path));
        }
        Ok(url)
    }

    fn protocol(&self) -> Result<Protocol, ExportSettingsError> {
        match self.find("PROTOCOL") {
            None => Ok(Protocol::Http),
            Some((name, value)) => match value.as_str() {
                "http/protobuf" => Ok(Protocol::Http),
                "grpc" => Ok(Protocol::Grpc),
                _ => Err(refused(&name, &value, "write http/protobuf, the default, or grpc")),
            },
        }
    }

    fn headers(&self) -> Result<Vec<(String, String)>, ExportSettingsError> {
        let Some((variable, value)) = self.find("HEADERS") else { return Ok(Vec::new()) };
        let meant = "write name=value, with commas between, as in authorization=Basic%20abc";
        let legal = |(name, value): &(String, String)| {
            reqwest::header::HeaderName::try_from(name.as_str()).is_ok()
                && reqwest::header::HeaderValue::try_from(value.as_str()).is_ok()
        };
        match pairs(&value) {
            Ok(pairs) if pairs.iter().all(legal) => Ok(pairs),
            Ok(_) | Err(_) => {
                let problem = "is not a list of headers".to_owned();
                Err(ExportSettingsError::Value { variable, problem, meant })
            }
        }
    }

    fn timeout(&self) -> Result<Duration, ExportSettingsError> {
        let Some((name, value)) = self.find("TIMEOUT") else { return Ok(TIMEOUT) };
        let ms = value.parse().ok().filter(|ms| (1..=TIMEOUT_MS_MAX).contains(ms));
        let meant = "write a whole number of milliseconds, from 1 to 600000";
        ms.map(Duration::from_millis).ok_or_else(|| refused(&name, &value, meant))
    }

    fn gzip(&self) -> Result<bool, ExportSettingsError> {
        match self.find("COMPRESSION") {
            None => Ok(false),
            Some((name, value)) => match value.as_str() {
                "gzip" => Ok(true),
                "none" => Ok(false),
                _ => Err(refused(&name, &value, "write gzip, or none, the default")),
            },
        }
    }

    fn trust(&self) -> Result<Trust, ExportSettingsError> {
        let mut trust = Trust::default();
        let problem = |variable| move |source| ExportSettingsError::Trust { variable, source };
        if let Some((name, path)) = self.find("CERTIFICATE") {
            trust.authorities(path.as_ref()).map_err(problem(name))?;
        }
        let meant = "name the certificate and its key, both or neither";
        match (self.find("CLIENT_CERTIFICATE"), self.find("CLIENT_KEY")) {
            (None, None) => Ok(trust),
            (Some((name, chain)), Some((_, key))) => {
                trust.identity(chain.as_ref(), key.as_ref()).map_err(problem(name))?;
                Ok(trust)
            }
            (Some((variable, _)), None) | (None, Some((variable, _))) => {
                let problem = "is set without the other".to_owned();
                Err(ExportSettingsError::Value { variable, problem, meant })
            }
        }
    }
}

fn refused(variable: &str, value: &str, meant: &'static str) -> ExportSettingsError {
    ExportSettingsError::Value {
        variable: variable.to_owned(),
        problem: format!("is {value:?}"),
        meant,
    }
}
