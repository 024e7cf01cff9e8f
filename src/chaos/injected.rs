//! Inject and heal, a pair, for every kind of fault.

use std::future::pending;
use std::time::Duration;

use super::aim::Aim;
use super::arena::{Arena, FaultError};
use super::{Fault, Kind};
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
            Fault::End { by, .. } => {
                let members = end::inject(arena, &self.fault, *by, &self.aim.victims);
                let (members, brokers) = tokio::join!(members, self.strike_brokers(arena));
                Ok(members?.max(brokers?))
            }
            Fault::Pause { .. } => {
                let members = pause::inject(arena, &self.fault, &self.aim.victims);
                let (members, brokers) = tokio::join!(members, self.strike_brokers(arena));
                Ok(members?.max(brokers?))
            }
            Fault::Network(what) => {
                network::inject(arena, &self.fault, what, &self.aim.reach, &self.aim.victims).await
            }
            Fault::Broker { .. } => self.strike_brokers(arena).await,
            Fault::Clock { skew, .. } => {
                clock::inject(arena, &self.fault, *skew, &self.aim.victims).await
            }
            Fault::Duplicate { .. } => {
                duplicate::inject(arena, &self.fault, &self.aim.victims, &self.twins).await
            }
            // A series is played strike by strike.
            Fault::Storm(_) | Fault::Rollout { .. } => Ok(Mono::now()),
            Fault::Noop { .. } => {
                arena.record.note(None, Kind::Noop.asked(&self.fault));
                let fault = self.fault.clone();
                Ok(arena.record.note(None, What::FaultInForce { fault }))
            }
        }
    }

    /// Strikes the brokers that it has in its hands, if any.
    async fn strike_brokers(&self, arena: &Arena<'_>) -> Result<Mono, FaultError> {
        match self.what.of_brokers() {
            Some((how, _)) if !self.aim.brokers.is_empty() => {
                let done = (self.what.kind(), how);
                broker::inject(arena, &self.fault, done, &self.aim.brokers).await
            }
            Some(_) | None => Ok(Mono::ZERO),
        }
    }

    /// Starts or wakes them when `after` is over.
    async fn heal_brokers(&self, arena: &Arena<'_>, after: Duration) -> Result<(), FaultError> {
        match self.what.of_brokers() {
            Some((how, _)) if !self.aim.brokers.is_empty() => {
                broker::heal(arena, &self.fault, (how, after), &self.aim.brokers).await
            }
            Some(_) | None => Ok(()),
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
        let away = self.what.of_brokers().map_or(Duration::ZERO, |(_, away)| away.get());
        match &self.what {
            Fault::End { .. } => {
                let after = self.restart_after;
                let members = end::heal(arena, &self.fault, &self.aim.victims, after);
                let (members, brokers) = tokio::join!(members, self.heal_brokers(arena, away));
                members.and(brokers)
            }
            // It was held for its time.
            Fault::Pause { .. } => {
                let members = pause::heal(arena, &self.fault, &self.aim.victims);
                let brokers = self.heal_brokers(arena, Duration::ZERO);
                let (members, brokers) = tokio::join!(members, brokers);
                members.and(brokers)
            }
            Fault::Network(_) => network::heal(arena, &self.fault, &self.aim.victims).await,
            Fault::Broker { .. } => self.heal_brokers(arena, away).await,
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
