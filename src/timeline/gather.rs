//! Sorts the facts by author and order, and hands each to whom it concerns.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use super::life::{END, LifeLine};
use super::trouble::Troubles;
use super::{Interval, IntervalSet, Record, Stretch};
use crate::ids::{GroupName, Life};
use crate::observation::{Fact, What};
use crate::time::Mono;
use crate::topology::Plan;

/// All facts, each in its place.
pub(super) struct Gathered {
    pub(super) lives: BTreeMap<GroupName, BTreeMap<Life, LifeLine>>,
    pub(super) troubles: Troubles,
    pub(super) record: Record,
}

/// Sorts the facts of a run that is over. Their order in `facts` does not matter: an author's are
/// in the order of `seq`, and between authors the clock of the host decides.
pub(super) fn gather(plan: &Plan, facts: &[Fact]) -> Gathered {
    let (mut gathered, own) = sort(plan, facts);
    // What the controller would have told concerns anybody: a death, a stop.
    let lost = own.windows(2).filter_map(lost).collect();
    gathered.forget(&lost);
    gathered.forget(&gathered.record.unseen());
    let stalls = gathered.record.stalls.iter().copied().collect();
    gathered.lines().for_each(|line| line.close(&stalls));
    gathered.record.cut(cut(facts));
    gathered.leave();
    gathered
}

/// Sorts the facts of a stretch of a run that goes on, which is judged as the trial that it is.
pub(super) fn gather_stretch(
    plan: &Plan,
    facts: &[impl Borrow<Fact>],
    stretch: &Stretch,
) -> Gathered {
    let (mut gathered, _) = sort(plan, facts);
    gathered.forget(&stretch.missed);
    gathered.forget(&gathered.record.unseen());
    let stalls = gathered.record.stalls.iter().copied().collect();
    let until = stretch.trial.window.until;
    gathered.lines().for_each(|line| line.decide(until, stretch.known, &stalls));
    gathered.record.trials = vec![stretch.trial];
    gathered.leave();
    gathered
}

/// Hands each fact to whom it concerns; those of the controller, in order.
fn sort<'a>(plan: &Plan, facts: &'a [impl Borrow<Fact>]) -> (Gathered, Vec<&'a Fact>) {
    let mut authors: BTreeMap<Option<&Life>, Vec<&Fact>> = BTreeMap::new();
    for fact in facts {
        let fact = Borrow::<Fact>::borrow(fact);
        let author = if fact.what.is_by_member() { fact.life.as_ref() } else { None };
        authors.entry(author).or_default().push(fact);
    }
    for facts in authors.values_mut() {
        facts.sort_by_key(|fact| fact.seq);
    }
    let mut gathered = Gathered {
        lives: plan.groups.keys().map(|name| (name.clone(), BTreeMap::new())).collect(),
        troubles: Troubles::new(plan),
        record: Record::default(),
    };
    let own = authors.remove(&None).unwrap_or_default();
    gathered.take_own(plan, &own);
    for (life, facts) in authors {
        let Some(line) = life.and_then(|life| gathered.line(plan, life)) else { continue };
        facts.into_iter().for_each(|fact| line.hear(fact));
    }
    (gathered, own)
}

/// The time in which the controller's facts between two neighbours were lost.
fn lost(neighbours: &[&Fact]) -> Option<Interval> {
    let [one, next] = neighbours else { return None };
    (next.seq > one.seq + 1).then(|| Interval::new(one.t, next.t))
}

/// Where a trial that was cut off ends: where members were first sent home, or the run ended, or
/// else with the last thing known.
fn cut(facts: &[Fact]) -> Mono {
    let began = facts.iter().filter(|fact| matches!(fact.what, What::TrialBegan { .. }));
    let began = began.map(|fact| fact.t).max().unwrap_or(Mono::ZERO);
    // Who goes because of a fault is not sent home.
    let struck: BTreeSet<&Life> = facts.iter().filter_map(sent_away).collect();
    let home = |fact: &&Fact| {
        let own = fact.life.as_ref().is_none_or(|life| !struck.contains(life));
        matches!(fact.what, What::Ended { .. }) || (matches!(fact.what, What::Leaving) && own)
    };
    let end = facts.iter().filter(|fact| fact.t >= began).filter(home);
    let last = || facts.iter().map(|fact| fact.t).max();
    end.map(|fact| fact.t).min().or_else(last).unwrap_or(Mono::ZERO)
}

/// Whom a fault makes leave.
fn sent_away(fact: &Fact) -> Option<&Life> {
    let What::FaultAsked { kind, .. } = &fact.what else { return None };
    fact.life.as_ref().filter(|_| kind == "leave" || kind == "duplicate")
}

impl Gathered {
    fn lines(&mut self) -> impl Iterator<Item = &mut LifeLine> {
        self.lives.values_mut().flat_map(BTreeMap::values_mut)
    }

    /// Nothing is known of anybody then.
    fn forget(&mut self, spans: &IntervalSet) {
        for line in self.lines() {
            spans.iter().for_each(|span| line.forget(span));
        }
    }

    /// Of the time in which nobody was there nothing is known of anybody, not even of the dead:
    /// they were not started again, and faults were not healed.
    fn leave(&mut self) {
        if let Some(left) = self.record.unattended {
            self.forget(&Interval::new(left, END).into());
        }
        self.record.leave();
    }

    fn line(&mut self, plan: &Plan, life: &Life) -> Option<&mut LifeLine> {
        let lives = self.lives.get_mut(plan.group_of(&life.member)?)?;
        Some(lives.entry(life.clone()).or_default())
    }

    fn take_own(&mut self, plan: &Plan, facts: &[&Fact]) {
        for fact in facts {
            let group = fact.life.as_ref().and_then(|life| plan.group_of(&life.member));
            self.troubles.observe(fact, group);
            self.record.observe(fact);
            if let Some(line) = fact.life.as_ref().and_then(|life| self.line(plan, life)) {
                line.told(fact);
            }
        }
    }
}
