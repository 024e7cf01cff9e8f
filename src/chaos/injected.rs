//! Inject and heal: what each fault does to members, and to brokers.

use std::future::pending;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use super::aim::Aim;
use super::arena::{Arena, FaultError, Victim};
use super::faults::{How, brokers};
use super::{AnyFault, Kind};
use crate::ids::{FaultId, Life};
use crate::observation::RunEvent;
use crate::time::Mono;

/// How a fault is injected into members, and healed. A heal also undoes a partial injection.
pub trait Injection {
    /// Injects the fault. Returns the instant when it was known to be in force.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>>;

    /// Heals the fault.
    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>>;

    /// Returns once the fault is no longer in force although it was not healed; never returns if
    /// that cannot be observed.
    fn slips<'a>(&'a self, _: &'a Case<'a>) -> LocalBoxFuture<'a, FaultError> {
        Box::pin(pending())
    }
}

/// Nothing is done to members. A series also uses it, because its strikes are injected one by one.
pub(super) struct NoInjection;

impl Injection for NoInjection {
    fn inject<'a>(&'a self, _: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async { Ok(Mono::ZERO) })
    }

    fn heal<'a>(&'a self, _: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(async { Ok(()) })
    }
}

/// One strike of a fault: the arena, and the reserved victims.
pub struct Case<'a> {
    pub(super) arena: &'a Arena<'a>,
    pub(super) fault: FaultId,
    pub(super) aim: Aim,
    /// The longest time until a victim that ends is started again.
    pub(super) restart_after: Duration,
    kind: Kind,
}

impl Case<'_> {
    pub(super) fn victims(&self) -> &[Victim] {
        &self.aim.victims
    }

    /// Records that the fault is about to be injected into a life, or without a victim.
    pub(super) fn asked(&self, life: Option<&Life>) {
        self.arena.record.note(life, self.kind.asked(&self.fault, None));
    }

    /// Records that the fault is in force.
    pub(super) fn in_force(&self, life: Option<&Life>) -> Mono {
        self.arena.record.note(life, RunEvent::FaultInForce { fault: self.fault.clone() })
    }

    /// Records that the fault was in force at `t`.
    pub(super) fn in_force_at(&self, t: Mono, victim: &Victim) {
        let event = RunEvent::FaultInForce { fault: self.fault.clone() };
        self.arena.record.note_at(t, Some(&victim.life), event);
    }

    /// Records that the fault is gone.
    pub(super) fn healed(&self, life: Option<&Life>) {
        self.arena.record.note(life, RunEvent::FaultHealed { fault: self.fault.clone() });
    }

    /// Records that the fault was gone at `t`.
    pub(super) fn healed_at(&self, t: Mono, victim: &Victim) {
        let event = RunEvent::FaultHealed { fault: self.fault.clone() };
        self.arena.record.note_at(t, Some(&victim.life), event);
    }

    /// Records that the fault is about to be injected into a broker.
    pub(super) fn asked_broker(&self, broker: &crate::controller::Broker) {
        self.arena.record.note(None, self.kind.asked(&self.fault, Some(broker)));
    }
}

/// A fault whose injection began, and what is needed to heal it.
pub(super) struct Injected<'a> {
    what: AnyFault,
    members: Box<dyn Injection>,
    case: Case<'a>,
}

impl<'a> Injected<'a> {
    /// Prepares the injection. From here on the fault can be healed, even if the injection fails.
    pub(super) fn plan(
        arena: &'a Arena<'a>,
        what: AnyFault,
        fault: FaultId,
        aim: Aim,
        restart_after: Duration,
    ) -> Self {
        let kind = what.kind();
        let members = what.injection();
        Self { what, members, case: Case { arena, fault, aim, restart_after, kind } }
    }

    /// Injects the fault. Returns the instant when it was known to be in force.
    pub(super) async fn inject(&self) -> Result<Mono, FaultError> {
        let members = self.members.inject(&self.case);
        let brokers = async {
            match self.brokers() {
                Some((how, _)) => brokers::inject(&self.case, how).await,
                None => Ok(Mono::ZERO),
            }
        };
        let (members, brokers) = tokio::join!(members, brokers);
        Ok(members?.max(brokers?))
    }

    /// Returns once the fault is no longer in force although it was not healed. Brokers are not
    /// watched.
    pub(super) async fn slips(&self) -> FaultError {
        self.members.slips(&self.case).await
    }

    /// Heals the fault.
    pub(super) async fn heal(&self) -> Result<(), FaultError> {
        let members = self.members.heal(&self.case);
        let brokers = async {
            match self.brokers() {
                Some((how, after)) => brokers::heal(&self.case, how, after).await,
                None => Ok(()),
            }
        };
        let (members, brokers) = tokio::join!(members, brokers);
        members.and(brokers)
    }

    /// Releases the victims.
    pub(super) fn release(&self) {
        let Case { arena, aim, .. } = &self.case;
        arena.release(&aim.victims);
        arena.release_brokers(&aim.brokers);
    }

    /// How the reserved brokers fail, if any, and how much longer they are away at the heal: zero
    /// if the fault was held for its full time.
    fn brokers(&self) -> Option<(How, Duration)> {
        let (how, away) = self.what.of_brokers().filter(|_| !self.case.aim.brokers.is_empty())?;
        let after = if self.what.lasts().is_some() { Duration::ZERO } else { away.get() };
        Some((how, after))
    }
}
