//! What befell a group, and until when: the cause of whatever began in between.

use std::collections::{BTreeMap, BTreeSet};

use super::life::END;
use super::{Interval, IntervalSet};
use crate::roster::Roster;
use tandem_facts::ids::{ClusterName, FaultId, GroupName, Incarnation, Life};
use tandem_facts::observation::{Fact, FaultClass, What};
use tandem_facts::time::Mono;

/// Why an interval began: the latest fault, start, stop or death of its group, or death of its
/// broker, that had begun by then, and after which the group had not been settled again. Without
/// one, a broker that was lost at that instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cause {
    /// A fault.
    Fault(FaultId),
    /// A member that was started again.
    Restart(Life),
    /// A broker of this cluster died, stopped or did not answer, and no fault asked for it.
    Broker(ClusterName),
    /// This life ended, and no fault and no request to leave ended it.
    Death(Life),
    /// The process of this life was stopped, and no fault asked for it.
    Stop(Life),
    /// Members of the group were started for the first time.
    Start,
    /// Nothing that is known.
    #[default]
    Nothing,
}

impl Cause {
    /// What it began after, as a sentence calls it.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        match self {
            Self::Fault(id) => Some(format!("fault {id}")),
            Self::Restart(life) => Some(format!("the start of {life}")),
            Self::Broker(cluster) => Some(format!("the loss of a broker of cluster {cluster}")),
            Self::Death(life) => Some(format!("the death of {life}")),
            Self::Stop(life) => Some(format!("the stop of {life}")),
            Self::Start => Some("the start of the group".to_owned()),
            Self::Nothing => None,
        }
    }

    /// Of several groups' causes the joint one is a fault, else the loss of a broker, else the
    /// death, the stop or the start of a member.
    fn weight(&self) -> u8 {
        match self {
            Self::Fault(_) => 6,
            Self::Broker(_) => 5,
            Self::Death(_) => 4,
            Self::Stop(_) => 3,
            Self::Restart(_) => 2,
            Self::Start => 1,
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
    /// Those of them that the fault was to stop.
    paused: BTreeSet<Life>,
    /// When the kernel was asked, of whom, and what the next fact says of it was not so yet.
    not_yet: BTreeMap<Life, Mono>,
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
    /// When brokers were lost, by their cluster and name.
    lost: BTreeMap<(ClusterName, String), Vec<Interval>>,
}

impl Troubles {
    pub(super) fn new(roster: &Roster) -> Self {
        Self {
            groups: roster.groups.keys().map(|name| (name.clone(), History::default())).collect(),
            on: roster.clusters.clone(),
            left: BTreeSet::new(),
            lost: BTreeMap::new(),
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
        if let What::BrokerLost { cluster, broker } | What::BrokerBack { cluster, broker } =
            &fact.what
        {
            let spans = self.lost.entry((cluster.clone(), broker.clone())).or_default();
            if let Some(open) = spans.last_mut().filter(|span| span.until == END) {
                open.until = fact.t;
            }
            if let What::BrokerLost { .. } = &fact.what {
                spans.push(Interval::new(fact.t, END));
            }
            return;
        }
        let (mut on, mut died) = (None, None);
        if let What::FaultAsked { cluster: Some(cluster), .. } = &fact.what {
            on = self.on.get(cluster);
        }
        if let What::ClusterDied { cluster } = &fact.what {
            (on, died) = (self.on.get(cluster), Some(Cause::Broker(cluster.clone())));
        }
        if let (Some(life), Some(group)) = (&fact.life, group)
            && let Some(history) = self.groups.get_mut(group)
        {
            history.observe_process(life, fact, self.left.contains(life));
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
                let pauses = *class == FaultClass::Pauses;
                history.paused.extend(fact.life.clone().filter(|_| pauses));
            }
        }
    }

    /// Why what began at `at` in `group` began.
    pub(super) fn cause(&self, group: &GroupName, at: Mono) -> Cause {
        self.latest(group, at).map_or(Cause::Nothing, |(_, cause)| cause)
    }

    /// The same for all groups together: a fault of any of them, else the loss of a broker, else
    /// the death, the stop, the restart or the start of a member; the latest.
    pub(super) fn joint_cause(&self, at: Mono) -> Cause {
        let causes = self.groups.keys().filter_map(|name| self.latest(name, at));
        let weightiest = causes.max_by_key(|(began, cause)| (cause.weight(), *began));
        weightiest.map_or(Cause::Nothing, |(_, cause)| cause)
    }

    /// When a fault, a restart or a suspend of the host had disturbed `group` and it had not
    /// settled again. A broker that is lost and a member that dies or stops by accident are the
    /// cause of much, and excuse nothing.
    pub(super) fn disturbed(&self, group: &GroupName) -> IntervalSet {
        let Some(history) = self.groups.get(group) else { return IntervalSet::default() };
        let settled_after = |at: Mono| {
            let after = (std::ops::Bound::Excluded(at), std::ops::Bound::Unbounded);
            history.settled.range(after).copied().next().unwrap_or(END)
        };
        let span = |&began: &Mono| Interval::new(began, settled_after(began));
        let suspends = history.suspends.iter();
        let suspends = suspends.map(|one| Interval::new(one.from, settled_after(one.until)));
        let of_ours = |(_, cause): &(&Mono, &Cause)| match cause {
            Cause::Fault(_) | Cause::Restart(_) => true,
            Cause::Broker(_) | Cause::Death(_) | Cause::Stop(_) | Cause::Start | Cause::Nothing => {
                false
            }
        };
        let troubles = history.troubles.iter().filter(of_ours).map(|(began, _)| span(began));
        troubles.chain(suspends).collect()
    }

    /// The cause at `at`, and since when it was one.
    fn latest(&self, group: &GroupName, at: Mono) -> Option<(Mono, Cause)> {
        let history = self.groups.get(group)?;
        let trouble = history.unsettled(at).map(|(began, cause)| (began, cause.clone()));
        trouble.or_else(|| self.broker_lost(group, at))
    }

    /// The broker of `group` that was lost at `at`; of several the last to go.
    fn broker_lost(&self, group: &GroupName, at: Mono) -> Option<(Mono, Cause)> {
        let here = |cluster| self.on.get(cluster).is_some_and(|on| on.contains(group));
        let lost = self.lost.iter().filter(|((cluster, _), _)| here(cluster));
        let since = |((cluster, _), spans): (&(ClusterName, String), &Vec<Interval>)| {
            let span = spans.iter().rev().find(|span| span.contains(at))?;
            Some((span.from, Cause::Broker(cluster.clone())))
        };
        lost.filter_map(since).max_by_key(|(since, _)| *since)
    }
}

impl History {
    /// Takes what the controller says of the process of a life; whether that `left` by request.
    fn observe_process(&mut self, life: &Life, fact: &Fact, left: bool) {
        let looked = self.not_yet.remove(life).unwrap_or(fact.t).min(fact.t);
        if fact.what == What::NotYet {
            self.not_yet.insert(life.clone(), fact.t);
        } else if fact.what == What::Stopped && !self.paused.contains(life) {
            self.troubles.insert(looked, Cause::Stop(life.clone()));
        } else if let What::Died { .. } = &fact.what
            && !left
            && !self.ended.contains(life)
        {
            self.troubles.insert(fact.t, Cause::Death(life.clone()));
        } else if let What::Started { .. } = &fact.what
            && !self.struck.contains(life)
        {
            // One that was struck before it began is a second process: its start is the fault.
            let again = life.incarnation > Incarnation(1);
            let cause = if again { Cause::Restart(life.clone()) } else { Cause::Start };
            self.troubles.insert(fact.t, cause);
        }
    }

    /// The latest trouble at `at`, unless the group was settled after it.
    fn unsettled(&self, at: Mono) -> Option<(Mono, &Cause)> {
        let (&began, cause) = self.troubles.range(..=at).next_back()?;
        let settled = self.settled.range(..=at).next_back();
        settled.is_none_or(|&settled| settled <= began).then_some((began, cause))
    }
}
