//! The troubles of a group and when they were over: the cause of everything that begins in between.

mod leaves;
mod recent;
mod service;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::life::END;
use super::{Cause, Interval, IntervalSet};
use crate::roster::Roster;
use leaves::Leaves;
use service::{LastTicks, SILENT_MAX};
use tandem_facts::ids::{ClusterName, FaultId, GroupName, Incarnation, Life};
use tandem_facts::observation::{Fact, FaultClass, MemberEvent, RunEvent, What};
use tandem_facts::time::Mono;

/// How long a broker or a connection that is back may still be a cause: members join again.
pub const RETURN: Duration = Duration::from_secs(15);

/// The troubles of one group.
#[derive(Debug, Clone, Default)]
struct History {
    /// The troubles by start; of two at one instant, the later fact counts.
    troubles: BTreeMap<Mono, Cause>,
    faults: BTreeSet<FaultId>,
    /// Lives that are victims of a fault.
    struck: BTreeSet<Life>,
    /// Those of them that the fault ends, and when it was first asked for.
    ended: BTreeMap<Life, Mono>,
    /// Those of them that the fault stops.
    paused: BTreeSet<Life>,
    /// For each life, when the controller last asked the kernel and the change in the life's next
    /// fact had not happened yet.
    not_yet: BTreeMap<Life, Mono>,
    /// When lives died.
    died: BTreeMap<Life, Mono>,
    /// The same, by time.
    deaths: BTreeMap<Mono, BTreeSet<Life>>,
    leaves: Leaves,
    ticks: LastTicks,
    settled: BTreeSet<Mono>,
    /// When the host was suspended.
    suspends: Vec<Interval>,
}

/// The troubles of all groups.
#[derive(Debug, Clone)]
pub(crate) struct Troubles {
    groups: BTreeMap<GroupName, History>,
    /// The groups on each cluster.
    on: BTreeMap<ClusterName, BTreeSet<GroupName>>,
    /// When brokers were lost, by cluster and name.
    lost: BTreeMap<(ClusterName, String), Vec<Interval>>,
    /// When lives did not reach their brokers, by group.
    unconnected: BTreeMap<GroupName, BTreeMap<Life, Vec<Interval>>>,
}

impl Troubles {
    pub(crate) fn new(roster: &Roster) -> Self {
        Self {
            groups: roster.groups.keys().map(|name| (name.clone(), History::default())).collect(),
            on: roster.clusters.clone(),
            lost: BTreeMap::new(),
            unconnected: BTreeMap::new(),
        }
    }

    /// Takes a fact of the controller that concerns `group`, or all groups on a cluster, or all
    /// groups.
    pub(crate) fn observe(&mut self, fact: &Fact, group: Option<&GroupName>) {
        if let What::Run(RunEvent::Settled { group }) = &fact.what {
            if let Some(history) = self.groups.get_mut(group) {
                history.settled.insert(fact.t);
            }
            return;
        }
        if let What::Run(RunEvent::Suspended { from, until }) = &fact.what {
            let suspend = Interval::new(*from, *until);
            self.groups.values_mut().for_each(|history| history.suspends.push(suspend));
            return;
        }
        if let What::Run(
            RunEvent::BrokerLost { cluster, broker } | RunEvent::BrokerBack { cluster, broker },
        ) = &fact.what
        {
            let spans = self.lost.entry((cluster.clone(), broker.clone())).or_default();
            turn(spans, fact.t, matches!(fact.what, What::Run(RunEvent::BrokerLost { .. })));
            return;
        }
        let (mut on, mut died) = (None, None);
        if let What::Run(RunEvent::FaultAsked { cluster: Some(cluster), .. }) = &fact.what {
            on = self.on.get(cluster);
        }
        if let What::Run(RunEvent::ClusterDied { cluster }) = &fact.what {
            (on, died) = (self.on.get(cluster), Some(Cause::Broker(cluster.clone())));
        }
        if let (Some(life), Some(group)) = (&fact.life, group)
            && let Some(history) = self.groups.get_mut(group)
        {
            history.observe_process(life, fact);
        }
        let concerned = |name: &GroupName| {
            group.is_none_or(|one| one == name) && on.is_none_or(|on| on.contains(name))
        };
        for (_, history) in self.groups.iter_mut().filter(|(name, _)| concerned(name)) {
            // A fault without an effect is no cause: a control trial must look undisturbed.
            if let What::Run(RunEvent::FaultAsked { fault, class, .. }) = &fact.what
                && *class != FaultClass::Nothing
                && history.faults.insert(fault.clone())
            {
                history.troubles.insert(fact.t, Cause::Fault(fault.clone()));
            }
            history.troubles.extend(died.clone().map(|cause| (fact.t, cause)));
            if let What::Run(RunEvent::FaultAsked { class, .. }) = &fact.what {
                history.struck.extend(fact.life.clone());
                if let Some(life) = fact.life.as_ref().filter(|_| class.ends_lives()) {
                    let asked = history.ended.entry(life.clone()).or_insert(fact.t);
                    *asked = fact.t.min(*asked);
                }
                let pauses = *class == FaultClass::Pauses;
                history.paused.extend(fact.life.clone().filter(|_| pauses));
            }
        }
    }

    /// Takes a fact that a life of `group` wrote, in the order of `seq`.
    pub(crate) fn hear(&mut self, life: &Life, group: &GroupName, fact: &Fact) {
        let begins = matches!(fact.what, What::Member(MemberEvent::Unconnected { .. }));
        if begins || fact.what == What::Member(MemberEvent::Connected) {
            let lives = self.unconnected.entry(group.clone()).or_default();
            turn(lives.entry(life.clone()).or_default(), fact.t, begins);
        }
        if let Some(history) = self.groups.get_mut(group) {
            history.leaves.hear(life, fact);
            history.ticks.hear(life, &fact.what);
        }
    }

    /// The cause of an interval that began at `at` in `group`.
    pub(crate) fn cause(&self, group: &GroupName, at: Mono) -> Cause {
        self.latest(group, at).map_or(Cause::Nothing, |(_, cause)| cause)
    }

    /// The same for all groups together: a fault in any of them, else the loss of a broker, else
    /// the death, stop, leave, restart or start of a member; of several the latest.
    pub(crate) fn joint_cause(&self, at: Mono) -> Cause {
        let causes = self.groups.keys().filter_map(|name| self.latest(name, at));
        let weightiest = causes.max_by_key(|(began, cause)| (cause.weight(), *began));
        weightiest.map_or(Cause::Nothing, |(_, cause)| cause)
    }

    /// When a fault, a restart or a suspend of the host had disturbed `group` and it had not
    /// settled again. A lost broker, and a member that dies or stops by accident, are causes but
    /// excuse nothing.
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
            Cause::Broker(_)
            | Cause::Death(_)
            | Cause::Stop(_)
            | Cause::Connection(_)
            | Cause::Leave(_)
            | Cause::Start
            | Cause::Nothing => false,
        };
        let troubles = history.troubles.iter().filter(of_ours).map(|(began, _)| span(began));
        troubles.chain(suspends).collect()
    }

    /// The cause at `at`, and when it began.
    fn latest(&self, group: &GroupName, at: Mono) -> Option<(Mono, Cause)> {
        let history = self.groups.get(group)?;
        let known = history.unsettled(at).or_else(|| self.broker_lost(group, history, at));
        known.or_else(|| self.unconnected(group, history, at))
    }

    /// The broker of `group` that was lost at `at`; of several the last one lost.
    fn broker_lost(&self, group: &GroupName, history: &History, at: Mono) -> Option<(Mono, Cause)> {
        let here = |cluster| self.on.get(cluster).is_some_and(|on| on.contains(group));
        let lost = self.lost.iter().filter(|((cluster, _), _)| here(cluster));
        let since = |((cluster, _), spans): (&(ClusterName, String), &Vec<Interval>)| {
            let span = history.felt(spans, at)?;
            Some((span.from, Cause::Broker(cluster.clone())))
        };
        lost.filter_map(since).max_by_key(|(since, _)| *since)
    }

    /// The life of `group` that did not reach its brokers at `at`; of several the last one.
    fn unconnected(&self, group: &GroupName, history: &History, at: Mono) -> Option<(Mono, Cause)> {
        let lives = self.unconnected.get(group)?.iter();
        // Its death is a cause of its own, if it is one.
        let lives = lives.map(|(life, spans)| {
            let died = history.died.get(life).copied().unwrap_or(END);
            let until = |span: &Interval| Interval::new(span.from, span.until.min(died));
            (life, spans.iter().filter(|span| span.from < died).map(until).collect::<Vec<_>>())
        });
        let since = lives.filter_map(|(life, spans)| Some((history.felt(&spans, at)?.from, life)));
        let (since, life) = since.max()?;
        Some((since, Cause::Connection(life.clone())))
    }
}

/// Something is lost at `at`, or is back.
fn turn(spans: &mut Vec<Interval>, at: Mono, is_lost: bool) {
    if let Some(open) = spans.last_mut().filter(|span| span.until == END) {
        open.until = at;
    }
    if is_lost {
        spans.push(Interval::new(at, END));
    }
}

impl History {
    /// The latest of these times at which something was away that the group still feels at `at`.
    fn felt<'a>(&self, spans: &'a [Interval], at: Mono) -> Option<&'a Interval> {
        let settled =
            |since: Mono| self.settled.range(..=at).next_back().is_some_and(|it| *it > since);
        let is_felt = |span: &&Interval| {
            let back = span.until <= at;
            span.from <= at && (!back || at < span.until + RETURN && !settled(span.until))
        };
        spans.iter().rev().find(is_felt)
    }

    /// Takes the controller's fact about the process of a life.
    fn observe_process(&mut self, life: &Life, fact: &Fact) {
        if let What::Run(RunEvent::Died { .. }) = &fact.what {
            let died = *self.died.entry(life.clone()).or_insert(fact.t);
            self.deaths.entry(died).or_default().insert(life.clone());
        }
        let looked = self.not_yet.remove(life).unwrap_or(fact.t).min(fact.t);
        if fact.what == What::Run(RunEvent::NotYet) {
            self.not_yet.insert(life.clone(), fact.t);
        } else if fact.what == What::Run(RunEvent::Stopped) && !self.paused.contains(life) {
            self.troubles.insert(looked, Cause::Stop(life.clone()));
        } else if let What::Run(RunEvent::Died { .. }) = &fact.what
            && !self.ended.contains_key(life)
        {
            self.troubles.insert(fact.t, Cause::Death(life.clone()));
        } else if let What::Run(RunEvent::Started { .. }) = &fact.what
            && !self.struck.contains(life)
        {
            // A life that was a victim before it started is a second process, whose start is the
            // fault.
            let again = life.incarnation > Incarnation(1);
            let cause = if again { Cause::Restart(life.clone()) } else { Cause::Start };
            self.troubles.insert(fact.t, cause);
        }
    }

    /// The latest trouble at `at`. The end of a life that has left is none.
    fn latest(&self, at: Mono) -> Option<(Mono, Cause)> {
        let expected =
            |cause: &Cause| matches!(cause, Cause::Death(life) if self.leaves.has_left(life));
        let mut troubles = self.troubles.range(..=at).rev();
        let other = troubles.find(|(_, cause)| !expected(cause));
        let other = other.map(|(began, cause)| (*began, cause.clone()));
        let left = self.leaves.latest(at, |began, life| self.is_asked(began, life));
        // Of two at one instant a leave counts least.
        match (other, left) {
            (Some((began, cause)), Some((gone, _))) if began >= gone => Some((began, cause)),
            (_, Some((gone, life))) => Some((gone, Cause::Leave(life.clone()))),
            (other, None) => other,
        }
    }

    /// Whether a fault that ends the life was asked for by then.
    fn is_asked(&self, by: Mono, life: &Life) -> bool {
        self.ended.get(life).is_some_and(|asked| *asked <= by)
    }

    /// The latest trouble at `at`, unless the group settled after it. The death of a life that
    /// serves nothing more from that very instant on counts less than all but a leave.
    fn unsettled(&self, at: Mono) -> Option<(Mono, Cause)> {
        let settled = self.settled.range(..=at).next_back();
        let latest = self.latest(at);
        let begins_now =
            |(began, cause): &(Mono, Cause)| *began == at && !matches!(cause, Cause::Leave(_));
        if !latest.as_ref().is_some_and(begins_now)
            && let Some(life) = self.silent_since(at)
        {
            return Some((at, Cause::Death(life.clone())));
        }
        latest.filter(|(began, _)| settled.is_none_or(|settled| settled <= began))
    }

    /// The life that served nothing more since `at`, and then died without a fault: what begins
    /// then has that cause, although no fact of that instant says that it would die.
    fn silent_since(&self, at: Mono) -> Option<&Life> {
        // The death itself is a trouble from its own instant on.
        let near = self.deaths.range(at..).take_while(|(died, _)| died.since(at) <= SILENT_MAX);
        let near = near.flat_map(|(died, lives)| lives.iter().map(|life| (*died, life)));
        let mut silent = near.filter(|(died, life)| {
            let by_itself = !self.is_asked(*died, life) && !self.leaves.has_left(life);
            by_itself && self.ticks.silent_since(life, *died) == Some(at)
        });
        silent.next().map(|(_, life)| life)
    }
}
