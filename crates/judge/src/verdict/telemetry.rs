//! The result of sending telemetry to collectors. It does not affect the verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The telemetry that was sent to collectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Telemetry {
    /// The collectors, without secrets.
    pub to: Vec<String>,
    /// The number of spans.
    pub spans: u64,
    /// The number of spans that no collector confirmed.
    pub spans_lost: u64,
    /// The number of log records.
    pub logs: u64,
    /// The number of log records that no collector confirmed.
    pub logs_lost: u64,
    /// The first error with spans or log records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Metrics, which are sent while the run goes on and never repeated; none without a collector
    /// for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSent>,
}

/// The metrics that were sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsSent {
    /// The number of exports.
    pub exports: u64,
    /// The number of exports that no collector confirmed completely.
    pub exports_lost: u64,
    /// The first error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Telemetry {
    /// Whether anything was lost.
    #[must_use]
    pub fn lossy(&self) -> bool {
        self.lacks() || self.metrics.as_ref().is_some_and(|metrics| metrics.exports_lost > 0)
    }

    /// Whether anything was lost that can be exported again from the journal.
    #[must_use]
    pub fn lacks(&self) -> bool {
        self.spans_lost > 0 || self.logs_lost > 0
    }

    /// The result as phrases.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let Self { to, spans, spans_lost, logs, logs_lost, why, metrics } = self;
        let sent = (spans.saturating_sub(*spans_lost), logs.saturating_sub(*logs_lost));
        let exports = metrics.as_ref().map_or_else(String::new, |metrics| {
            let taken = metrics.exports.saturating_sub(metrics.exports_lost);
            format!(", {taken} exports of metrics")
        });
        let (spans, logs, to) = (sent.0, sent.1, to.join(", "));
        let mut phrases = vec![format!("{spans} spans, {logs} log records{exports} to {to}")];
        if self.lacks() {
            phrases.push(format!("lost {spans_lost} spans, {logs_lost} log records"));
        }
        phrases.extend(why.clone());
        phrases.extend(metrics.as_ref().and_then(MetricsSent::lost));
        phrases
    }
}

impl MetricsSent {
    /// The loss as text; none if nothing was lost.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let Self { exports, exports_lost, why } = self;
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let text = || format!("{exports_lost} of {exports} exports of metrics were lost{why}");
        (*exports_lost > 0).then(text)
    }
}
