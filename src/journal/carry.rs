//! The state that a reader of the facts after an instant needs: the living and the stopped members,
//! and their claims. Each later file of a journal begins with it, and so does each window of the
//! traces.
//!
//! The state is written as facts. The controller's keep their stamps and numbers. A member's get
//! the numbers of its latest facts, its claims as one `renewed`. So a reader notices facts that are
//! missing before the instant, and finds none missing after it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::ids::{ClusterName, GroupName, Life, MemberId, PartitionId, Term};
use crate::observation::{Fact, Horizon, What};
use crate::time::Mono;
use crate::timeline::RETURN;

/// The state after all facts so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Carry {
    /// The number of the controller's latest fact.
    own: u64,
    /// The trial that is under way.
    judged: Option<What>,
    /// The addresses of brokers, and the process of the edges.
    started: BTreeMap<Option<ClusterName>, Fact>,
    /// The latest death of each broker: the cause of gaps that may follow.
    died: BTreeMap<ClusterName, Fact>,
    /// The same of each member that was not asked to leave.
    fallen: BTreeMap<MemberId, Fact>,
    /// Brokers that are or were lost, and that they are back.
    lost: BTreeMap<(ClusterName, String), Away>,
    settled: BTreeMap<GroupName, Fact>,
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
    /// It leaves.
    left: bool,
    /// `None` if that fact was lost.
    started: Option<Fact>,
    /// The latest stop and its end, each after its `not_yet`.
    stop: Vec<Fact>,
    not_yet: Option<Fact>,
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
        let by_member = self.observe_member(fact);
        if !by_member {
            self.own = self.own.max(fact.seq);
            self.observe_run(fact);
        }
    }

    /// All of it, as the facts of a file that begins at `now`.
    pub(crate) fn facts(&self, now: Mono) -> Vec<Fact> {
        let mut facts: Vec<Fact> = self.started.values().cloned().collect();
        facts.extend(self.died.values().chain(self.fallen.values()).cloned());
        facts.extend(self.lost.values().flat_map(|away| felt(away, now)));
        facts.extend(self.settled.values().cloned());
        for known in self.lives.values().filter(|known| !known.dead) {
            facts.extend(known.started.clone());
            facts.extend(known.stop.iter().cloned());
            facts.extend(known.facts(now));
        }
        facts.extend(self.judged.clone().map(|what| self.own_fact(now, what)));
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

    /// The fact that closes a file that ends at `now`: its trial ends here.
    pub(super) fn close(&self, now: Mono) -> Option<Fact> {
        let Some(What::TrialBegan { trial }) = self.judged else { return None };
        Some(self.own_fact(now, What::TrialEnded { trial, recovered: None }))
    }

    /// A fact with the number of the one before, so that none is missing without it.
    fn own_fact(&self, t: Mono, what: What) -> Fact {
        Fact { t, seq: self.own, life: None, what }
    }

    fn observe_run(&mut self, fact: &Fact) {
        match (&fact.what, &fact.life) {
            (What::Started { .. }, Some(life)) => {
                // The member's first facts may arrive earlier.
                if let Some(known) = self.known(life) {
                    known.started = Some(fact.clone());
                } else {
                    let known = LastLife::new(life.clone(), Some(fact.clone()));
                    self.lives.insert(life.member.clone(), known);
                }
            }
            (What::Died { .. }, Some(life)) => {
                let Some(known) = self.known(life) else { return };
                known.dead = true;
                if !known.left {
                    self.fallen.insert(life.member.clone(), fact.clone());
                }
            }
            (What::NotYet | What::Stopped | What::Continued, Some(life)) => {
                if let Some(known) = self.known(life) {
                    known.halt(fact);
                }
            }
            (What::ClusterStarted { cluster, .. }, _) => {
                self.started.insert(Some(cluster.clone()), fact.clone());
            }
            (What::ClusterDied { cluster }, _) => {
                self.started.remove(&Some(cluster.clone()));
                self.died.insert(cluster.clone(), fact.clone());
            }
            (What::BrokerLost { cluster, broker }, _) => {
                self.lost.insert((cluster.clone(), broker.clone()), (fact.clone(), None));
            }
            (What::BrokerBack { cluster, broker }, _) => {
                let lost = self.lost.get_mut(&(cluster.clone(), broker.clone()));
                if let Some((_, back)) = lost {
                    back.get_or_insert(fact.clone());
                }
            }
            (What::EdgesStarted { .. }, _) => drop(self.started.insert(None, fact.clone())),
            (What::Settled { group }, _) => {
                self.settled.insert(group.clone(), fact.clone());
            }
            (What::TrialBegan { .. }, _) => self.judged = Some(fact.what.clone()),
            (What::TrialEnded { .. }, _) => self.judged = None,
            (_, _) => {}
        }
    }

    fn known(&mut self, life: &Life) -> Option<&mut LastLife> {
        let known = self.lives.get_mut(&life.member)?;
        (known.life == *life && !known.dead).then_some(known)
    }

    /// Takes a member's fact into account. Returns whether it was one.
    fn observe_member(&mut self, fact: &Fact) -> bool {
        let by_member = fact.what.is_by_member();
        if by_member && let Some(life) = &fact.life {
            let latest = self.lives.get(&life.member).map(|known| known.life.incarnation);
            // A member that reports lives, even if the fact of its start was lost.
            if latest.is_none_or(|latest| latest < life.incarnation) {
                self.lives.insert(life.member.clone(), LastLife::new(life.clone(), None));
            }
            if let Some(known) = self.known(life) {
                known.observe(fact);
            }
        }
        by_member
    }
}

impl LastLife {
    fn new(life: Life, started: Option<Fact>) -> Self {
        Self {
            life,
            dead: false,
            left: false,
            started,
            stop: Vec::new(),
            not_yet: None,
            assigned: None,
            ticks: None,
            unconnected: None,
            last: None,
            claims: BTreeMap::new(),
        }
    }

    fn halt(&mut self, fact: &Fact) {
        if fact.what == What::NotYet {
            self.not_yet = Some(fact.clone());
            return;
        }
        let not_yet = self.not_yet.take();
        if fact.what == What::Stopped {
            self.stop.clear();
        }
        // The end of a stop is carried as well: the stop is the cause of gaps that may follow.
        if fact.what == What::Stopped || !self.stop.is_empty() {
            self.stop.extend(not_yet.into_iter().chain([fact.clone()]));
        }
    }

    fn observe(&mut self, fact: &Fact) {
        self.last = Some((fact.seq, fact.t));
        if let What::Claimed { partition, term, until, .. } = &fact.what {
            self.claims.insert((*partition, *term), *until);
        } else if let What::Renewed { claims } = &fact.what {
            let claim = |one: &Horizon| ((one.partition, one.term), one.until);
            self.claims = claims.iter().map(claim).collect();
        } else if let What::Lapsed { partition, term, .. } = &fact.what {
            self.claims.remove(&(*partition, *term));
        } else if fact.what == What::Leaving {
            (self.left, self.claims) = (true, BTreeMap::new());
        } else if let What::Assigned { .. } = &fact.what {
            self.assigned = Some(fact.clone());
        } else if let What::Revoked { .. } | What::Lost { .. } = &fact.what {
            self.assigned = None;
        } else if let What::Ticks { .. } = &fact.what {
            self.ticks = Some(fact.clone());
        } else if let What::Unconnected { .. } = &fact.what {
            self.unconnected = Some((fact.clone(), None));
        } else if fact.what == What::Connected
            && let Some((_, back)) = &mut self.unconnected
        {
            back.get_or_insert(fact.clone());
        }
    }

    /// Its connection, its assignment, its last ticks and its claims, with the numbers of as many
    /// facts, up to its last: no number may occur twice.
    fn facts(&self, now: Mono) -> Vec<Fact> {
        let Some((seq, t)) = self.last else { return Vec::new() };
        let claim = |(&(partition, term), &until): (&(PartitionId, Term), &Mono)| Horizon {
            partition,
            term,
            until,
        };
        let claims = self.claims.iter().map(claim).collect();
        let life = Some(self.life.clone());
        let renewed = Fact { t, seq, life, what: What::Renewed { claims } };
        let away = self.unconnected.iter().flat_map(|away| felt(away, now));
        let others = [&self.assigned, &self.ticks].into_iter().flatten().cloned();
        let mut before: Vec<Fact> = away.chain(others).collect();
        before.sort_by_key(|fact| fact.seq);
        for (fact, back) in before.iter_mut().rev().zip(1..) {
            fact.seq = seq.saturating_sub(back);
        }
        before.push(renewed);
        before
    }
}
