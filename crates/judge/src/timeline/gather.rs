//! Sorts the facts by author and order, and hands each to whom it concerns.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::life::{END, LifeLine};
use super::trouble::Troubles;
use super::{Interval, IntervalSet, Record, Stretch};
use crate::roster::Roster;
use tandem_facts::ids::{GroupName, Life};
use tandem_facts::observation::{Fact, What};
use tandem_facts::time::Mono;

/// Of a run that goes on, what was stamped so long before the latest fact has been heard.
const UNHEARD: Duration = Duration::from_millis(500);
/// And what happened so long before it is decided.
const UNDECIDED: Duration = Duration::from_secs(1);

/// All facts, each in its place.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) lives: BTreeMap<GroupName, BTreeMap<Life, LifeLine>>,
    pub(super) troubles: Troubles,
    pub(super) record: Record,
}

/// Sorts the facts of a stretch of a run that goes on, which is judged as the trial that it is.
pub(super) fn gather_stretch(
    roster: &Roster,
    facts: &[impl Borrow<Fact>],
    stretch: &Stretch,
) -> Gathered {
    let mut gathered = sort(roster, facts);
    gathered.forget(&stretch.missed);
    gathered.forget(&gathered.record.unseen());
    let stalls = gathered.record.stalls.iter().copied().collect();
    let until = stretch.trial.window.until;
    gathered.lines().for_each(|line| line.decide(until, stretch.known, &stalls));
    gathered.record.trials = vec![stretch.trial];
    gathered.leave();
    gathered
}

/// Hands each fact to whom it concerns. Their order in `facts` does not matter: an author's are in
/// the order of `seq`, and between authors the clock of the host decides.
fn sort(roster: &Roster, facts: &[impl Borrow<Fact>]) -> Gathered {
    let mut authors: BTreeMap<Option<&Life>, Vec<&Fact>> = BTreeMap::new();
    for fact in facts {
        let fact = Borrow::<Fact>::borrow(fact);
        let author = if fact.what.is_by_member() { fact.life.as_ref() } else { None };
        authors.entry(author).or_default().push(fact);
    }
    for facts in authors.values_mut() {
        facts.sort_by_key(|fact| fact.seq);
    }
    let mut gathered = Gathered::new(roster);
    let own = authors.remove(&None).unwrap_or_default();
    let left = authors.iter().filter(|(_, said)| said.iter().any(|f| f.what == What::Leaving));
    gathered.troubles.leave(left.filter_map(|(life, _)| life.cloned()));
    gathered.take_own(roster, own);
    for (life, facts) in authors {
        facts.iter().for_each(|fact| gathered.record.hear(fact));
        let Some(line) = life.and_then(|life| gathered.line(roster, life)) else { continue };
        facts.into_iter().for_each(|fact| line.hear(fact));
    }
    gathered
}

/// The time in which the controller's facts between two neighbours were lost.
fn lost(neighbours: &[Fact]) -> Option<Interval> {
    let [one, next] = neighbours else { return None };
    (next.seq > one.seq + 1).then(|| Interval::new(one.t, next.t))
}

impl Gathered {
    /// Nothing was told yet.
    pub(super) fn new(roster: &Roster) -> Self {
        Self {
            lives: roster.groups.keys().map(|name| (name.clone(), BTreeMap::new())).collect(),
            troubles: Troubles::new(roster),
            record: Record::default(),
        }
    }

    /// Takes the next fact that the member itself wrote, in the order of `seq`.
    pub(super) fn hear(&mut self, roster: &Roster, life: &Life, fact: &Fact) {
        self.record.hear(fact);
        if fact.what == What::Leaving {
            self.troubles.leave([life.clone()]);
        }
        if let Some(line) = self.line(roster, life) {
            line.hear(fact);
        }
    }

    /// Everything was told by members of a run that is over: takes what the controller wrote, in
    /// the order of `seq`. A trial that is still open ends at `cut`.
    pub(super) fn close(&mut self, roster: &Roster, own: &[Fact], cut: Mono) {
        self.take_own(roster, own);
        // What the controller would have told concerns anybody: a death, a stop.
        self.forget(&own.windows(2).filter_map(lost).collect());
        self.forget(&self.record.unseen());
        let stalls = self.record.stalls.iter().copied().collect();
        self.lines().for_each(|line| line.close(&stalls));
        self.record.cut(cut);
        self.leave();
    }

    /// The same of a run that goes on, which is judged up to a little before its `latest` fact.
    pub(super) fn close_so_far(&mut self, roster: &Roster, own: &[Fact], latest: Mono) {
        self.take_own(roster, own);
        self.forget(&own.windows(2).filter_map(lost).collect());
        self.forget(&self.record.unseen());
        let (until, known) = (latest - UNDECIDED, latest - UNHEARD);
        let stalls = self.record.stalls.iter().copied().collect();
        self.lines().for_each(|line| line.decide(until, known, &stalls));
        self.record.cut(until);
        self.record.trials.retain(|trial| !trial.window.is_empty());
        self.leave();
    }

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

    fn line(&mut self, roster: &Roster, life: &Life) -> Option<&mut LifeLine> {
        let lives = self.lives.get_mut(roster.group_of(&life.member)?)?;
        Some(lives.entry(life.clone()).or_default())
    }

    fn take_own<'a>(&mut self, roster: &Roster, facts: impl IntoIterator<Item = &'a Fact>) {
        for fact in facts {
            let group = fact.life.as_ref().and_then(|life| roster.group_of(&life.member));
            self.troubles.observe(fact, group);
            self.record.observe(fact);
            if let What::FaultFailed { fault, .. } = &fact.what {
                self.lines().for_each(|line| line.fail(fault));
            }
            if let Some(line) = fact.life.as_ref().and_then(|life| self.line(roster, life)) {
                line.record(fact);
            }
        }
    }
}
