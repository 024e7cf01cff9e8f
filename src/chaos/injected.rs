//! Inject and heal, a pair, for every kind of fault.

use std::future::pending;
use std::time::Duration;

use super::Fault;
use super::aim::Aim;
use super::arena::{Arena, FaultError};
use super::{broker, clock, duplicate, end, network, pause};
use crate::controller::Twin;
use crate::ids::FaultId;
use crate::observation::What;
use crate::time::Mono;

/// A fault that was begun, and what is needed to undo it.
pub(super) struct Injected {
    what: Fault,
    fault: FaultId,
    aim: Aim,
    restart_after: Duration,
    /// The second processes that it has started.
    twins: tokio::sync::Mutex<Vec<Twin>>,
}

impl Injected {
    /// What is about to be done; it can be healed from here on, whatever happens in between.
    pub(super) fn plan(what: Fault, fault: FaultId, aim: Aim, restart_after: Duration) -> Self {
        Self { what, fault, aim, restart_after, twins: tokio::sync::Mutex::default() }
    }

    /// Does it; when it was known to be in force.
    pub(super) async fn inject(&self, arena: &Arena<'_>) -> Result<Mono, FaultError> {
        match &self.what {
            Fault::End { by, .. } => end::inject(arena, &self.fault, *by, &self.aim.victims).await,
            Fault::Pause { .. } => pause::inject(arena, &self.fault, &self.aim.victims).await,
            Fault::Network(what) => {
                network::inject(arena, &self.fault, what, &self.aim.reach, &self.aim.victims).await
            }
            Fault::Broker { how, .. } => {
                broker::inject(arena, &self.fault, *how, &self.aim.brokers).await
            }
            Fault::Clock { skew, .. } => {
                clock::inject(arena, &self.fault, *skew, &self.aim.victims).await
            }
            Fault::Duplicate { .. } => {
                duplicate::inject(arena, &self.fault, &self.aim.victims, &self.twins).await
            }
            // A series is played strike by strike.
            Fault::Storm(_) | Fault::Rollout { .. } => Ok(Mono::now()),
            Fault::Noop { .. } => {
                let fault = self.fault.clone();
                arena.record.note(
                    None,
                    What::FaultAsked {
                        fault,
                        kind: "noop".to_owned(),
                        broker: None,
                        cluster: None,
                    },
                );
                let fault = self.fault.clone();
                Ok(arena.record.note(None, What::FaultInForce { fault }))
            }
        }
    }

    /// Returns once it is no longer in force, though nobody here has undone it. A death cannot be
    /// undone, and a broker is not watched.
    pub(super) async fn slips(&self) -> FaultError {
        match &self.what {
            Fault::Pause { .. } if !self.aim.victims.is_empty() => {
                pause::slips(&self.aim.victims).await
            }
            Fault::Pause { .. }
            | Fault::End { .. }
            | Fault::Network(_)
            | Fault::Broker { .. }
            | Fault::Clock { .. }
            | Fault::Duplicate { .. }
            | Fault::Storm(_)
            | Fault::Rollout { .. }
            | Fault::Noop { .. } => pending().await,
        }
    }

    /// Lets go of whom it has in its hands.
    pub(super) fn release(&self, arena: &Arena<'_>) {
        arena.release(&self.aim.victims);
        arena.release_brokers(&self.aim.brokers);
    }

    /// Undoes it.
    pub(super) async fn heal(&self, arena: &Arena<'_>) -> Result<(), FaultError> {
        match &self.what {
            Fault::End { .. } => {
                end::heal(arena, &self.fault, &self.aim.victims, self.restart_after).await
            }
            Fault::Pause { .. } => pause::heal(arena, &self.fault, &self.aim.victims).await,
            Fault::Network(_) => network::heal(arena, &self.fault, &self.aim.victims).await,
            Fault::Broker { how, away } => {
                broker::heal(arena, &self.fault, (*how, away.get()), &self.aim.brokers).await
            }
            Fault::Clock { .. } => clock::heal(arena, &self.fault, &self.aim.victims).await,
            Fault::Duplicate { .. } => duplicate::heal(arena, &self.fault, &self.twins).await,
            Fault::Storm(_) | Fault::Rollout { .. } => Ok(()),
            Fault::Noop { .. } => {
                let fault = self.fault.clone();
                arena.record.note(None, What::FaultHealed { fault });
                Ok(())
            }
        }
    }
}
