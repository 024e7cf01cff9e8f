//! Builds a timeline from facts one by one, as a journal is read. It does not store members' facts,
//! so that memory grows with the number of events and not with the number of reports.

use std::collections::BTreeSet;

use super::gather::Gathered;
use super::{Timeline, outage};
use crate::roster::Roster;
use tandem_facts::ids::Life;
use tandem_facts::observation::{Fact, MemberEvent, RunEvent, What};
use tandem_facts::time::Mono;

/// Takes the facts of a finished run, and computes its timeline.
///
/// The facts of one member must come in the order of `seq`, as they do in a journal. A late fact is
/// left out, and the time of the missing fact is unknown. Facts of different authors may come in
/// any order, and so may those of the controller.
#[derive(Debug)]
pub struct TimelineBuilder {
    roster: Roster,
    gathered: Gathered,
    /// The controller's facts, which are few beside those of members.
    own: Vec<Fact>,
    /// The facts about lost and regained contact with brokers.
    reach: Vec<Fact>,
    cut: Cut,
}

impl TimelineBuilder {
    /// A builder without facts.
    #[must_use]
    pub fn new(roster: impl Into<Roster>) -> Self {
        let roster = roster.into();
        Self {
            gathered: Gathered::new(&roster),
            roster,
            own: Vec::new(),
            reach: Vec::new(),
            cut: Cut::default(),
        }
    }

    /// Takes the next fact.
    pub fn observe(&mut self, fact: &Fact) {
        self.cut.observe(fact);
        self.roster.admit(fact);
        if outage::concerns(fact) {
            self.reach.push(fact.clone());
        }
        match &fact.life {
            Some(life) if fact.what.is_by_member() => self.gathered.hear(&self.roster, life, fact),
            Some(_) | None => self.own.push(fact.clone()),
        }
    }

    /// The stamp of the latest fact so far.
    #[must_use]
    pub fn last(&self) -> Option<Mono> {
        self.cut.last
    }

    /// The timeline of all facts.
    #[must_use]
    pub fn finish(self) -> Timeline {
        let Self { roster, mut gathered, mut own, reach, cut } = self;
        own.sort_by_key(|fact| fact.seq);
        gathered.close(&roster, &own, cut.at());
        Timeline::of(&roster, gathered, outage::outages(reach.iter()))
    }

    /// The timeline of a topology that is kept up, or that so far if it `goes_on`. It is one trial,
    /// which counts with any end.
    #[must_use]
    pub fn finish_upkeep(self, goes_on: bool) -> Timeline {
        let mut timeline = if goes_on { self.finish_so_far() } else { self.finish() };
        for trial in &mut timeline.record.trials {
            trial.recovered.get_or_insert(true);
        }
        timeline
    }

    fn finish_so_far(self) -> Timeline {
        let Self { roster, mut gathered, mut own, reach, cut } = self;
        own.sort_by_key(|fact| fact.seq);
        gathered.close_so_far(&roster, &own, cut.last.unwrap_or(Mono::ZERO));
        Timeline::of(&roster, gathered, outage::outages(reach.iter()))
    }
}

/// Where a cut-off trial ends.
#[derive(Debug, Default)]
struct Cut {
    /// When the last trial began.
    began: Option<Mono>,
    /// When members left or died, and when the run ended.
    ends: Vec<(Mono, Option<Life>)>,
    /// Lives whose leave is not part of a teardown: those that a fault made leave, and those that
    /// the run did not start.
    struck: BTreeSet<Life>,
    last: Option<Mono>,
}

impl Cut {
    fn observe(&mut self, fact: &Fact) {
        self.last = self.last.max(Some(fact.t));
        if let What::Run(RunEvent::TrialBegan { .. }) = fact.what {
            self.began = self.began.max(Some(fact.t));
        } else if matches!(
            fact.what,
            What::Run(RunEvent::Ended { .. }) | What::Member(MemberEvent::Leaving)
        ) {
            let leaves =
                fact.life.clone().filter(|_| fact.what == What::Member(MemberEvent::Leaving));
            self.ends.push((fact.t, leaves));
        } else if let What::Run(RunEvent::FaultAsked { class, .. }) = &fact.what
            && class.has_them_leave()
        {
            self.struck.extend(fact.life.clone());
        } else if let What::Run(RunEvent::Started { external: Some(_), .. }) = &fact.what {
            // It leaves when its user says so.
            self.struck.extend(fact.life.clone());
        }
    }

    /// The first leave or death of a teardown, or the end of the run, or the last known instant.
    fn at(&self) -> Mono {
        let home =
            |leaves: &Option<Life>| leaves.as_ref().is_none_or(|it| !self.struck.contains(it));
        let ends = self.ends.iter().filter(|(t, leaves)| Some(*t) >= self.began && home(leaves));
        ends.map(|(t, _)| *t).min().or(self.last).unwrap_or(Mono::ZERO)
    }
}
