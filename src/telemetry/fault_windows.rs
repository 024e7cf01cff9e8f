//! Builds Grafana's annotations of fault windows.

use serde::Serialize;

use super::RunContext;
use crate::ids::FaultId;
use crate::live::FaultWindow;
use crate::time::Mono;

/// The id of the shipped dashboard.
const DASHBOARD: &str = "tandem-neli";
/// How many victims are named.
const NAMED_MAX: usize = 8;

/// An annotation as Grafana's API takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotation {
    /// The dashboard.
    #[serde(rename = "dashboardUID")]
    pub dashboard_uid: &'static str,
    /// The beginning, in milliseconds since 1970-01-01 UTC.
    pub time: u64,
    /// The end.
    pub time_end: u64,
    /// `tandem`, `fault`, the kind, the run.
    pub tags: Vec<String>,
    /// The fault and its victims.
    pub text: String,
}

/// The annotation of a window that ended at `until`.
pub(super) fn annotation(
    context: &RunContext,
    (fault, window): (&FaultId, &FaultWindow),
    until: Mono,
) -> Annotation {
    let FaultWindow { kind, since, victims, failed, .. } = window;
    let named = victims.iter().take(NAMED_MAX).map(|victim| victim.target.to_string());
    let named = named.collect::<Vec<_>>().join(", ");
    let more = victims.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let failed = failed.as_ref().map_or_else(String::new, |why| format!("; it failed: {why}"));
    Annotation {
        dashboard_uid: DASHBOARD,
        time: context.at(*since) / 1_000_000,
        time_end: context.at(until) / 1_000_000,
        text: format!("{kind} of {named}{more} (fault {fault}){failed}"),
        tags: vec!["tandem".into(), "fault".into(), kind.clone(), context.run.clone()],
    }
}
