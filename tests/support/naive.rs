//! Who served, computed a second time: instant by instant, straight from the definition, slowly.
//!
//! Between two neighbours of all the instants that any fact names, nothing changes. So each such
//! stretch is asked on its own: does this life serve this partition here? It shares no code with
//! `timeline`, and knows none of its types.

use std::collections::{BTreeMap, BTreeSet};

use tandem::ids::{FaultId, GroupName, Life, PartitionId, Term, TrialNumber};
use tandem::observation::{Fact, FaultClass, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::topology::{Foreign, Plan};

const HOLE_NS: u64 = 100_000_000;
const SILENCE_NS: u64 = 250_000_000;

/// What can be said of a role in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Serves {
    No,
    Maybe,
    Yes,
}

/// A gap (or a time in which there may be one) of a role, in a group or, without one, in all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    pub group: Option<GroupName>,
    pub role: usize,
    pub trial: TrialNumber,
    pub from: Mono,
    pub until: Mono,
    pub sure: bool,
}

/// All gaps in the trials of a journal, and all times in which there may be one.
pub fn gaps(plan: &Plan, facts: &[Fact]) -> Vec<Gap> {
    let instants = instants(facts);
    let lives: BTreeSet<&Life> = facts.iter().filter_map(|fact| fact.life.as_ref()).collect();
    let mut found = Vec::new();
    for (trial, began, ended) in trials(facts) {
        let inside = |instant: &&Mono| began < **instant && **instant < ended;
        let mut cuts: Vec<Mono> = instants.iter().filter(inside).copied().collect();
        cuts.insert(0, began);
        cuts.push(ended);
        let mut served: BTreeMap<(&GroupName, PartitionId), Vec<Serves>> = BTreeMap::new();
        for (name, group) in &plan.groups {
            let members = lives.iter().filter(|life| group.members.contains(&life.member));
            let members: Vec<_> =
                members.map(|life| Witness::new(life, facts, &instants)).collect();
            for partition in plan.roles.indices().map(|role| group.partition(role)) {
                let best = |at: &Mono| {
                    members.iter().map(|one| one.serves(partition, *at, &instants)).max()
                };
                // What none of them holds, another may serve.
                let other = |at: &Mono| {
                    let free = !members.iter().any(|one| one.holds(partition, *at));
                    if free && group.foreign == Foreign::Allow { Serves::Maybe } else { Serves::No }
                };
                let stretches = cuts.iter().take(cuts.len() - 1);
                let states = stretches.map(|at| best(at).max(Some(other(at))).unwrap()).collect();
                served.insert((name, partition), states);
            }
        }
        for index in plan.roles.indices() {
            let role = usize::try_from(index.0).unwrap();
            let mut joint = vec![Serves::No; cuts.len() - 1];
            for (name, group) in &plan.groups {
                let states = &served[&(name, group.partition(index))];
                joint = joint.iter().zip(states).map(|(a, b)| *a.max(b)).collect();
                let place = (Some(name.clone()), role, trial);
                found.extend(stretches(place, &cuts, states));
            }
            found.extend(stretches((None, role, trial), &cuts, &joint));
        }
    }
    found.sort();
    found
}

fn stretches(
    (group, role, trial): (Option<GroupName>, usize, TrialNumber),
    cuts: &[Mono],
    states: &[Serves],
) -> Vec<Gap> {
    let mut found: Vec<Gap> = Vec::new();
    for (place, state) in states.iter().enumerate().filter(|(_, state)| **state != Serves::Yes) {
        let (from, until, sure) = (cuts[place], cuts[place + 1], *state == Serves::No);
        match found.last_mut() {
            Some(last) if last.until == from && last.sure == sure => last.until = until,
            _ => found.push(Gap { group: group.clone(), role, trial, from, until, sure }),
        }
    }
    found
}

/// The trials that came to their end.
fn trials(facts: &[Fact]) -> Vec<(TrialNumber, Mono, Mono)> {
    let began = |number| {
        facts
            .iter()
            .find(|fact| fact.what == What::Run(RunEvent::TrialBegan { trial: number }))
            .unwrap()
            .t
    };
    let ended = facts.iter().filter_map(|fact| match fact.what {
        What::Run(RunEvent::TrialEnded { trial, .. }) => Some((trial, began(trial), fact.t)),
        _ => None,
    });
    ended.collect()
}

fn instants(facts: &[Fact]) -> BTreeSet<Mono> {
    let mut all = BTreeSet::from([Mono::ZERO]);
    for fact in facts {
        all.insert(fact.t);
        match &fact.what {
            What::Member(
                MemberEvent::Claimed { from, until, .. }
                | MemberEvent::Ticks { from, until, .. }
                | MemberEvent::Hole { from, until },
            ) => all.extend([*from, *until]),
            What::Member(MemberEvent::Renewed { claims }) => {
                all.extend(claims.iter().map(|claim| claim.until));
            }
            What::Member(MemberEvent::Lapsed { at, .. }) => drop(all.insert(*at)),
            _ => {}
        }
    }
    all
}

/// All that one life and the controller say of it.
struct Witness<'a> {
    own: Vec<&'a Fact>,
    facts: Vec<&'a Fact>,
    claims: BTreeMap<(PartitionId, Term), (Mono, Mono)>,
    open: BTreeSet<(PartitionId, Term)>,
    /// From the first tick of a run to the last, as reported.
    runs: BTreeMap<PartitionId, BTreeMap<Mono, Mono>>,
    /// What was lost on the way, or dropped.
    lost: Vec<(Mono, Mono)>,
    /// Faults that failed, and when the controller said so.
    failed: Vec<(u64, &'a FaultId)>,
    mute: bool,
}

impl<'a> Witness<'a> {
    fn new(life: &Life, facts: &'a [Fact], instants: &BTreeSet<Mono>) -> Self {
        let mut controller: Vec<_> = facts.iter().filter(|fact| !of_member(fact)).collect();
        let mut own: Vec<_> = facts
            .iter()
            .filter(|fact| of_member(fact) && fact.life.as_ref() == Some(life))
            .collect();
        controller.sort_by_key(|fact| fact.seq);
        own.sort_by_key(|fact| fact.seq);
        let about = controller.iter().filter(|fact| fact.life.as_ref() == Some(life));
        let facts = about.copied().collect();
        let mut witness = Self {
            lost: lost(&own).chain(lost(&controller)).chain(holes(&own)).collect(),
            own,
            facts,
            failed: controller.iter().filter_map(|fact| Some((fact.seq, failed(fact)?))).collect(),
            claims: BTreeMap::new(),
            open: BTreeSet::new(),
            runs: BTreeMap::new(),
            mute: false,
        };
        witness.read();
        witness.mute = !witness.open.is_empty() && witness.silent_ns(instants) > SILENCE_NS;
        witness
    }

    fn read(&mut self) {
        for fact in self.own.clone() {
            match &fact.what {
                What::Member(MemberEvent::Claimed { partition, term, from, until, .. }) => {
                    self.claims.insert((*partition, *term), (*from, *until));
                    self.open.insert((*partition, *term));
                }
                What::Member(MemberEvent::Lapsed { partition, term, at, .. }) => {
                    if let Some((_, until)) = self.claims.get_mut(&(*partition, *term)) {
                        *until = *at;
                    }
                    self.open.remove(&(*partition, *term));
                }
                What::Member(MemberEvent::Renewed { claims }) => {
                    let named: BTreeSet<_> =
                        claims.iter().map(|claim| (claim.partition, claim.term)).collect();
                    for silent in self.open.difference(&named) {
                        let (_, until) = self.claims.get_mut(silent).unwrap();
                        *until = (*until).min(fact.t);
                    }
                    for claim in claims {
                        let key = (claim.partition, claim.term);
                        let (_, until) = self.claims.entry(key).or_insert((fact.t, claim.until));
                        *until = (*until).max(claim.until);
                    }
                    self.open = named;
                }
                What::Member(MemberEvent::Ticks { partitions, from, until }) => {
                    for partition in partitions {
                        let runs = self.runs.entry(*partition).or_default();
                        let last = runs.entry(*from).or_insert(*until);
                        *last = (*last).max(*until);
                    }
                }
                _ => {}
            }
        }
    }

    fn serves(&self, partition: PartitionId, at: Mono, instants: &BTreeSet<Mono>) -> Serves {
        if self.unknown(at) {
            return Serves::Maybe;
        }
        if !self.could(partition, at) {
            return Serves::No;
        }
        let (before, after) = self.silence(partition, at, instants);
        if after.0 - before.0 <= HOLE_NS {
            return Serves::Yes;
        }
        let beside = instants.range(before..=after).any(|at| self.unknown(*at))
            || instants.range(..before).next_back().is_some_and(|at| self.unknown(*at));
        if beside { Serves::Maybe } else { Serves::No }
    }

    /// It claims, runs and lives.
    fn could(&self, partition: PartitionId, at: Mono) -> bool {
        let claims = self.claims.iter().filter(|((on, _), _)| *on == partition);
        claims.into_iter().any(|(_, (from, until))| *from <= at && at < *until)
            && !self.stopped(at)
            && self.end().is_none_or(|(asked, _)| at < asked)
    }

    /// Its group gave it the partition, as far as it said by then, and it lives and runs.
    fn holds(&self, partition: PartitionId, at: Mono) -> bool {
        let said = self.own.iter().filter(|fact| fact.t <= at);
        let mut last = said.filter_map(|fact| match &fact.what {
            What::Member(MemberEvent::Assigned { partitions, .. }) => {
                Some(partitions.contains(&partition))
            }
            What::Member(
                MemberEvent::Revoked { partitions } | MemberEvent::Lost { partitions },
            ) => partitions.contains(&partition).then_some(false),
            What::Member(MemberEvent::Leaving) => Some(false),
            _ => None,
        });
        last.next_back().unwrap_or(false)
            && !self.stopped(at)
            && self.end().is_none_or(|(asked, _)| at < asked)
    }

    /// The last sign of service up to `at`, and the first after it: a tick, or the end of the time
    /// in which it could serve.
    fn silence(&self, partition: PartitionId, at: Mono, instants: &BTreeSet<Mono>) -> (Mono, Mono) {
        let none = BTreeMap::new();
        let runs = self.runs.get(&partition).unwrap_or(&none);
        if runs.iter().any(|(from, until)| *from <= at && at < *until) {
            return (at, at);
        }
        let mut begin = at;
        for instant in instants.range(..=at).rev() {
            if !self.could(partition, *instant) {
                break;
            }
            begin = *instant;
        }
        let end = instants.range(at..).find(|instant| !self.could(partition, **instant));
        let end = end.copied().unwrap_or(Mono(u64::MAX));
        let last = runs.values().copied().filter(|until| *until <= at).max();
        let first = runs.keys().copied().filter(|from| *from > at).min();
        (last.map_or(begin, |last| last.max(begin)), first.map_or(end, |first| first.min(end)))
    }

    fn end(&self) -> Option<(Mono, Mono)> {
        let died =
            self.facts.iter().find(|fact| matches!(fact.what, What::Run(RunEvent::Died { .. })))?;
        let asked = self.asked(FaultClass::Kills, died);
        Some((asked.unwrap_or(died.t), died.t))
    }

    /// When such a fault was first asked for before `effect`, and since the last such effect.
    fn asked(&self, wanted: FaultClass, effect: &Fact) -> Option<Mono> {
        let same = |what: &What| match (what, &effect.what) {
            (What::Run(one), What::Run(other)) => {
                std::mem::discriminant(one) == std::mem::discriminant(other)
            }
            _ => false,
        };
        let mut first = None;
        for fact in self.facts.iter().filter(|fact| fact.seq < effect.seq) {
            match &fact.what {
                What::Run(RunEvent::FaultAsked { class, fault, .. }) if *class == wanted => {
                    let between = |seq: u64| fact.seq < seq && seq < effect.seq;
                    if !self.failed.iter().any(|(seq, id)| *id == fault && between(*seq)) {
                        first = first.or(Some(fact.t));
                    }
                }
                what if same(what) => first = None,
                _ => {}
            }
        }
        first
    }

    fn stopped(&self, at: Mono) -> bool {
        let mut since = None;
        for (place, fact) in self.facts.iter().enumerate() {
            match fact.what {
                What::Run(RunEvent::Stopped) if since.is_none() => {
                    let before = place.checked_sub(1).map(|place| self.facts[place]);
                    let look = before.filter(|fact| fact.what == What::Run(RunEvent::NotYet));
                    let seen = look.map_or(fact.t, |look| look.t);
                    since = Some(self.asked(FaultClass::Pauses, fact).unwrap_or(seen));
                }
                What::Run(RunEvent::Continued)
                    if since.take().is_some_and(|one| one <= at && at < fact.t) =>
                {
                    return true;
                }
                _ => {}
            }
        }
        since.is_some_and(|since| since <= at)
    }

    fn unknown(&self, at: Mono) -> bool {
        let started =
            self.facts.iter().find(|fact| matches!(fact.what, What::Run(RunEvent::Started { .. })));
        let started = started.map_or(Mono::ZERO, |fact| fact.t);
        if at < started || self.end().is_some_and(|(_, died)| died <= at) {
            return false;
        }
        let lost = self.lost.iter().any(|(from, until)| *from <= at && at < *until);
        let first = self.own.first().is_some_and(|fact| fact.seq > 1 && at < fact.t);
        let after = self.own.last().is_some_and(|last| last.t <= at);
        lost || first || (self.mute && after)
    }

    /// For how long it lived, and was not stopped, after it last spoke.
    fn silent_ns(&self, instants: &BTreeSet<Mono>) -> u64 {
        let Some(last) = self.own.last() else { return 0 };
        let end = self.end().map_or(Mono(u64::MAX), |(asked, _)| asked);
        let mut silent = 0;
        let mut from = last.t;
        for until in instants.range(last.t..).copied().chain([Mono(u64::MAX)]) {
            if from < end && !self.stopped(from) {
                silent += until.min(end).0 - from.0;
            }
            from = until;
        }
        silent
    }
}

/// Where an author's facts are missing between two others.
fn lost(facts: &[&Fact]) -> impl Iterator<Item = (Mono, Mono)> {
    let gaps = facts.windows(2).filter(|pair| pair[1].seq > pair[0].seq + 1);
    gaps.map(|pair| (pair[0].t, pair[1].t))
}

/// Where a member says itself that it dropped facts.
fn holes(facts: &[&Fact]) -> impl Iterator<Item = (Mono, Mono)> {
    facts.iter().filter_map(|fact| match fact.what {
        What::Member(MemberEvent::Hole { from, until }) => Some((from, until)),
        _ => None,
    })
}

fn failed(fact: &Fact) -> Option<&FaultId> {
    match &fact.what {
        What::Run(RunEvent::FaultFailed { fault, .. }) => Some(fault),
        _ => None,
    }
}

fn of_member(fact: &Fact) -> bool {
    matches!(
        fact.what,
        What::Member(
            MemberEvent::Assigned { .. }
                | MemberEvent::Revoked { .. }
                | MemberEvent::Lost { .. }
                | MemberEvent::Claimed { .. }
                | MemberEvent::Renewed { .. }
                | MemberEvent::Lapsed { .. }
                | MemberEvent::Ticks { .. }
                | MemberEvent::Hole { .. }
                | MemberEvent::Late { .. }
                | MemberEvent::Unconnected { .. }
                | MemberEvent::Connected
                | MemberEvent::Refused { .. }
                | MemberEvent::Leaving
                | MemberEvent::Clock { .. }
        )
    )
}
