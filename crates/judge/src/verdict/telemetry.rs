//! What became of what was sent to collectors of telemetry. It is no part of the judgement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was sent to collectors of telemetry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Telemetry {
    /// Where to, without what is secret.
    pub to: Vec<String>,
    /// How many spans there were.
    pub spans: u64,
    /// How many of them no collector is known to have taken.
    pub spans_lost: u64,
    /// How many log records there were.
    pub logs: u64,
    /// How many of them no collector is known to have taken.
    pub logs_lost: u64,
    /// The first thing that went wrong with spans or log records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Metrics, which are sent while the run goes on and never again; nothing where they go
    /// nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsSent>,
}

/// What was sent of metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsSent {
    /// How often they were sent.
    pub exports: u64,
    /// How many of these exports no collector is known to have taken, or only a part of them.
    pub exports_lost: u64,
    /// The first thing that went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Telemetry {
    /// Whether anything was lost.
    #[must_use]
    pub fn lossy(&self) -> bool {
        self.lacks() || self.metrics.as_ref().is_some_and(|metrics| metrics.exports_lost > 0)
    }

    /// Whether anything was lost that the journal can tell again.
    #[must_use]
    pub fn lacks(&self) -> bool {
        self.spans_lost > 0 || self.logs_lost > 0
    }

    /// In words, each a sentence's part.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let Self { to, spans, spans_lost, logs, logs_lost, why, metrics } = self;
        let sent = (spans.saturating_sub(*spans_lost), logs.saturating_sub(*logs_lost));
        let exports = metrics.as_ref().map_or_else(String::new, |metrics| {
            let taken = metrics.exports.saturating_sub(metrics.exports_lost);
            format!(", {taken} exports of metrics")
        });
        let (spans, logs, to) = (sent.0, sent.1, to.join(", "));
        let mut told = vec![format!("{spans} spans, {logs} log records{exports} to {to}")];
        if self.lacks() {
            told.push(format!("lost {spans_lost} spans, {logs_lost} log records"));
        }
        told.extend(why.clone());
        told.extend(metrics.as_ref().and_then(MetricsSent::lost));
        told
    }
}

impl MetricsSent {
    /// What was lost, in words; nothing where nothing was.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let Self { exports, exports_lost, why } = self;
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let told = || format!("{exports_lost} of {exports} exports of metrics were lost{why}");
        (*exports_lost > 0).then(told)
    }
}
