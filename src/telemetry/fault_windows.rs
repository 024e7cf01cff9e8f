//! Builds Grafana's annotations of fault windows from the facts of a run as they come.

use std::collections::BTreeMap;

use serde::Serialize;

use super::RunContext;
use crate::ids::FaultId;
use crate::observation::{Fact, What};
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

struct Window {
    kind: String,
    since: Mono,
    victims: Vec<String>,
    healed: usize,
    failed: Option<String>,
}

/// The windows that are open.
pub(super) struct Windows {
    context: RunContext,
    open: BTreeMap<FaultId, Window>,
}

impl Windows {
    pub(super) fn new(context: RunContext) -> Self {
        Self { context, open: BTreeMap::new() }
    }

    /// Takes a fact. Returns the windows that it closes. The end of a trial closes every window.
    pub(super) fn observe(&mut self, fact: &Fact) -> Vec<Annotation> {
        if let What::FaultAsked { fault, kind, broker, .. } = &fact.what {
            let victim = fact.life.as_ref().map(ToString::to_string).or_else(|| broker.clone());
            let window = self.open.entry(fault.clone()).or_insert_with(|| Window {
                kind: kind.clone(),
                since: fact.t,
                victims: Vec::new(),
                healed: 0,
                failed: None,
            });
            window.victims.push(victim.unwrap_or_else(|| "no victim".to_owned()));
        }
        if let What::FaultFailed { fault, why, .. } = &fact.what
            && let Some(window) = self.open.get_mut(fault)
        {
            window.failed = Some(why.clone());
        }
        if let What::FaultHealed { fault } = &fact.what {
            let window = self.open.get_mut(fault);
            let closed = window.is_some_and(|window| {
                window.healed = window.healed.saturating_add(1);
                window.healed >= window.victims.len()
            });
            return if closed {
                self.close(fault, fact.t).into_iter().collect()
            } else {
                Vec::new()
            };
        }
        if let What::TrialEnded { .. } | What::Ended { .. } = &fact.what {
            let open: Vec<_> = self.open.keys().cloned().collect();
            return open.iter().filter_map(|fault| self.close(fault, fact.t)).collect();
        }
        Vec::new()
    }

    fn close(&mut self, fault: &FaultId, until: Mono) -> Option<Annotation> {
        let Window { kind, since, victims, failed, .. } = self.open.remove(fault)?;
        let named = victims.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        let more = victims.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let failed = failed.map_or_else(String::new, |why| format!("; it failed: {why}"));
        Some(Annotation {
            dashboard_uid: DASHBOARD,
            time: self.context.at(since) / 1_000_000,
            time_end: self.context.at(until) / 1_000_000,
            text: format!("{kind} of {named}{more} (fault {fault}){failed}"),
            tags: vec!["tandem".into(), "fault".into(), kind, self.context.run.clone()],
        })
    }
}
