//! Inject and heal, a pair: what each fault does to members, and what is done to brokers beside.

use std::future::pending;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use super::aim::Aim;
use super::arena::{Arena, FaultError, Victim};
use super::faults::{How, brokers};
use super::{AnyFault, Kind};
use crate::ids::{FaultId, Life};
use crate::observation::What;
use crate::time::Mono;

/// How a fault is done to members, and undone. A heal undoes what of it was done.
pub trait Injection {
    /// Does it; when it was known to be in force.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>>;

    /// Undoes it.
    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>>;

    /// Returns once it is no longer in force, though it was not undone here; never, where that
    /// cannot be seen.
    fn slips<'a>(&'a self, _: &'a Case<'a>) -> LocalBoxFuture<'a, FaultError> {
        Box::pin(pending())
    }
}

/// Nothing is done to members. A series, too, is played strike by strike.
pub(super) struct NoInjection;

impl Injection for NoInjection {
    fn inject<'a>(&'a self, _: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async { Ok(Mono::ZERO) })
    }

    fn heal<'a>(&'a self, _: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(async { Ok(()) })
    }
}

/// One strike of a fault: where it is played, and whom it has in its hands.
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

    /// About to be done to a life, or to no member.
    pub(super) fn asked(&self, life: Option<&Life>) {
        self.arena.record.note(life, self.kind.asked(&self.fault, None));
    }

    /// It is in force.
    pub(super) fn in_force(&self, life: Option<&Life>) -> Mono {
        self.arena.record.note(life, What::FaultInForce { fault: self.fault.clone() })
    }

    /// It was in force at `t`, as was seen elsewhere.
    pub(super) fn in_force_at(&self, t: Mono, victim: &Victim) {
        let fact = What::FaultInForce { fault: self.fault.clone() };
        self.arena.record.note_at(t, Some(&victim.life), fact);
    }

    /// It is gone.
    pub(super) fn healed(&self, life: Option<&Life>) {
        self.arena.record.note(life, What::FaultHealed { fault: self.fault.clone() });
    }

    /// It was gone at `t`, as was seen elsewhere.
    pub(super) fn healed_at(&self, t: Mono, victim: &Victim) {
        let fact = What::FaultHealed { fault: self.fault.clone() };
        self.arena.record.note_at(t, Some(&victim.life), fact);
    }

    /// Hits brokers: about to be done to one of them.
    pub(super) fn asked_broker(&self, broker: &crate::controller::Broker) {
        self.arena.record.note(None, self.kind.asked(&self.fault, Some(broker)));
    }
}

/// A fault that was begun, and what is needed to undo it.
pub(super) struct Injected<'a> {
    what: AnyFault,
    members: Box<dyn Injection>,
    case: Case<'a>,
}

impl<'a> Injected<'a> {
    /// What is about to be done; it can be healed from here on, also where the injection fails.
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

    /// Does it; when it was known to be in force.
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

    /// Returns once it is no longer in force, though it was not undone here. A broker is not
    /// watched.
    pub(super) async fn slips(&self) -> FaultError {
        self.members.slips(&self.case).await
    }

    /// Undoes it.
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

    /// Lets go of whom it has in its hands.
    pub(super) fn release(&self) {
        let Case { arena, aim, .. } = &self.case;
        arena.release(&aim.victims);
        arena.release_brokers(&aim.brokers);
    }

    /// What becomes of the brokers that it has in its hands, if any, and for how long more they are
    /// away when it is healed: nothing, where it was held for its time.
    fn brokers(&self) -> Option<(How, Duration)> {
        let (how, away) = self.what.of_brokers().filter(|_| !self.case.aim.brokers.is_empty())?;
        let after = if self.what.lasts().is_some() { Duration::ZERO } else { away.get() };
        Some((how, after))
    }
}
