//! Who leads what, who lives, and what was counted: kept fact by fact.

use std::collections::BTreeMap;
use std::time::Duration;

use super::brokers::Brokers;
use super::event::Span;
use super::open::{Pending, Unled};
use super::picture::{Counts, GroupPicture, JournalPicture, MemberPicture, Picture, Promise, Run};
use super::reasons::Reasons;
use super::{Happening, Level, ROLES_MAX};
use crate::ids::{GroupName, Incarnation, Life, MemberId, PartitionId, RoleIndex, RoleName};
use crate::live::{Event, Place};
use crate::observation::{Fact, What};
use crate::roles::RoleClass;
use crate::time::{self, Mono, Wall};
use crate::timeline::Interval;
use crate::topology::Plan;

/// The table of one topology.
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) plan: Plan,
    pub(super) groups: BTreeMap<GroupName, Row>,
    brokers: Brokers,
    reasons: Reasons,
    joint: Counts,
    /// Gaps of all groups that are certain and go on: since when.
    pub(super) open: BTreeMap<Place, Mono>,
    /// Up to when everything is final: what is in `open` lasts until then at least.
    pub(super) settled: Mono,
    /// When each class of roles, by its first, had its last gap in all groups at once, if that is
    /// final.
    pub(super) joint_until: BTreeMap<RoleIndex, Mono>,
    health: Level,
    since: Mono,
    /// From when on gaps and overlaps are counted.
    judged: Option<Mono>,
    missed: u64,
}

/// One group.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) partitions: BTreeMap<PartitionId, Cell>,
    members: BTreeMap<MemberId, Seat>,
    counts: Counts,
}

/// One partition of a group.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// Who claims it.
    pub(super) leaders: Vec<Life>,
    /// Since when it is led without a gap; since the beginning, where nobody has led it yet.
    pub(super) led_since: Mono,
    /// Somebody has led it.
    pub(super) ever: bool,
    /// When it was not led, the last time; until that is final.
    pub(super) unled: Option<Unled>,
    roles: u32,
}

/// One member.
#[derive(Debug, Clone, Copy)]
struct Seat {
    incarnation: Incarnation,
    pid: Option<u32>,
    stopped: bool,
    /// It was asked to leave its group, and does.
    left: bool,
    since: Mono,
}

/// When a picture is taken, and what the table does not know.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Now.
    pub now: Mono,
    /// The same on the wall clock.
    pub wall: Wall,
    /// Where facts are written.
    pub journal: JournalPicture,
    /// When the run ends by itself, where it does.
    pub ends: Option<Mono>,
    /// The number of the latest event.
    pub event: u64,
}

impl Table {
    /// Nobody lives yet.
    #[must_use]
    pub fn new(plan: &Plan, now: Mono) -> Self {
        let (incarnation, pid) = (Incarnation(0), None);
        let seat = Seat { incarnation, pid, stopped: false, left: false, since: now };
        let mut groups: BTreeMap<GroupName, Row> = BTreeMap::new();
        for (name, group) in &plan.groups {
            let row = groups.entry(name.clone()).or_default();
            row.members = group.members.iter().map(|member| (member.clone(), seat)).collect();
            for roles in plan.classes_of(group) {
                let cell = Cell { roles: roles.count, ..Cell::empty(now) };
                row.partitions.insert(group.partition(roles.first), cell);
            }
        }
        Self {
            plan: plan.clone(),
            groups,
            brokers: Brokers::default(),
            reasons: Reasons::default(),
            joint: Counts::default(),
            open: BTreeMap::new(),
            settled: now,
            joint_until: BTreeMap::new(),
            health: Level::Starting,
            since: now,
            judged: None,
            missed: 0,
        }
    }

    /// Gaps and overlaps count from here on: every group has led every role.
    pub fn judge_from(&mut self, from: Mono) {
        self.judged.get_or_insert(from);
    }

    /// The part of an interval that counts, if any does.
    pub(super) fn judged(&self, span: Interval) -> Option<Interval> {
        let span = Interval::new(span.from.max(self.judged?), span.until);
        (!span.is_empty()).then_some(span)
    }

    /// How the whole stands.
    #[must_use]
    pub fn health(&self) -> Level {
        self.health
    }

    /// What was counted of all groups together.
    #[must_use]
    pub fn joint(&self) -> Counts {
        self.joint
    }

    /// Takes a fact; what is to be told of it.
    pub fn take(&mut self, fact: &Fact) -> Option<Happening> {
        if matches!(fact.what, What::Renewed { .. } | What::Ticks { .. }) {
            return None; // nearly all there are
        }
        if let Some(told) = self.brokers.take(fact).or_else(|| self.reasons.take(fact)) {
            return Some(told);
        }
        let life = fact.life.clone()?;
        let group = self.plan.group_of(&life.member)?;
        let seat = self.groups.get_mut(group)?.members.get_mut(&life.member)?;
        let (incarnation, since) = (life.incarnation, fact.t);
        if let What::Started { pid } = fact.what {
            *seat = Seat { incarnation, pid: Some(pid), stopped: false, left: false, since };
            return Some(Happening::Started { life, pid });
        }
        if seat.incarnation != incarnation {
            return None;
        }
        if let What::Leaving = &fact.what {
            seat.left = true;
            return Some(Happening::Leaving { life });
        }
        if let What::Died { signal, status } = fact.what {
            let left = seat.left && status == Some(0);
            *seat = Seat { incarnation, pid: None, stopped: false, left, since };
            return Some(match left {
                true => Happening::Left { life },
                false => Happening::Died { life, signal, status },
            });
        }
        let stopped = fact.what == What::Stopped;
        if !stopped && fact.what != What::Continued {
            return None;
        }
        *seat = Seat { stopped, since, ..*seat };
        Some(if stopped { Happening::Stopped { life } } else { Happening::Continued { life } })
    }

    /// Takes what the watch makes of the facts; what is to be told of it, and when that was so.
    pub fn follow(&mut self, event: Event) -> Option<(Mono, Happening)> {
        match event {
            Event::Leaders { group, partition, leaders, since } => {
                let (roles, role_count) = self.roles_on(&group, partition);
                let cell = self.groups.get_mut(&group)?.partitions.get_mut(&partition)?;
                cell.follow(leaders.clone(), since);
                let what = Happening::Leaders { group, partition, leaders, roles, role_count };
                Some((since, what))
            }
            Event::Unled { group, partition, span } => {
                self.groups.get_mut(&group)?.partitions.get_mut(&partition)?.unled(span);
                None
            }
            Event::Health { now, since } => {
                let (before, now) = (self.health, Level::from(now));
                (self.health, self.since) = (now, since);
                (now != before).then_some((since, Happening::Health { now, before }))
            }
            Event::GapBegan(place, from) => {
                self.open.insert(place.clone(), from);
                let from = from.max(self.judged?);
                Some((from, Happening::GapBegan(self.span(&place, from, None))))
            }
            Event::Gap(place, span) => {
                self.open.remove(&place);
                self.finish(&place, span);
                let span = self.judged(span)?;
                self.counts(&place)?.gap(span, place.roles.count);
                let told = self.span(&place, span.from, Some(span.until));
                Some((span.until, Happening::Gap(told)))
            }
            Event::Overlap(place, span) => {
                let span = self.judged(span)?;
                self.counts(&place)?.overlap(span, place.roles.count);
                let told = self.span(&place, span.from, Some(span.until));
                Some((span.until, Happening::Overlap(told)))
            }
            Event::Settled(until) => {
                self.settled = until;
                None
            }
            Event::Takeover(..) => None,
            Event::Late { facts, .. } => {
                self.miss(facts);
                Some((self.since, Happening::Missed { facts }))
            }
        }
    }

    /// So many facts were not taken into account.
    pub fn miss(&mut self, facts: u64) {
        self.missed = self.missed.saturating_add(facts);
    }

    /// A gap is final: what was heard of it counts no more.
    fn finish(&mut self, place: &Place, gap: Interval) {
        if place.group.is_none() {
            self.joint_until.insert(place.roles.first, gap.until);
        }
        let Some(name) = &place.group else { return };
        let Some(on) = self.plan.groups.get(name).map(|of| of.partition(place.roles.first)) else {
            return;
        };
        if let Some(cell) = self.groups.get_mut(name).and_then(|row| row.partitions.get_mut(&on)) {
            cell.unled = cell.unled.and_then(|unled| unled.unless_final(gap));
            cell.led_since = cell.led_since.max(gap.until);
        }
    }

    fn counts(&mut self, place: &Place) -> Option<&mut Counts> {
        match &place.group {
            None => Some(&mut self.joint),
            Some(group) => self.groups.get_mut(group).map(|row| &mut row.counts),
        }
    }

    fn span(&self, place: &Place, from: Mono, until: Option<Mono>) -> Span {
        let (roles, role_count) = self.named(place.roles);
        Span { group: place.group.clone(), roles, role_count, from, until }
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

    /// How everything stands.
    #[must_use]
    pub fn picture(&self, run: &Run, moment: Moment) -> Picture {
        let Moment { now, wall, journal, ends, event } = moment;
        let joint = self.pending(None, now);
        let names = self.plan.groups.keys();
        let groups: BTreeMap<_, _> =
            names.map(|name| (name, self.pending(Some(name), now))).collect();
        Picture {
            run: run.clone(),
            at: wall,
            health: self.health,
            health_for_ms: ms(now.since(self.since)),
            ends_in_ms: ends.map(|ends| ms(ends.since(now))),
            objective: self.objective(joint, &groups),
            joint: joint.and(self.joint),
            brokers: self.brokers.picture(now),
            reasons: self.reasons.picture(now),
            groups: groups.into_iter().filter_map(|of| self.group(of, now)).collect(),
            roles: self.roles(now),
            journal,
            missed: self.missed,
            event,
        }
    }

    fn group(
        &self,
        (name, pending): (&GroupName, Pending),
        now: Mono,
    ) -> Option<(GroupName, GroupPicture)> {
        let (planned, row) = self.plan.groups.get(name).zip(self.groups.get(name))?;
        let leads = |member: &MemberId| {
            let led = row.partitions.values().filter(|cell| cell.is_led_by(member));
            usize::try_from(led.map(|cell| cell.roles).sum::<u32>()).unwrap_or(usize::MAX)
        };
        let member = |(member, seat): (&MemberId, &Seat)| {
            let Seat { incarnation, pid, stopped, left, since } = *seat;
            let (for_ms, leads) = (ms(now.since(since)), leads(member));
            (member.clone(), MemberPicture { incarnation, pid, stopped, left, for_ms, leads })
        };
        let picture = GroupPicture {
            cluster: planned.cluster.clone(),
            led: row.partitions.values().all(Cell::is_led),
            members: row.members.iter().map(member).collect(),
            counts: pending.and(row.counts).of_a_group(),
        };
        Some((name.clone(), picture))
    }

    /// What is promised, with the gaps that are not final.
    fn objective(&self, joint: Pending, groups: &BTreeMap<&GroupName, Pending>) -> Vec<Promise> {
        let final_ms = self.groups.values().map(|row| row.counts.gap_ms_max);
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

impl Cell {
    fn empty(since: Mono) -> Self {
        Self { leaders: Vec::new(), led_since: since, ever: false, unled: None, roles: 0 }
    }

    /// They claim it since then.
    fn follow(&mut self, leaders: Vec<Life>, since: Mono) {
        if !self.ever && !leaders.is_empty() {
            (self.ever, self.led_since) = (true, since);
        }
        self.leaders = leaders;
    }

    /// It is not led, or was not.
    fn unled(&mut self, span: Interval) {
        let open = self.unled.filter(|open| open.goes_on_since() == Some(span.from));
        let began = open.unwrap_or_else(|| Unled::began(span.from, self.unled));
        (self.ever, self.unled) = (true, began.ended(span.until));
        if self.unled_since().is_none() {
            self.led_since = self.led_since.max(span.until);
        }
    }

    /// Since when it is not led, where it once was.
    pub(super) fn unled_since(&self) -> Option<Mono> {
        self.unled.and_then(Unled::goes_on_since)
    }

    /// Whether it is led now.
    pub(super) fn is_led(&self) -> bool {
        !self.leaders.is_empty() && self.unled_since().is_none()
    }

    fn is_led_by(&self, member: &MemberId) -> bool {
        self.leaders.iter().any(|life| life.member == *member)
    }
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
