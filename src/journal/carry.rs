//! The state that a reader of the facts after an instant needs: the living and the stopped members,
//! and their claims. Each later file of a journal begins with it, and so does each window of the
//! traces.
//!
//! The state is written as facts. The controller's keep their stamps and numbers. A member's get
//! the numbers of its latest facts, its claims as one `renewed`. So a reader notices facts that are
//! missing before the instant, and finds none missing after it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::ids::{ClusterName, FaultId, GroupName, Life, MemberId, PartitionId, Term};
use crate::observation::{Fact, Horizon, MemberEvent, RunEvent, What};
use crate::time::Mono;
use crate::timeline::{Going, GoingStep, RETURN};

/// The state after all facts so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carry {
    /// The number of the controller's latest fact.
    own: u64,
    /// The trial that is under way.
    judged: Option<RunEvent>,
    /// The addresses of brokers, and the process of the edges.
    started: BTreeMap<Option<ClusterName>, Fact>,
    /// The latest death of each broker: the cause of gaps that may follow.
    died: BTreeMap<ClusterName, Fact>,
    /// The same of each member that was not asked to leave.
    fallen: BTreeMap<MemberId, Fact>,
    /// Brokers that are or were lost, and that they are back.
    lost: BTreeMap<(ClusterName, String), Away>,
    settled: BTreeMap<GroupName, Fact>,
    /// The facts of each fault that is under way.
    faults: BTreeMap<FaultId, Vec<Fact>>,
    lives: BTreeMap<MemberId, LastLife>,
}

/// Something that was lost, and is back if there is a second fact. It is the cause of gaps that
/// may follow for a while.
type Away = (Fact, Option<Fact>);

/// Both facts, as long as they explain anything.
fn felt((lost, back): &Away, now: Mono) -> impl Iterator<Item = Fact> {
    let felt = back.as_ref().is_none_or(|back| now < back.t + RETURN);
    [Some(lost.clone()), back.clone()].into_iter().flatten().filter(move |_| felt)
}

/// One member: its latest life.
#[derive(Debug, Clone)]
struct LastLife {
    life: Life,
    /// It has ended, so nothing of it is carried.
    dead: bool,
    /// It leaves, and has not come back.
    left: bool,
    /// Its latest leave, after what it gave back and the end of the first claim that it ended: the
    /// cause of gaps that may follow.
    leave: Vec<Fact>,
    /// The beginning of a leave, if it becomes one.
    going: Vec<Fact>,
    way: Going,
    /// Its death, if it had left.
    died: Option<Fact>,
    /// `None` if that fact was lost.
    started: Option<Fact>,
    /// The latest stop and its end, each after its `not_yet`.
    stop: Vec<Fact>,
    not_yet: Option<Fact>,
    /// What its witness has last refused.
    orders: Option<Fact>,
    assigned: Option<Fact>,
    ticks: Option<Fact>,
    /// When it last did not reach its brokers.
    unconnected: Option<Away>,
    /// The number and the stamp of its latest fact.
    last: Option<(u64, Mono)>,
    /// The ends of the open claims, as last reported. If the end of one was lost, a later claim on
    /// the same partition may stand beside it.
    claims: BTreeMap<(PartitionId, Term), Mono>,
}

impl Carry {
    /// Takes a fact into account.
    pub(crate) fn observe(&mut self, fact: &Fact) {
        match &fact.what {
            What::Member(event) => self.observe_member(fact, event),
            What::Run(event) => {
                self.own = self.own.max(fact.seq);
                self.observe_run(fact, event);
            }
        }
    }

    /// All of it, as the facts of a file that begins at `now`.
    pub(crate) fn facts(&self, now: Mono) -> Vec<Fact> {
        let mut facts: Vec<Fact> = self.started.values().cloned().collect();
        // A fault that has ended a life comes before its death.
        let (dead, others): (Vec<_>, Vec<_>) =
            self.faults.values().flatten().cloned().partition(|fact| self.has_fallen(fact));
        facts.extend(dead);
        facts.extend(self.died.values().chain(self.fallen.values()).cloned());
        facts.extend(self.lost.values().flat_map(|away| felt(away, now)));
        facts.extend(self.settled.values().cloned());
        for known in self.lives.values().filter(|known| known.dead) {
            facts.extend(known.last_words());
            facts.extend(known.died.clone());
        }
        let living = || self.lives.values().filter(|known| !known.dead);
        facts.extend(living().filter_map(|known| known.started.clone()));
        let seen = living().flat_map(|known| known.orders.iter().chain(&known.stop));
        let mut seen: Vec<Fact> = others.into_iter().chain(seen.cloned()).collect();
        seen.sort_by_key(|fact| fact.seq);
        facts.extend(seen);
        facts.extend(living().flat_map(|known| known.facts(now)));
        facts.extend(self.judged.clone().map(|event| self.own_fact(now, event)));
        facts
    }

    /// Whether this life is known to be over. Facts of it may still arrive.
    pub(crate) fn has_outlived(&self, life: &Life) -> bool {
        let known = self.lives.get(&life.member);
        known.is_some_and(|known| match known.life.incarnation.cmp(&life.incarnation) {
            Ordering::Less => false,
            Ordering::Equal => known.dead,
            Ordering::Greater => true,
        })
    }

    /// Whether the fact is of a life that has ended since.
    fn has_fallen(&self, fact: &Fact) -> bool {
        fact.life.as_ref().is_some_and(|life| self.has_outlived(life))
    }

    /// Keeps the facts of a fault until it is healed on all its victims, or has failed.
    fn observe_fault(&mut self, fact: &Fact, event: &RunEvent) {
        if let RunEvent::FaultAsked { fault, .. } | RunEvent::FaultInForce { fault } = event {
            self.faults.entry(fault.clone()).or_default().push(fact.clone());
        } else if let RunEvent::FaultHealed { fault } = event
            && let Some(known) = self.faults.get_mut(fault)
        {
            known.push(fact.clone());
            let healed =
                |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::FaultHealed { .. }));
            let asked = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::FaultAsked { .. }));
            if known.iter().filter(healed).count() >= known.iter().filter(asked).count() {
                self.faults.remove(fault);
            }
        } else if let RunEvent::FaultFailed { fault, .. } = event {
            self.faults.remove(fault);
        }
    }

    /// The fact that closes a file that ends at `now`: its trial ends here.
    pub(super) fn close(&self, now: Mono) -> Option<Fact> {
        let Some(RunEvent::TrialBegan { trial }) = self.judged else { return None };
        Some(self.own_fact(now, RunEvent::TrialEnded { trial, recovered: None }))
    }

    /// A fact with the number of the one before, so that none is missing without it.
    fn own_fact(&self, t: Mono, event: RunEvent) -> Fact {
        Fact { t, seq: self.own, life: None, what: What::Run(event) }
    }

    fn observe_run(&mut self, fact: &Fact, event: &RunEvent) {
        self.observe_fault(fact, event);
        match (event, &fact.life) {
            (RunEvent::Started { .. }, Some(life)) => {
                // The member's first facts may arrive earlier, even before the start of the life
                // before it.
                if let Some(known) = self.known(life) {
                    known.started = Some(fact.clone());
                } else if self.is_next(life) {
                    let known = LastLife::new(life.clone(), Some(fact.clone()));
                    self.lives.insert(life.member.clone(), known);
                }
            }
            (RunEvent::Died { .. }, Some(life)) => {
                let Some(known) = self.known(life) else { return };
                known.dead = true;
                if known.left {
                    known.died = Some(fact.clone());
                } else {
                    self.fallen.insert(life.member.clone(), fact.clone());
                }
            }
            (RunEvent::NotYet | RunEvent::Stopped | RunEvent::Continued, Some(life)) => {
                if let Some(known) = self.known(life) {
                    known.halt(fact);
                }
            }
            (RunEvent::Orders { .. }, Some(life)) => {
                if let Some(known) = self.known(life) {
                    known.orders = Some(fact.clone());
                }
            }
            (RunEvent::ClusterStarted { cluster, .. }, _) => {
                self.started.insert(Some(cluster.clone()), fact.clone());
            }
            (RunEvent::ClusterDied { cluster }, _) => {
                self.started.remove(&Some(cluster.clone()));
                self.died.insert(cluster.clone(), fact.clone());
            }
            (RunEvent::BrokerLost { cluster, broker }, _) => {
                self.lost.insert((cluster.clone(), broker.clone()), (fact.clone(), None));
            }
            (RunEvent::BrokerBack { cluster, broker }, _) => {
                let lost = self.lost.get_mut(&(cluster.clone(), broker.clone()));
                if let Some((_, back)) = lost {
                    back.get_or_insert(fact.clone());
                }
            }
            (RunEvent::EdgesStarted { .. }, _) => drop(self.started.insert(None, fact.clone())),
            (RunEvent::Settled { group }, _) => {
                self.settled.insert(group.clone(), fact.clone());
            }
            (RunEvent::TrialBegan { .. }, _) => self.judged = Some(event.clone()),
            (RunEvent::TrialEnded { .. }, _) => self.judged = None,
            (_, _) => {}
        }
    }

    /// Whether no life of this member is known that is as late as this one.
    fn is_next(&self, life: &Life) -> bool {
        let known = self.lives.get(&life.member);
        known.is_none_or(|known| known.life.incarnation < life.incarnation)
    }

    fn known(&mut self, life: &Life) -> Option<&mut LastLife> {
        let known = self.lives.get_mut(&life.member)?;
        (known.life == *life && !known.dead).then_some(known)
    }

    fn observe_member(&mut self, fact: &Fact, event: &MemberEvent) {
        let Some(life) = &fact.life else { return };
        // A member that reports lives, even if the fact of its start was lost.
        if self.is_next(life) {
            self.lives.insert(life.member.clone(), LastLife::new(life.clone(), None));
        }
        if let Some(known) = self.known(life) {
            known.observe(fact, event);
        }
    }
}

impl LastLife {
    fn new(life: Life, started: Option<Fact>) -> Self {
        Self {
            life,
            dead: false,
            left: false,
            leave: Vec::new(),
            going: Vec::new(),
            way: Going::default(),
            died: None,
            started,
            stop: Vec::new(),
            not_yet: None,
            orders: None,
            assigned: None,
            ticks: None,
            unconnected: None,
            last: None,
            claims: BTreeMap::new(),
        }
    }

    fn halt(&mut self, fact: &Fact) {
        if fact.what == What::Run(RunEvent::NotYet) {
            self.not_yet = Some(fact.clone());
            return;
        }
        let not_yet = self.not_yet.take();
        if fact.what == What::Run(RunEvent::Stopped) {
            self.stop.clear();
        }
        // The end of a stop is carried as well: the stop is the cause of gaps that may follow.
        if fact.what == What::Run(RunEvent::Stopped) || !self.stop.is_empty() {
            self.stop.extend(not_yet.into_iter().chain([fact.clone()]));
        }
    }

    fn observe(&mut self, fact: &Fact, event: &MemberEvent) {
        self.last = Some((fact.seq, fact.t));
        self.observe_leave(fact, event);
        if let MemberEvent::Claimed { partition, term, until, .. } = event {
            self.claims.insert((*partition, *term), *until);
        } else if let MemberEvent::Renewed { claims } = event {
            let claim = |one: &Horizon| ((one.partition, one.term), one.until);
            self.claims = claims.iter().map(claim).collect();
        } else if let MemberEvent::Lapsed { partition, term, .. } = event {
            self.claims.remove(&(*partition, *term));
        } else if *event == MemberEvent::Leaving {
            self.claims = BTreeMap::new();
        } else if let MemberEvent::Assigned { .. } = event {
            self.assigned = Some(fact.clone());
        } else if let MemberEvent::Revoked { .. } | MemberEvent::Lost { .. } = event {
            self.assigned = None;
        } else if let MemberEvent::Ticks { .. } = event {
            self.ticks = Some(fact.clone());
        } else if let MemberEvent::Unconnected { .. } = event {
            self.unconnected = Some((fact.clone(), None));
        } else if *event == MemberEvent::Connected
            && let Some((_, back)) = &mut self.unconnected
        {
            back.get_or_insert(fact.clone());
        }
    }

    /// By the same rule as the timeline.
    fn observe_leave(&mut self, fact: &Fact, event: &MemberEvent) {
        match self.way.observe(event) {
            GoingStep::Other => {}
            GoingStep::Stays => {
                self.going.clear();
                self.left = false;
            }
            GoingStep::Loses => self.going.clear(),
            GoingStep::Releases => self.going = vec![fact.clone()],
            GoingStep::Ends(at) => {
                let first = self.going.iter().position(|known| ended(&known.what).is_some());
                let known = first.and_then(|first| ended(&self.going.get(first)?.what));
                if known.is_none_or(|known| at < known) {
                    self.going.truncate(first.unwrap_or(self.going.len()));
                    self.going.push(fact.clone());
                }
            }
            GoingStep::Left => {
                self.left = true;
                self.leave = std::mem::take(&mut self.going);
                self.leave.push(fact.clone());
            }
        }
    }

    /// The leave of a life that is dead, up to the number of its last fact.
    fn last_words(&self) -> Vec<Fact> {
        self.last.map_or_else(Vec::new, |(seq, _)| renumbered(self.leave.clone(), seq + 1))
    }

    /// Its connection, its leave, its assignment, its last ticks and its claims, with the numbers
    /// of as many facts, up to its last: no number may occur twice.
    fn facts(&self, now: Mono) -> Vec<Fact> {
        let Some((seq, t)) = self.last else { return Vec::new() };
        let claim = |(&(partition, term), &until): (&(PartitionId, Term), &Mono)| Horizon {
            partition,
            term,
            until,
        };
        let claims = self.claims.iter().map(claim).collect();
        let life = Some(self.life.clone());
        let renewed = Fact { t, seq, life, what: What::Member(MemberEvent::Renewed { claims }) };
        let away = self.unconnected.iter().flat_map(|away| felt(away, now));
        let others = [&self.assigned, &self.ticks].into_iter().flatten().cloned();
        let leave = self.leave.iter().chain(&self.going).cloned();
        let mut before: Vec<Fact> = away.chain(leave).chain(others).collect();
        before.sort_by_key(|fact| fact.seq);
        let mut facts = renumbered(before, seq);
        facts.push(renewed);
        facts
    }
}

/// These facts with the numbers before `next`.
fn renumbered(mut facts: Vec<Fact>, next: u64) -> Vec<Fact> {
    for (fact, back) in facts.iter_mut().rev().zip(1..) {
        fact.seq = next.saturating_sub(back);
    }
    facts
}

/// When a claim ended, if this says so.
fn ended(what: &What) -> Option<Mono> {
    let What::Member(MemberEvent::Lapsed { at, .. }) = what else { return None };
    Some(*at)
}
