//! Fault windows: from just before a fault strikes its first victim until all its victims are
//! healed, or its trial ends.

use std::collections::BTreeMap;
use std::fmt;

use tandem_facts::ids::{ClusterName, FaultId, Life, MemberId};
use tandem_facts::observation::{Fact, FaultClass, RunEvent, What};
use tandem_facts::time::Mono;

/// One fault in force, or about to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultWindow {
    /// Its kind, as in experiments.
    pub kind: String,
    /// Its effect on its victims.
    pub class: FaultClass,
    /// Just before it struck its first victim.
    pub since: Mono,
    /// All its victims, in the order in which it struck them.
    pub victims: Vec<Victim>,
    /// The reason why it failed, if it did.
    pub failed: Option<String>,
}

/// A victim of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victim {
    /// The target.
    pub target: Target,
    /// Whether the fault is healed.
    pub healed: bool,
}

/// The possible targets of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A life of a member.
    Member(Life),
    /// A broker.
    Broker {
        /// Its cluster, if known.
        cluster: Option<ClusterName>,
        /// Its address.
        address: String,
    },
    /// Neither a member nor a broker.
    NoVictim,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(life) => life.fmt(f),
            Self::Broker { address, .. } => address.fmt(f),
            Self::NoVictim => f.write_str("no victim"),
        }
    }
}

impl FaultWindow {
    /// The clusters of the brokers that it affects; `None` for an unknown cluster.
    pub(super) fn clusters(&self) -> impl Iterator<Item = Option<&ClusterName>> {
        let held = self.victims.iter().filter(|victim| !victim.healed);
        held.filter_map(|victim| match &victim.target {
            Target::Broker { cluster, .. } => Some(cluster.as_ref()),
            Target::Member(_) | Target::NoVictim => None,
        })
    }

    /// Whether it affects the traffic between this member, in any life, and its brokers.
    pub(super) fn holds(&self, member: &MemberId) -> bool {
        self.class.holds() && self.victims.iter().any(|one| !one.healed && one.is(member))
    }

    /// Marks the member, or all brokers, as healed: brokers are healed together.
    fn heal(&mut self, member: Option<&MemberId>) {
        let mut held = self.victims.iter_mut().filter(|victim| !victim.healed);
        match member {
            Some(member) => {
                held.find(|victim| victim.is(member)).into_iter().for_each(|one| one.healed = true);
            }
            None => held
                .filter(|victim| !matches!(victim.target, Target::Member(_)))
                .for_each(|victim| victim.healed = true),
        }
    }
}

impl Victim {
    fn is(&self, member: &MemberId) -> bool {
        matches!(&self.target, Target::Member(life) if life.member == *member)
    }
}

/// The open windows.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultWindows(pub(super) BTreeMap<FaultId, FaultWindow>);

impl FaultWindows {
    /// Takes a fact of the controller. Returns the windows that it closes.
    pub(super) fn observe(&mut self, fact: &Fact) -> Vec<(FaultId, FaultWindow)> {
        if let What::Run(RunEvent::FaultAsked { fault, kind, class, broker, cluster }) = &fact.what
        {
            let window = self.0.entry(fault.clone()).or_insert_with(|| FaultWindow {
                kind: kind.clone(),
                class: *class,
                since: fact.t,
                victims: Vec::new(),
                failed: None,
            });
            let target = match (&fact.life, broker) {
                (Some(life), _) => Target::Member(life.clone()),
                (None, Some(address)) => {
                    Target::Broker { cluster: cluster.clone(), address: address.clone() }
                }
                (None, None) => Target::NoVictim,
            };
            window.victims.push(Victim { target, healed: false });
        } else if let What::Run(RunEvent::FaultFailed { fault, why, .. }) = &fact.what {
            if let Some(window) = self.0.get_mut(fault) {
                window.failed = Some(why.clone());
            }
        } else if let What::Run(RunEvent::FaultHealed { fault }) = &fact.what {
            if let Some(window) = self.0.get_mut(fault) {
                window.heal(fact.life.as_ref().map(|life| &life.member));
            }
            if self.0.get(fault).is_some_and(|one| one.victims.iter().all(|it| it.healed)) {
                return self.0.remove_entry(fault).into_iter().collect();
            }
        } else if let What::Run(
            RunEvent::TrialBegan { .. } | RunEvent::TrialEnded { .. } | RunEvent::Ended { .. },
        ) = &fact.what
        {
            return std::mem::take(&mut self.0).into_iter().collect();
        }
        Vec::new()
    }

    /// A fault that affects the traffic between a member and its brokers, if there is one.
    pub(super) fn holding(&self, member: &MemberId) -> Option<&FaultId> {
        self.0.iter().find(|(_, window)| window.holds(member)).map(|(fault, _)| fault)
    }
}
