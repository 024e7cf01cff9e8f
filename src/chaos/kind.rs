//! What the other modules ask of a fault's word.

use super::Kind;
use super::faults::Targets;
use crate::controller::Broker;
use crate::ids::FaultId;
use crate::observation::RunEvent;

impl Kind {
    /// Whether the fault is a series: many strikes, each with its own name.
    #[must_use]
    pub fn is_series(self) -> bool {
        self.word().targets == Targets::InTurn
    }

    /// The word in experiment files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.word().name
    }

    /// The noun for it in messages.
    #[must_use]
    pub fn noun(self) -> &'static str {
        self.word().noun
    }

    /// The faults that a storm can inject.
    pub fn stormy() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.word().in_storm.is_some())
    }

    /// The fact that the fault is about to be injected: into a life, into a broker, or without a
    /// victim.
    pub(super) fn asked(self, fault: &FaultId, broker: Option<&Broker>) -> RunEvent {
        RunEvent::FaultAsked {
            fault: fault.clone(),
            kind: self.as_str().to_owned(),
            class: self.word().class,
            broker: broker.map(|broker| broker.address.clone()),
            cluster: broker.map(|broker| broker.cluster.clone()),
        }
    }

    /// The fact that the fault could not be injected, or not healed.
    pub(super) fn failed(self, fault: &FaultId, why: String) -> RunEvent {
        let (kind, class) = (self.as_str().to_owned(), self.word().class);
        RunEvent::FaultFailed { fault: fault.clone(), kind, class, why }
    }
}
