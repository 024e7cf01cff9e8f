//! Sorts the facts by author and order, and passes each to the lives or records that it concerns.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::life::{END, LifeLine};
use super::trouble::Troubles;
use super::{Interval, IntervalSet, RunRecord, Stretch};
use crate::roster::Roster;
use tandem_facts::ids::{GroupName, Life};
use tandem_facts::observation::{Fact, RunEvent, What};
use tandem_facts::time::Mono;

/// In a run that goes on, facts older than this have all been heard.
const UNHEARD: Duration = Duration::from_millis(500);
/// In a run that goes on, events older than this are decided.
const UNDECIDED: Duration = Duration::from_secs(1);

/// All facts, each with the life or record that it concerns.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) lives: BTreeMap<GroupName, BTreeMap<Life, LifeLine>>,
    pub(super) troubles: Troubles,
    pub(super) record: RunRecord,
}

/// Sorts the facts of a stretch of a running run, which is judged as one trial.
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

/// Passes each fact to what it concerns. The order of `facts` does not matter: the facts of one
/// author are sorted by `seq`, those of different authors by the host's clock.
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
    gathered.take_own(roster, own);
    for (life, facts) in authors {
        facts.iter().for_each(|fact| gathered.record.hear(fact));
        let Some(life) = life else { continue };
        if let Some(group) = roster.group_of(&life.member) {
            facts.iter().for_each(|fact| gathered.troubles.hear(life, group, fact));
        }
        let Some(line) = gathered.line(roster, life) else { continue };
        facts.into_iter().for_each(|fact| line.hear(fact));
    }
    gathered
}

/// The time of lost facts between two consecutive facts of the controller.
fn lost(neighbours: &[Fact]) -> Option<Interval> {
    let [one, next] = neighbours else { return None };
    (next.seq > one.seq + 1).then(|| Interval::new(one.t, next.t))
}

impl Gathered {
    /// A state without facts.
    pub(super) fn new(roster: &Roster) -> Self {
        Self {
            lives: roster.groups.keys().map(|name| (name.clone(), BTreeMap::new())).collect(),
            troubles: Troubles::new(roster),
            record: RunRecord::default(),
        }
    }

    /// Takes the next fact that a member wrote, in the order of `seq`.
    pub(super) fn hear(&mut self, roster: &Roster, life: &Life, fact: &Fact) {
        self.record.hear(fact);
        if let Some(group) = roster.group_of(&life.member) {
            self.troubles.hear(life, group, fact);
        }
        if let Some(line) = self.line(roster, life) {
            line.hear(fact);
        }
    }

    /// Ends a finished run: takes the controller's facts, in the order of `seq`. A trial that is
    /// still open ends at `cut`.
    pub(super) fn close(&mut self, roster: &Roster, own: &[Fact], cut: Mono) {
        self.take_own(roster, own);
        // The controller's lost facts may concern any member: a death, a stop.
        self.forget(&own.windows(2).filter_map(lost).collect());
        self.forget(&self.record.unseen());
        let stalls = self.record.stalls.iter().copied().collect();
        self.lines().for_each(|line| line.close(&stalls));
        self.record.cut(cut);
        self.leave();
    }

    /// The same for a run that goes on, which is judged up to shortly before its `latest` fact.
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

    /// Makes the state of all members unknown in `spans`.
    fn forget(&mut self, spans: &IntervalSet) {
        for line in self.lines() {
            spans.iter().for_each(|span| line.forget(span));
        }
    }

    /// While the controller was gone, the state of all members is unknown, even of dead ones: it
    /// did not restart them, and did not heal faults.
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
            if let What::Run(RunEvent::FaultFailed { fault, .. }) = &fact.what {
                self.lines().for_each(|line| line.fail(fault));
            }
            if let Some(line) = fact.life.as_ref().and_then(|life| self.line(roster, life)) {
                line.record(fact);
            }
        }
    }
}
