//! Everything a fault works on: the fleet, what is known of it, and when to stop.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio_util::sync::CancellationToken;

use super::Lookout;
use crate::controller::{Broker, Clusters, Fleet, Gate, Outside, Phase, Recorder, Slot};
use crate::guard::Guard;
use crate::ids::{GroupName, Life, MemberId};
use crate::observation::RunEvent;
use crate::time::Mono;
use crate::topology::{Allowance, Plan};
use crate::verdict::Condition;

/// How often a stop condition is evaluated.
const LOOK: Duration = Duration::from_millis(20);

/// What a fault may reach.
pub struct Arena<'a> {
    /// The planned topology.
    pub plan: &'a Plan,
    /// The clusters, and the edges to them.
    pub clusters: &'a Clusters,
    /// The members.
    pub fleet: &'a Fleet,
    /// The members that Tandem did not start.
    pub outside: &'a Outside,
    /// The journal of the run, and the live view of it.
    pub record: &'a Recorder,
    /// Records where a trial begins and ends, for the journal by which the experiment is judged.
    pub mark: &'a dyn Fn(RunEvent) -> Mono,
    /// Waits until every group has settled.
    pub gate: &'a Gate,
    /// Undoes faults if the run cannot.
    pub guard: &'a Guard,
    /// The limits on what faults may hit at once.
    pub limits: Allowance,
    /// The condition that ends the run early.
    pub stop_when: Option<&'a Condition>,
    /// Cancelled when the run must end; faults are healed first.
    pub stop: &'a CancellationToken,
    /// The limit that ended the run, if one did.
    pub exceeded: &'a OnceLock<String>,
    /// The members reserved by a fault, from their choice to the heal.
    pub struck: Mutex<BTreeSet<MemberId>>,
    /// The addresses of the brokers reserved by a fault.
    pub struck_brokers: Mutex<BTreeSet<String>>,
}

/// A victim, and the life of it that the fault hits.
#[derive(Clone)]
pub(super) struct Victim {
    pub slot: Arc<Slot>,
    pub life: Life,
}

/// Why a fault is not in force, or not healed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// The victim is not running.
    #[error("{0} is not running")]
    Absent(MemberId),
    /// Members connect to brokers directly, so there is no edge to inject into.
    #[error("there is no edge between members and brokers")]
    NoEdges,
    /// Two faults of one victim would undo each other.
    #[error("{0} is struck by another fault already")]
    Taken(String),
    /// The victim left the injected state before the heal.
    #[error("{life} did not stay {state}")]
    Slipped {
        /// The victim.
        life: Life,
        /// The state it should have stayed in.
        state: &'static str,
    },
    /// The kernel refused the signal.
    #[error("{life} could not be signalled: {why}")]
    Signal {
        /// The victim.
        life: Life,
        /// The kernel's error.
        why: String,
    },
    /// A broker was not killed, or not started again.
    #[error("the broker at {address}: {why}")]
    Broker {
        /// Where it listens.
        address: String,
        /// What went wrong.
        why: String,
    },
    /// The second process was not started, or does not end.
    #[error("{life}, a second process: {why}")]
    Twin {
        /// Its life.
        life: Life,
        /// What went wrong.
        why: String,
    },
    /// The fault's own implementation failed.
    #[error("{0}")]
    Failed(String),
    /// A process did not end in time, or its end was not seen.
    #[error("{life} was not {state} within {within:?}: {condition}")]
    Outlived {
        /// The victim.
        life: Life,
        /// The expected state.
        state: &'static str,
        /// How long the fault waited for it.
        within: Duration,
        /// What the kernel says of its process.
        condition: String,
    },
    /// The effect of the fault was not observed in time.
    #[error("{life} was not {state} within {within:?}")]
    Late {
        /// The victim.
        life: Life,
        /// The expected state.
        state: &'static str,
        /// How long the fault waited for it.
        within: Duration,
    },
}

impl Arena<'_> {
    /// Reserves the victims before the fault touches any of them: all, or none.
    pub(super) fn take(&self, members: &[MemberId]) -> Result<Vec<Victim>, FaultError> {
        let mut struck = self.struck();
        let victim = |member: &MemberId| {
            if struck.contains(member) {
                return Err(FaultError::Taken(member.to_string()));
            }
            let slot = self.slot(member).filter(|slot| slot.is_taken());
            let slot = slot.ok_or_else(|| FaultError::Absent(member.clone()))?;
            Ok(Victim { life: slot.life(), slot })
        };
        let victims: Vec<Victim> = members.iter().map(victim).collect::<Result<_, _>>()?;
        struck.extend(members.iter().cloned());
        Ok(victims)
    }

    fn slot(&self, member: &MemberId) -> Option<Arc<Slot>> {
        self.fleet.slot(member).or_else(|| self.outside.slot(member))
    }

    /// Reserves brokers: all, or none.
    pub(super) fn take_brokers(&self, brokers: &[Broker]) -> Result<(), FaultError> {
        let mut struck = self.struck_brokers();
        if let Some(taken) = brokers.iter().find(|broker| struck.contains(&broker.address)) {
            return Err(FaultError::Taken(format!("the broker at {}", taken.address)));
        }
        struck.extend(brokers.iter().map(|broker| broker.address.clone()));
        Ok(())
    }

    /// Releases them.
    pub(super) fn release_brokers(&self, brokers: &[Broker]) {
        let mut struck = self.struck_brokers();
        for broker in brokers {
            struck.remove(&broker.address);
        }
    }

    fn struck_brokers(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.struck_brokers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases them.
    pub(super) fn release(&self, victims: &[Victim]) {
        let mut struck = self.struck();
        for victim in victims {
            struck.remove(&victim.life.member);
        }
    }

    fn struck(&self) -> MutexGuard<'_, BTreeSet<MemberId>> {
        self.struck.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the limits allow the reserved victims in addition to the members that are down
    /// already. `beside` are groups that only lose their broker.
    pub(super) fn allows(&self, beside: &BTreeSet<GroupName>) -> Result<(), String> {
        let struck = self.struck();
        let mut hit = 0;
        for (name, group) in &self.plan.groups {
            let down = group.members.iter().filter(|member| {
                let running = |slot: Arc<Slot>| slot.state().phase == Phase::Running;
                struck.contains(*member) || !self.slot(member).is_some_and(running)
            });
            let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            let (down, all) = (number(down.count()), number(group.members.len()));
            hit += u32::from(down > 0 || beside.contains(name));
            if let Some(share) = self.limits.members
                && down > share.at_most(all)
            {
                return Err(format!(
                    "{down} members of {name} would be down: the limit is {share}"
                ));
            }
        }
        match self.limits.groups {
            Some(most) if hit > most => {
                Err(format!("{hit} groups would be hit at once: the limit is {most}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Stops the run when its stop condition holds. Never returns: running faults see the stop and
    /// heal.
    pub(super) async fn look_out(&self) -> Infallible {
        let mut lookout = self.stop_when.map(|condition| Lookout::new(condition, self.plan));
        while let Some(watching) = &mut lookout {
            let found = self.record.look(|live| watching.look(Mono::now(), live));
            if let Some(why) = found {
                self.abort(why);
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        std::future::pending().await
    }

    /// Stops the run because a limit would be exceeded.
    pub(super) fn abort(&self, why: String) {
        // The first reason is the one that counts.
        self.exceeded.set(why).ok();
        self.stop.cancel();
    }

    /// Sends a signal to a victim; does nothing if the victim has died meanwhile.
    pub(super) fn signal(victim: &Victim, signal: Signal) -> Result<(), FaultError> {
        victim.slot.signal(signal).map_err(|error| {
            let (life, why) = (victim.life.clone(), error.to_string());
            FaultError::Signal { life, why }
        })
    }
}
