//! Where faults are played: the fleet, what is known of it, and when to stop.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::controller::{Fleet, Gate, Record, Slot};
use crate::ids::{FaultId, Life, MemberId};
use crate::observation::What;
use crate::time::Mono;
use crate::topology::Plan;

/// What a fault may reach.
pub struct Arena<'a> {
    /// What is wanted.
    pub plan: &'a Plan,
    /// The members.
    pub fleet: &'a Fleet,
    /// Where everything is written down.
    pub record: &'a Record,
    /// Whether all is settled.
    pub gate: &'a Gate,
    /// Cancelled when the run must come to its end, faults healed.
    pub stop: &'a CancellationToken,
}

/// A victim and the life that is to be hit.
#[derive(Clone)]
pub(super) struct Victim {
    pub slot: Arc<Slot>,
    pub life: Life,
}

/// Why a fault is not in force, or not healed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// Nobody there to hit.
    #[error("{0} does not run")]
    Absent(MemberId),
    /// The kernel refused the signal.
    #[error("{life} could not be signalled: {why}")]
    Signal {
        /// Whom.
        life: Life,
        /// What the kernel says.
        why: String,
    },
    /// It was done, and its effect was not seen in time.
    #[error("{life} was not {state} within {within:?}")]
    Late {
        /// Whom.
        life: Life,
        /// What it should have become.
        state: &'static str,
        /// How long that was waited for.
        within: Duration,
    },
}

impl Arena<'_> {
    /// Finds the victims before anything is done to one of them.
    pub(super) fn victims(&self, members: &[MemberId]) -> Result<Vec<Victim>, FaultError> {
        let victim = |member: &MemberId| {
            let slot = self.fleet.slot(member).filter(|slot| slot.process().is_some());
            let slot = slot.ok_or_else(|| FaultError::Absent(member.clone()))?;
            Ok(Victim { slot: Arc::clone(slot), life: slot.life() })
        };
        members.iter().map(victim).collect()
    }

    /// Stamps that `victim` is about to be hit.
    pub(super) fn asked(&self, victim: &Victim, fault: &FaultId, kind: &str) -> Mono {
        let (fault, kind) = (fault.clone(), kind.to_owned());
        self.record.note(Some(&victim.life), What::FaultAsked { fault, kind })
    }

    pub(super) fn in_force(&self, victim: &Victim, fault: &FaultId) -> Mono {
        self.record.note(Some(&victim.life), What::FaultInForce { fault: fault.clone() })
    }

    pub(super) fn healed(&self, victim: &Victim, fault: &FaultId) {
        self.record.note(Some(&victim.life), What::FaultHealed { fault: fault.clone() });
    }

    /// Sends a signal to a victim; to one that has died meanwhile, nothing happens.
    pub(super) fn signal(
        victim: &Victim,
        signal: rustix::process::Signal,
    ) -> Result<(), FaultError> {
        let Some(process) = victim.slot.process() else { return Ok(()) };
        process.signal(signal).map_err(|error| {
            let (life, why) = (victim.life.clone(), error.to_string());
            FaultError::Signal { life, why }
        })
    }
}
