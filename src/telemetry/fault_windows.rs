//! What Grafana is told of a fault window.

use serde::Serialize;

use super::Scene;
use crate::ids::FaultId;
use crate::live::FaultWindow;
use crate::time::Mono;

/// The dashboard that is shipped.
const DASHBOARD: &str = "tandem-neli";
/// How many victims are named.
const NAMED_MAX: usize = 8;

/// An annotation as Grafana's API takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotation {
    /// On which dashboard.
    #[serde(rename = "dashboardUID")]
    pub dashboard_uid: &'static str,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub time: u64,
    /// When it ended.
    pub time_end: u64,
    /// `tandem`, `fault`, the kind, the run.
    pub tags: Vec<String>,
    /// Which fault struck whom.
    pub text: String,
}

/// What Grafana is told of a window that was over at `until`.
pub(super) fn annotation(
    scene: &Scene,
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
        time: scene.at(*since) / 1_000_000,
        time_end: scene.at(until) / 1_000_000,
        text: format!("{kind} of {named}{more} (fault {fault}){failed}"),
        tags: vec!["tandem".into(), "fault".into(), kind.clone(), scene.run.clone()],
    }
}
