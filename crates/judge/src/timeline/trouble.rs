//! What befell a group, and until when: the cause of whatever began in between.

use std::collections::{BTreeMap, BTreeSet};

use super::{Interval, IntervalSet};
use crate::roster::Roster;
use tandem_facts::ids::{ClusterName, FaultId, GroupName, Incarnation, Life};
use tandem_facts::observation::{Fact, FaultClass, What};
use tandem_facts::time::Mono;

/// Why an interval began: the latest fault, restart or death of its group, or death of its broker,
/// that had begun by then, and after which the group had not been settled again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cause {
    /// A fault.
    Fault(FaultId),
    /// A member that was started again.
    Restart(Life),
    /// The broker of this cluster died, and nobody asked it to.
    Broker(ClusterName),
    /// This life ended, and no fault and no request to leave ended it.
    Death(Life),
    /// Nothing that is known.
    #[default]
    Nothing,
}

impl Cause {
    /// What it began after, as a sentence calls it.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        match self {
            Self::Fault(id) => Some(format!("fault {id}")),
            Self::Restart(life) => Some(format!("the start of {life}")),
            Self::Broker(cluster) => Some(format!("the death of the broker of cluster {cluster}")),
            Self::Death(life) => Some(format!("the death of {life}")),
            Self::Nothing => None,
        }
    }

    /// Of several groups' causes the joint one is a fault, else the death of a broker, else that of
    /// a member.
    fn weight(&self) -> u8 {
        match self {
            Self::Fault(_) => 4,
            Self::Broker(_) => 3,
            Self::Death(_) => 2,
            Self::Restart(_) => 1,
            Self::Nothing => 0,
        }
    }
}

/// What happened to one group.
#[derive(Debug, Clone, Default)]
struct History {
    /// By when they began; the later fact of two at one instant counts.
    troubles: BTreeMap<Mono, Cause>,
    faults: BTreeSet<FaultId>,
    /// Lives that a fault was asked of.
    struck: BTreeSet<Life>,
    /// Those of them that the fault was to end.
    ended: BTreeSet<Life>,
    settled: BTreeSet<Mono>,
    /// When the host was suspended.
    suspends: Vec<Interval>,
}

/// What happened to all groups.
#[derive(Debug, Clone)]
pub(super) struct Troubles {
    groups: BTreeMap<GroupName, History>,
    /// The groups on the brokers of each cluster.
    on: BTreeMap<ClusterName, BTreeSet<GroupName>>,
    /// Lives that left because they were asked to: their end is no accident.
    left: BTreeSet<Life>,
}

impl Troubles {
    pub(super) fn new(roster: &Roster) -> Self {
        Self {
            groups: roster.groups.keys().map(|name| (name.clone(), History::default())).collect(),
            on: roster.clusters.clone(),
            left: BTreeSet::new(),
        }
    }

    /// These lives leave because they are asked to; to be said before their deaths are.
    pub(super) fn leave(&mut self, lives: impl IntoIterator<Item = Life>) {
        self.left.extend(lives);
    }

    /// Takes a fact of the controller that concerns `group`, or all groups on a cluster, or every
    /// group.
    pub(super) fn observe(&mut self, fact: &Fact, group: Option<&GroupName>) {
        if let What::Settled { group } = &fact.what {
            if let Some(history) = self.groups.get_mut(group) {
                history.settled.insert(fact.t);
            }
            return;
        }
        if let What::Suspended { from, until } = &fact.what {
            let suspend = Interval::new(*from, *until);
            self.groups.values_mut().for_each(|history| history.suspends.push(suspend));
            return;
        }
        let (mut on, mut died) = (None, None);
        if let What::FaultAsked { cluster: Some(cluster), .. } = &fact.what {
            on = self.on.get(cluster);
        }
        if let What::ClusterDied { cluster } = &fact.what {
            (on, died) = (self.on.get(cluster), Some(Cause::Broker(cluster.clone())));
        }
        if let (What::Died { .. }, Some(life), Some(group)) = (&fact.what, &fact.life, group) {
            self.die(life, group, fact.t);
            return;
        }
        let concerned = |name: &GroupName| {
            group.is_none_or(|one| one == name) && on.is_none_or(|on| on.contains(name))
        };
        for (_, history) in self.groups.iter_mut().filter(|(name, _)| concerned(name)) {
            // What does nothing is the cause of nothing: a control trial must look undisturbed.
            if let What::FaultAsked { fault, class, .. } = &fact.what
                && *class != FaultClass::Nothing
                && history.faults.insert(fault.clone())
            {
                history.troubles.insert(fact.t, Cause::Fault(fault.clone()));
            }
            history.troubles.extend(died.clone().map(|cause| (fact.t, cause)));
            if let What::FaultAsked { class, .. } = &fact.what {
                history.struck.extend(fact.life.clone());
                history.ended.extend(fact.life.clone().filter(|_| class.ends_lives()));
            }
            // One that was struck before it began is a second process, and no restart: its start is
            // the fault.
            if let What::Started { .. } = &fact.what
                && let Some(life) = &fact.life
                && life.incarnation > Incarnation(1)
                && !history.struck.contains(life)
            {
                history.troubles.insert(fact.t, Cause::Restart(life.clone()));
            }
        }
    }

    /// A life is over, which is a cause of its own where nobody asked for it.
    fn die(&mut self, life: &Life, group: &GroupName, t: Mono) {
        if let Some(history) = self.groups.get_mut(group)
            && !history.ended.contains(life)
            && !self.left.contains(life)
        {
            history.troubles.insert(t, Cause::Death(life.clone()));
        }
    }

    /// Why what began at `at` in `group` began.
    pub(super) fn cause(&self, group: &GroupName, at: Mono) -> Cause {
        self.latest(group, at).map_or(Cause::Nothing, |(_, cause)| cause.clone())
    }

    /// The same for all groups together: a fault of any of them, else the death of a broker, else
    /// that of a member, else a restart; the latest.
    pub(super) fn joint_cause(&self, at: Mono) -> Cause {
        let mut causes: Vec<_> =
            self.groups.keys().filter_map(|name| self.latest(name, at)).collect();
        causes.sort_by_key(|(began, cause)| (cause.weight(), *began));
        causes.last().map_or(Cause::Nothing, |(_, cause)| (*cause).clone())
    }

    /// When a fault, a restart or a suspend of the host had disturbed `group` and it had not
    /// settled again. That a broker or a member died by accident is the cause of much, and excuses
    /// nothing.
    pub(super) fn disturbed(&self, group: &GroupName) -> IntervalSet {
        let Some(history) = self.groups.get(group) else { return IntervalSet::default() };
        let settled_after = |at: Mono| {
            let after = (std::ops::Bound::Excluded(at), std::ops::Bound::Unbounded);
            history.settled.range(after).copied().next().unwrap_or(super::life::END)
        };
        let span = |&began: &Mono| Interval::new(began, settled_after(began));
        let suspends = history.suspends.iter();
        let suspends = suspends.map(|one| Interval::new(one.from, settled_after(one.until)));
        let of_ours = |(_, cause): &(&Mono, &Cause)| match cause {
            Cause::Fault(_) | Cause::Restart(_) => true,
            Cause::Broker(_) | Cause::Death(_) | Cause::Nothing => false,
        };
        let troubles = history.troubles.iter().filter(of_ours).map(|(began, _)| span(began));
        troubles.chain(suspends).collect()
    }

    fn latest(&self, group: &GroupName, at: Mono) -> Option<(Mono, &Cause)> {
        let history = self.groups.get(group)?;
        let (&began, cause) = history.troubles.range(..=at).next_back()?;
        let settled = history.settled.range(..=at).next_back();
        settled.is_none_or(|&settled| settled <= began).then_some((began, cause))
    }
}
