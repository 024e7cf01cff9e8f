//! The word for a fault: what the house asks of it.

use super::Kind;
use super::faults::Targets;
use crate::controller::Broker;
use crate::ids::FaultId;
use crate::observation::What;

impl Kind {
    /// Those that are many strikes, of which each has a name of its own.
    #[must_use]
    pub fn is_series(self) -> bool {
        self.word().targets == Targets::InTurn
    }

    /// The word that experiments use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.word().name
    }

    /// What a sentence calls it.
    #[must_use]
    pub fn noun(self) -> &'static str {
        self.word().noun
    }

    /// Those that a storm may strike with.
    pub fn stormy() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.word().in_storm.is_some())
    }

    /// The fact that it is about to be done: to a life, to a broker, or to no member.
    pub(super) fn asked(self, fault: &FaultId, broker: Option<&Broker>) -> What {
        What::FaultAsked {
            fault: fault.clone(),
            kind: self.as_str().to_owned(),
            class: self.word().class,
            broker: broker.map(|broker| broker.address.clone()),
            cluster: broker.map(|broker| broker.cluster.clone()),
        }
    }

    /// The fact that it could not be injected, or not be healed.
    pub(super) fn failed(self, fault: &FaultId, why: String) -> What {
        let (kind, class) = (self.as_str().to_owned(), self.word().class);
        What::FaultFailed { fault: fault.clone(), kind, class, why }
    }
}
