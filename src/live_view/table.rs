//! The counters of a topology that is kept up, and its events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::event::Span;
use super::open::Pending;
use super::picture::{
    BrokerPicture, Counts, GroupPicture, JournalPicture, MemberPicture, Picture, Promise, Run,
};
use super::reasons::ReasonsPicture;
use super::{Happening, Level, ROLES_MAX};
use crate::ids::{ClusterName, GroupName, MemberId, PartitionId, RoleIndex, RoleName};
use crate::live::{Event, Live, MemberState, OwnBroker, Place};
use crate::roles::RoleClass;
use crate::time::{self, Mono, Wall};
use crate::timeline::Interval;
use crate::topology::Plan;

/// The table of one topology. The current state is read from the live fold.
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) plan: Plan,
    /// When the run began.
    pub(super) began: Mono,
    health: Level,
    joint: Counts,
    groups: BTreeMap<GroupName, Counts>,
    /// From when on gaps and overlaps are counted.
    judged: Option<Mono>,
    missed: u64,
    /// The plans that take effect next, the earliest first.
    coming: VecDeque<Plan>,
}

/// When a picture is taken, and what the table does not know.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Now.
    pub now: Mono,
    /// The same on the wall clock.
    pub wall: Wall,
    /// For how long the supervisor has said nothing, if for too long.
    pub silent: Option<Duration>,
    /// Where facts are written.
    pub journal: JournalPicture,
    /// When the run ends by itself, where it does.
    pub ends: Option<Mono>,
    /// The number of the latest event.
    pub event: u64,
}

impl Table {
    /// A table whose counters have not started.
    #[must_use]
    pub fn new(plan: &Plan, now: Mono) -> Self {
        let groups = plan.groups.keys().map(|name| (name.clone(), Counts::default()));
        Self {
            plan: plan.clone(),
            began: now,
            health: Level::Starting,
            joint: Counts::default(),
            groups: groups.collect(),
            judged: None,
            missed: 0,
            coming: VecDeque::new(),
        }
    }

    /// Gaps and overlaps count from here on: every group has led every role.
    pub fn judge_from(&mut self, from: Mono) {
        self.judged.get_or_insert(from);
    }

    /// Takes a plan that holds from the next [`Event::Changed`] on. Its groups are the same.
    pub fn change(&mut self, plan: Plan) {
        self.coming.push_back(plan);
    }

    /// The part of an interval that counts, if any does.
    pub(super) fn judged(&self, span: Interval) -> Option<Interval> {
        let span = Interval::new(span.from.max(self.judged?), span.until);
        (!span.is_empty()).then_some(span)
    }

    /// What was counted of all groups together.
    #[must_use]
    pub fn joint(&self) -> Counts {
        self.joint
    }

    /// Takes an event of the live fold. Returns the resulting event of the view, with its instant.
    pub fn follow(&mut self, live: &Live, event: &Event) -> Option<(Mono, Happening)> {
        match event {
            Event::Leaders { group, partition, leaders, since } => {
                let (roles, role_count) = self.roles_on(group, *partition);
                let (group, leaders) = (group.clone(), leaders.clone());
                let partition = *partition;
                let what = Happening::Leaders { group, partition, leaders, roles, role_count };
                Some((*since, what))
            }
            Event::Health { now, since } => {
                let now = Level::from(*now);
                let before = std::mem::replace(&mut self.health, now);
                (now != before).then_some((*since, Happening::Health { now, before }))
            }
            Event::GapBegan(place, from, reason) => {
                let from = (*from).max(self.judged?);
                Some((from, Happening::GapBegan(self.span(place, from, None).after(reason))))
            }
            Event::Gap(place, span, reason) => {
                let span = self.judged(*span)?;
                self.counts(place)?.gap(span, place.roles.count);
                let gap = self.span(place, span.from, Some(span.until));
                Some((span.until, Happening::Gap(gap.after(reason))))
            }
            Event::Overlap(place, span) => {
                let span = self.judged(*span)?;
                self.counts(place)?.overlap(span, place.roles.count);
                let overlap = self.span(place, span.from, Some(span.until));
                Some((span.until, Happening::Overlap(overlap)))
            }
            Event::Late { facts, .. } => {
                self.miss(*facts);
                Some((live.health().1.max(self.began), Happening::Missed { facts: *facts }))
            }
            Event::Changed(_) => {
                self.plan = self.coming.pop_front()?;
                None
            }
            Event::Unled { .. }
            | Event::Settled(_)
            | Event::Takeover(..)
            | Event::FaultOver { .. } => None,
        }
    }

    /// So many facts were not taken into account.
    pub fn miss(&mut self, facts: u64) {
        self.missed = self.missed.saturating_add(facts);
    }

    fn counts(&mut self, place: &Place) -> Option<&mut Counts> {
        match &place.group {
            None => Some(&mut self.joint),
            Some(group) => self.groups.get_mut(group),
        }
    }

    fn span(&self, place: &Place, from: Mono, until: Option<Mono>) -> Span {
        let (roles, role_count) = self.named(place.roles);
        let (cause, by, stall_ms) = (None, None, None);
        Span { group: place.group.clone(), roles, role_count, from, until, cause, by, stall_ms }
    }

    fn roles_on(&self, group: &GroupName, partition: PartitionId) -> (Vec<RoleName>, usize) {
        // The first role on a partition is its namesake.
        let first = RoleIndex(partition.0);
        let planned = self.plan.groups.get(group);
        let class = planned.and_then(|of| self.plan.classes_of(of).find(|it| it.first == first));
        class.map_or((Vec::new(), 0), |roles| self.named(roles))
    }

    fn named(&self, roles: RoleClass) -> (Vec<RoleName>, usize) {
        let names = roles.roles().filter_map(|role| self.plan.roles.name(role));
        (names.take(ROLES_MAX).collect(), usize::try_from(roles.count).unwrap_or(usize::MAX))
    }

    /// The current state of everything.
    #[must_use]
    pub fn picture(&self, live: &Live, run: &Run, moment: Moment) -> Picture {
        let Moment { now, wall, silent, journal, ends, event } = moment;
        let joint = self.pending(live, None, now);
        let names = self.plan.groups.keys();
        let groups: BTreeMap<_, _> =
            names.map(|name| (name, self.pending(live, Some(name), now))).collect();
        let (health, since) = live.health();
        let roles = self.roles(live, now);
        Picture {
            run: run.clone(),
            at: wall,
            health: health.into(),
            health_for_ms: ms(now.since(since.max(self.began))),
            silent_ms: silent.map(ms),
            ends_in_ms: ends.map(|ends| ms(ends.since(now))),
            objective: self.objective(joint, &groups),
            joint: joint.and(self.joint),
            brokers: live.brokers().own().map(|own| broker(own, now)).collect(),
            reasons: ReasonsPicture::of(live, now),
            clocks: clocks(live),
            groups: groups.into_iter().filter_map(|of| self.group(live, of, now)).collect(),
            roles,
            journal,
            missed: self.missed,
            event,
        }
    }

    fn group(
        &self,
        live: &Live,
        (name, pending): (&GroupName, Pending),
        now: Mono,
    ) -> Option<(GroupName, GroupPicture)> {
        let (planned, counts) = self.plan.groups.get(name).zip(self.groups.get(name))?;
        let (mut led, mut leads) = (true, BTreeMap::<&MemberId, usize>::new());
        for roles in self.plan.classes_of(planned) {
            let state = live.role_state(name, roles.first)?;
            led &= state.is_led;
            let members: BTreeSet<_> = state.leaders.iter().map(|life| &life.member).collect();
            for member in members {
                *leads.entry(member).or_default() +=
                    usize::try_from(roles.count).unwrap_or(usize::MAX);
            }
        }
        let member = |name: &MemberId| {
            let MemberState { incarnation, pid, stopped, left, since, refused } =
                *live.member(name)?;
            let (for_ms, leads) =
                (ms(now.since(since.max(self.began))), leads.get(name).copied().unwrap_or(0));
            let refused_orders = refused;
            let picture =
                MemberPicture { incarnation, pid, stopped, left, for_ms, leads, refused_orders };
            Some((name.clone(), picture))
        };
        let members = live.members(name).filter_map(member).collect();
        let counts = pending.and(*counts).of_a_group();
        let cluster = planned.cluster.clone();
        Some((name.clone(), GroupPicture { cluster, led, members, counts }))
    }

    /// What is promised, with the gaps that are not final.
    fn objective(&self, joint: Pending, groups: &BTreeMap<&GroupName, Pending>) -> Vec<Promise> {
        let final_ms = self.groups.values().map(|counts| counts.gap_ms_max);
        let pending_ms = groups.values().map(|pending| pending.longest_ms);
        let groups = final_ms.chain(pending_ms).fold(0.0, f64::max);
        let joint = self.joint.gap_ms_max.max(joint.longest_ms);
        let promise = |what: &str, allowed: Option<time::Span>, longest_ms: f64| {
            let allowed_ms = ms(allowed?.get());
            let (left_ms, kept) = ((allowed_ms - longest_ms).max(0.0), longest_ms <= allowed_ms);
            Some(Promise { what: what.to_owned(), allowed_ms, longest_ms, left_ms, kept })
        };
        let objective = &self.plan.objective;
        let joint = promise("joint_gap", objective.joint_gap, joint);
        let group = promise("group_gap", objective.group_gap, groups);
        joint.into_iter().chain(group).collect()
    }
}

/// The broker of an embedded cluster.
fn broker((cluster, own): (&ClusterName, &OwnBroker), now: Mono) -> (ClusterName, BrokerPicture) {
    let OwnBroker { address, pid, since, deaths } = own.clone();
    (cluster.clone(), BrokerPicture { address, pid, for_ms: ms(now.since(since)), deaths })
}

impl Counts {
    fn gap(&mut self, span: Interval, roles: u32) {
        let one = ms(span.length());
        self.gaps += u64::from(roles);
        self.gap_ms += one * f64::from(roles);
        self.gap_ms_max = self.gap_ms_max.max(one);
    }

    fn overlap(&mut self, span: Interval, roles: u32) {
        *self.overlaps.get_or_insert(0) += u64::from(roles);
        *self.overlap_ms.get_or_insert(0.0) += ms(span.length()) * f64::from(roles);
    }
}

pub(super) fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

/// How far the instants of members on other hosts may be off, the worst of each clock.
fn clocks(live: &Live) -> BTreeMap<String, f64> {
    let mut worst = BTreeMap::<String, Duration>::new();
    for (_, clock, error) in live.causes().compared() {
        let known = worst.entry(clock.to_string()).or_default();
        *known = error.max(*known);
    }
    worst.into_iter().map(|(clock, error)| (clock, ms(error))).collect()
}
