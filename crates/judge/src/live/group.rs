//! One group: its members and their lives, and, for each partition with roles, its leaders and its
//! counters.

use std::collections::BTreeMap;

use super::event::{Event, Place};
use super::lane::Lane;
use super::member::{LifeState, MemberState};
use super::tally::Tally;
use crate::roster::{Roster, RosterGroup};
use crate::timeline::{Coverage, Interval, IntervalSet, LifeLine};
use tandem_facts::ids::{FaultId, GroupName, Incarnation, Life, MemberId, PartitionId, Term};
use tandem_facts::observation::{Fact, RunEvent, What};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

/// How many lives of a member are kept. A life whose death was never reported is dropped after so
/// many later lives.
const LIVES_MAX: usize = 3;

/// The state of one group.
#[derive(Debug, Clone)]
pub(super) struct GroupState {
    pub(super) name: GroupName,
    pub(super) lanes: BTreeMap<PartitionId, Lane>,
    pub(super) members: BTreeMap<MemberId, MemberState>,
    pub(super) lives: BTreeMap<Life, LifeState>,
    /// The last life of each member that is dropped.
    gone: BTreeMap<MemberId, Incarnation>,
    /// The number of partitions.
    pub(super) width: usize,
    /// Whether it may have members of which nothing is known.
    pub(super) foreign: bool,
    /// The time of the latest fact that unsettles the group.
    pub(super) changed: Mono,
    /// Everything before this instant was counted.
    counted: Mono,
}

impl GroupState {
    pub(super) fn new(roster: &Roster, (name, group): (&GroupName, &RosterGroup)) -> Self {
        let lane = |roles: RoleClass| {
            let place = Place { group: Some(name.clone()), roles };
            (group.partition(roles.first), Lane::new(Tally::new(place), group.foreign))
        };
        let absent = |member: &MemberId| (member.clone(), MemberState::ABSENT);
        Self {
            name: name.clone(),
            lanes: roster.classes_of(group).map(lane).collect(),
            members: group.members.iter().map(absent).collect(),
            lives: BTreeMap::new(),
            gone: BTreeMap::new(),
            width: PartitionId(group.partitions.get()).index(),
            foreign: group.foreign,
            changed: Mono::ZERO,
            counted: Mono::ZERO,
        }
    }

    /// Takes a fact about a life of one of its members.
    pub(super) fn observe(&mut self, life: &Life, fact: &Fact) {
        if self.life(life).is_some_and(|state| state.observe(fact)) {
            self.unsettle(fact.t);
        }
        if let Some(member) = self.members.get_mut(&life.member) {
            member.observe(life, fact);
        }
        if matches!(fact.what, What::Run(RunEvent::Started { .. })) {
            // One whose death was reported goes when its time was counted.
            let counts = |state: &LifeState| state.line.died().is_some_and(|at| at > self.counted);
            let lives = self.lives.iter().filter(|(other, _)| other.member == life.member);
            let lives = lives.filter(|(_, state)| !counts(state)).map(|(life, _)| life.clone());
            let lives: Vec<_> = lives.collect();
            let many = lives.len().saturating_sub(LIVES_MAX);
            lives.iter().take(many).for_each(|life| self.drop_life(life));
        }
    }

    /// The group is not settled before `since`.
    pub(super) fn unsettle(&mut self, at: Mono) {
        self.changed = self.changed.max(at);
    }

    fn life(&mut self, life: &Life) -> Option<&mut LifeState> {
        if !self.lives.contains_key(life) {
            let gone = self.gone.get(&life.member);
            if gone.is_some_and(|gone| life.incarnation <= *gone) {
                return None;
            }
            self.lives.insert(life.clone(), LifeState::known_from(self.counted));
        }
        self.lives.get_mut(life)
    }

    fn lines(&mut self) -> impl Iterator<Item = &mut LifeLine> {
        self.lives.values_mut().map(|life| &mut life.line)
    }

    fn drop_life(&mut self, life: &Life) {
        self.lives.remove(life);
        let gone = self.gone.entry(life.member.clone()).or_insert(life.incarnation);
        *gone = life.incarnation.max(*gone);
    }

    /// Marks `span` as unknown for every life.
    pub(super) fn forget(&mut self, span: Interval) {
        self.lines().for_each(|line| line.forget(span));
    }

    /// A fault failed: what it asked for and no fact has confirmed did not happen.
    pub(super) fn fail(&mut self, fault: &FaultId) {
        self.lines().for_each(|line| line.fail(fault));
    }

    /// The first instant that is undecided, if all facts before `known` have arrived.
    pub(super) fn undecided_since(&self, known: Mono) -> Option<Mono> {
        self.lives.values().filter_map(|life| life.line.undecided_since(known)).min()
    }

    /// Decides the state of every life up to `until`.
    pub(super) fn decide(&mut self, until: Mono, known: Mono, stalls: &IntervalSet) {
        self.lines().for_each(|line| line.decide(until, known, stalls));
    }

    /// Counts the decided `window`. Returns how many lives served each partition.
    pub(super) fn count(
        &mut self,
        window: Interval,
        events: &mut Vec<Event>,
    ) -> BTreeMap<PartitionId, Coverage> {
        self.counted = window.until;
        let mut all = BTreeMap::new();
        for (&partition, lane) in &mut self.lanes {
            let (mut services, mut claims) = (Coverage::default(), Coverage::default());
            let mut servers = Vec::new();
            let lives = self.lives.iter().map(|(life, state)| (life, &state.line));
            for (life, line) in lives.filter(|(_, line)| line.concerns(partition)) {
                let (claimed, served) = (line.claimed(partition), line.served(partition));
                claims.add(&claimed.sure, &claimed.possible);
                services.add(&served.sure, &served.possible);
                servers.push((life, served));
            }
            if self.foreign {
                let held = self.lives.values().map(|life| life.line.holds(partition));
                let held = held.fold(IntervalSet::default(), |sum, one| sum.union(&one));
                claims.add_other(&held);
                services.add_other(&held);
            }
            lane.count(|tally| {
                services.steps(window).for_each(|(step, count)| tally.serve(step, count, events));
            });
            for (step, count) in claims.steps(window) {
                lane.tally.claim(step, count, events);
            }
            for span in lane.passing.pass(&servers, window) {
                lane.tally.totals.takeovers += 1;
                events.push(Event::Takeover(lane.tally.place.clone(), span));
            }
            all.insert(partition, services);
        }
        all
    }

    /// Drops what is of no use for the time from `before` on.
    pub(super) fn drop_before(&mut self, before: Mono) {
        let dead = |life: &LifeState| life.line.is_past(before);
        let dead = self.lives.iter().filter(|(_, state)| dead(state)).map(|(life, _)| life.clone());
        for life in dead.collect::<Vec<_>>() {
            self.drop_life(&life);
        }
        self.lines().for_each(|line| line.drop_before(before));
    }

    /// Finds the leaders at `now`. Changes date from `since`, unless a better instant is known.
    /// Returns whether anything has changed.
    pub(super) fn look(&mut self, now: Mono, since: Mono, events: &mut Vec<Event>) -> bool {
        let mut leaders: BTreeMap<PartitionId, Vec<(&Life, Term)>> = BTreeMap::new();
        for (life, state) in &self.lives {
            for (partition, term, _) in state.line.leads(now) {
                let leaders = leaders.entry(partition).or_default();
                if leaders.last().is_none_or(|(last, _)| *last != life) {
                    leaders.push((life, term));
                }
            }
        }
        let mut changed = false;
        for (&partition, lane) in &mut self.lanes {
            let found = leaders.get(&partition).map_or(&[][..], Vec::as_slice);
            let known = lane.leaders.iter().map(|(life, term)| (life, *term));
            if known.eq(found.iter().copied()) {
                continue;
            }
            let ended = lane.leaders.iter().filter_map(|(life, term)| {
                self.lives.get(life)?.line.led_until((partition, *term), now)
            });
            let since = if found.is_empty() { ended.max().unwrap_or(since) } else { since };
            let leaders = found.iter().map(|(life, term)| ((*life).clone(), *term));
            lane.claimed(leaders.collect(), since);
            changed = true;
            events.push(Event::Leaders {
                group: self.name.clone(),
                partition,
                leaders: lane.leaders.iter().map(|(life, _)| life.clone()).collect(),
                since,
            });
        }
        if changed {
            self.look_at_lanes(events);
        }
        changed
    }

    /// Finds which partitions are led, after claims or certain gaps have changed.
    pub(super) fn look_at_lanes(&mut self, events: &mut Vec<Event>) {
        for (&partition, lane) in &mut self.lanes {
            if let Some(span) = lane.look() {
                events.push(Event::Unled { group: self.name.clone(), partition, span });
            }
        }
    }
}
