//! The faults that are in force, or about to be.

use std::collections::BTreeMap;

use tandem_facts::ids::FaultId;
use tandem_facts::observation::{Fact, What};
use tandem_facts::time::Mono;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// Its kind, as experiments write it.
    pub kind: String,
    /// When the first of its victims was about to be struck.
    pub since: Mono,
    /// How many victims it has that are not healed.
    pub victims: u32,
}

/// All faults that are not known to be gone. They go with their trial, at the latest.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults(pub(super) BTreeMap<FaultId, Active>);

impl Faults {
    pub(super) fn observe(&mut self, fact: &Fact) {
        if let What::FaultAsked { fault, kind, .. } = &fact.what {
            let active = self.0.entry(fault.clone()).or_insert_with(|| Active {
                kind: kind.clone(),
                since: fact.t,
                victims: 0,
            });
            active.victims = active.victims.saturating_add(1);
        }
        if let What::FaultHealed { fault } = &fact.what
            && let Some(active) = self.0.get_mut(fault)
        {
            active.victims = active.victims.saturating_sub(1);
        }
        if let What::TrialBegan { .. } | What::TrialEnded { .. } = &fact.what {
            self.0.clear();
        }
        self.0.retain(|_, active| active.victims > 0);
    }
}
