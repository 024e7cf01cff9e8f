//! The live fold of the facts: the current leaders and disturbances, and gaps and overlaps as they
//! happen, without keeping all facts. Every reader of a running run reads it here.
//!
//! ```text
//!   record -- observe ---------> +------+ ---- poll_event ----> screen, metrics, annotations
//!   clock  -- handle_timeout --> | Live | ---- poll_timeout --> clock
//!   run    -- end, finish -----> +------+ ---- totals, leaders, settled_since --> any reader
//! ```
//!
//! The owner passes every fact in the order of arrival ([`observe`](Live::observe)), calls
//! [`handle_timeout`](Live::handle_timeout) when [`poll_timeout`](Live::poll_timeout) says so, and
//! takes events until there are none. When the run asks its members to leave, the owner calls
//! [`end`](Live::end), because later changes are no gaps. After the last fact it calls
//! [`finish`](Live::finish).
//!
//! There are two views. The **immediate** view (leaders, health, and their events) is the state by
//! the facts so far. Later facts may correct it, and it no longer changes after
//! [`end`](Live::end). The **final** view (totals, gaps, overlaps, takeovers) is [`LAG`] behind, so
//! that all facts of that time have arrived: members report every 50 ms, and 500 ms are for the
//! delivery. So its numbers never decrease. While a question is open (a member has fallen silent,
//! or a kill was asked for and not confirmed), the final view waits for the answer, for at most
//! [`PATIENCE`] longer. A fact that comes even later does not change the final view, and is counted
//! as late, if it says something of what was counted.
//!
//! The definitions are the timeline's, and so is the code that decides the state of one life: gaps
//! are gaps of service, overlaps are overlaps of claims, unobserved time is unknown, and a joint
//! gap is a gap in all groups at once. Three things differ. A role counts from the first instant in
//! which the group certainly led it (jointly: any group), and across trials. A member that is
//! silent for longer than the patience and then reports again is unknown for that time, whereas the
//! timeline uses the later answer. And a fact whose number shows that an earlier fact was lost says
//! nothing about the time that is already final.
//!
//! If the owner itself was not scheduled, nothing becomes final until a fact says whether its guard
//! has meanwhile ended everything ([`RunEvent::Unattended`]). If so, nothing counts from there on.
//!
//! The memory does not grow with the run: it holds the latest lives, their open claims, and a few
//! seconds.

mod brokers;
mod causes;
mod changing;
mod event;
mod faults;
mod group;
mod healed;
mod history;
mod joint;
mod lane;
mod late;
mod member;
mod passing;
mod queries;
mod settle;
mod tally;
mod unled;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub use brokers::{Brokers, OwnBroker};
pub use causes::{Causes, Refused, STALL_LEAST, Stalls, Unconnected};
pub use event::{Event, Health, Place, Totals};
pub use faults::{FaultWindow, Target, Victim};
pub use history::Reason;
pub use member::MemberState;
pub use queries::{Finality, RoleState};
pub use settle::Obstacle;

use crate::roster::Roster;
use crate::timeline::{Hindrances, Interval, IntervalSet};
use faults::FaultWindows;
use group::GroupState;
use history::History;
use joint::Class;
use tandem_facts::ids::{GroupName, Life, MemberId};
use tandem_facts::observation::{Fact, MemberEvent, RunEvent, What};
use tandem_facts::time::Mono;

/// How long the delivery of a fact may take.
const WAY: Duration = Duration::from_millis(500);
/// How far the final view is behind: the delivery, and the time in which missing ticks show.
pub const LAG: Duration = Duration::from_millis(650);
/// How long an open question may delay the final view.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The owner lets time pass many times a second. After a longer pause it was not scheduled, and its
/// processes may have ended meanwhile.
const AWAY: Duration = Duration::from_secs(2);
/// How long after the pause a fact may say whether they did.
const WORD: Duration = Duration::from_secs(2);
/// How often the immediate view checks for expired claims.
const LOOK: Duration = Duration::from_millis(50);
/// How often the final view advances.
const COUNT: Duration = Duration::from_millis(200);

/// The live fold over all groups of a roster.
#[derive(Debug, Clone)]
pub struct Live {
    homes: BTreeMap<MemberId, GroupName>,
    groups: BTreeMap<GroupName, GroupState>,
    /// In the order of their first roles. The class of a role is the first one that contains it.
    classes: Vec<Class>,
    faults: FaultWindows,
    brokers: Brokers,
    causes: Causes,
    history: History,
    hindrances: Hindrances,
    stalls: IntervalSet,
    /// The controller's last fact.
    own: Option<(u64, Mono)>,
    now: Mono,
    /// When `handle_timeout` was last called.
    asked_at: Option<Mono>,
    look_at: Mono,
    count_at: Mono,
    /// Everything before this instant is final.
    settled: Mono,
    /// Which facts had arrived when that was decided.
    known: Mono,
    end: Option<Mono>,
    health: (Health, Mono),
    /// When the last gap of a group, and of all groups together, ended.
    healed: (Mono, Mono),
    late: (u64, Duration),
    /// How much longer than usual facts are waited for.
    behind: Duration,
    events: VecDeque<Event>,
    /// From when on which other roster holds, the earliest first.
    coming: VecDeque<(Mono, Roster)>,
}

impl Live {
    /// A fold without members started.
    #[must_use]
    pub fn new(roster: impl Into<Roster>) -> Self {
        let roster = &roster.into();
        let homes = roster.groups.iter().flat_map(|(name, group)| {
            group.members.iter().map(move |member| (member.clone(), name.clone()))
        });
        let group = |of: (&GroupName, _)| (of.0.clone(), GroupState::new(roster, of));
        let classes = joint::classes(roster);
        Self {
            homes: homes.collect(),
            groups: roster.groups.iter().map(group).collect(),
            classes,
            faults: FaultWindows::default(),
            brokers: Brokers::new(roster),
            causes: Causes::default(),
            history: History::new(roster),
            hindrances: Hindrances::default(),
            stalls: IntervalSet::default(),
            own: None,
            now: Mono::ZERO,
            asked_at: None,
            look_at: Mono::ZERO,
            count_at: Mono::ZERO,
            settled: Mono::ZERO,
            known: Mono::ZERO,
            end: None,
            health: (Health::Starting, Mono::ZERO),
            healed: (Mono::ZERO, Mono::ZERO),
            late: (0, Duration::ZERO),
            behind: Duration::ZERO,
            events: VecDeque::new(),
            coming: VecDeque::new(),
        }
    }

    /// Takes a fact. The facts of one author must come in the order in which it wrote them; the
    /// order between authors does not matter.
    pub fn observe(&mut self, fact: &Fact) {
        self.note_if_late(fact);
        self.hindrances.observe(fact);
        self.causes.observe(fact);
        if !fact.what.is_by_member() {
            self.observe_own(fact);
        }
        let Some(life) = &fact.life else {
            self.history.observe(fact, None);
            return;
        };
        self.admit(life, &fact.what);
        let home = self.homes.get(&life.member);
        self.history.observe(fact, home);
        let Some(group) = home.and_then(|home| self.groups.get_mut(home)) else { return };
        group.observe(life, fact);
        // These facts only repeat the current state. Changes are found at the next check.
        if !matches!(
            fact.what,
            What::Member(MemberEvent::Ticks { .. } | MemberEvent::Renewed { .. })
        ) {
            self.now = self.now.max(fact.t);
            let mut events = Vec::new();
            if self.end.is_none_or(|end| self.now < end)
                && group.look(self.now, changed_at(fact), &mut events)
            {
                self.events.extend(events);
                self.look_at_health();
            }
        }
    }

    /// Takes up a member that the run did not start. A name belongs to the group that bore it
    /// first.
    fn admit(&mut self, life: &Life, what: &What) {
        if let What::Run(RunEvent::Started { external: Some(external), .. }) = what
            && let Some(group) = self.groups.get_mut(&external.group)
        {
            let home = self.homes.entry(life.member.clone());
            if *home.or_insert_with(|| external.group.clone()) == external.group {
                group.members.entry(life.member.clone()).or_insert(MemberState::ABSENT);
            }
        }
    }

    fn observe_own(&mut self, fact: &Fact) {
        if let Some((seq, t)) = self.own
            && fact.seq > seq + 1
        {
            // The lost fact may concern any life: a death, or a stop.
            self.groups.values_mut().for_each(|group| group.forget(Interval::new(t, fact.t)));
        }
        self.own = Some((fact.seq, fact.t));
        self.observe_faults(fact);
        if let What::Run(RunEvent::FaultFailed { fault, .. }) = &fact.what {
            self.groups.values_mut().for_each(|group| group.fail(fault));
        }
        if let What::Run(RunEvent::Stall { from, until, .. }) = &fact.what {
            self.stalls = self.stalls.union(&Interval::new(*from, *until).into());
        }
        if let What::Run(RunEvent::Suspended { from, until }) = &fact.what {
            let unseen = Interval::new(*from, *until);
            self.groups.values_mut().for_each(|group| group.forget(unseen));
        }
        if let What::Run(RunEvent::Unattended { from }) = &fact.what {
            // Unobserved time is not counted.
            self.end = Some(self.end.map_or(*from, |end| end.min(*from)));
        }
    }

    /// Takes a fact about the traffic between members and brokers: a fault, or a dead broker.
    fn observe_faults(&mut self, fact: &Fact) {
        let mut unsettled = self.brokers.observe(fact);
        let home = fact.life.as_ref().and_then(|life| self.homes.get(&life.member));
        if let What::Run(RunEvent::FaultAsked { class, .. }) = &fact.what
            && class.holds()
        {
            unsettled.extend(home.cloned());
        }
        if let What::Run(RunEvent::FaultHealed { fault }) = &fact.what
            && let Some(window) = self.faults.0.get(fault)
        {
            match &fact.life {
                None => unsettled.extend(self.brokers.taken_by(window)),
                Some(life) if window.holds(&life.member) => unsettled.extend(home.cloned()),
                Some(_) => {}
            }
        }
        for name in unsettled {
            if let Some(group) = self.groups.get_mut(&name) {
                group.unsettle(fact.t);
            }
        }
        for (fault, window) in self.faults.observe(fact) {
            self.events.push_back(Event::FaultOver { fault, window, until: fact.t });
        }
    }

    /// Advances the time to `now`.
    pub fn handle_timeout(&mut self, now: Mono) {
        self.now = self.now.max(now);
        let asked_at = self.asked_at.replace(now);
        if asked_at.is_some_and(|before| now.since(before) > AWAY) {
            self.count_at = self.now + WORD;
        }
        if self.now >= self.look_at {
            self.look_at = self.now + LOOK;
            let mut events = Vec::new();
            let mut changed = false;
            let lasts = self.end.is_none_or(|end| self.now < end);
            for group in self.groups.values_mut().filter(|_| lasts) {
                changed |= group.look(self.now, self.now, &mut events);
            }
            if changed {
                self.events.extend(events);
                self.look_at_health();
            }
        }
        if self.now >= self.count_at {
            self.count_at = self.now + COUNT;
            let known = self.now - self.behind - WAY;
            let undecided = self.groups.values().filter_map(|group| group.undecided_since(known));
            let latest = self.now - self.behind - LAG;
            let until = undecided.min().map_or(latest, |at| latest.min(at.max(latest - PATIENCE)));
            self.count(until, known);
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next; `None` once everything is final.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        self.end.is_none_or(|end| self.settled < end).then(|| self.look_at.min(self.count_at))
    }

    /// The next event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Called when the members are asked to leave: nothing counts from `at` on.
    pub fn end(&mut self, at: Mono) {
        self.end.get_or_insert(at);
    }

    /// Called after the last fact: everything is final as it is.
    pub fn finish(&mut self, now: Mono) {
        self.now = self.now.max(now);
        let end = *self.end.get_or_insert(self.now);
        self.count(end, Mono(u64::MAX));
    }

    fn count(&mut self, until: Mono, known: Mono) {
        let until = self.end.map_or(until, |end| until.min(end));
        while let Some((at, _)) = self.coming.front().filter(|(at, _)| *at <= until) {
            self.count_until(*at, known);
            self.turn();
        }
        self.count_until(until, known);
    }

    fn count_until(&mut self, until: Mono, known: Mono) {
        let window = Interval::new(self.settled, until);
        if window.is_empty() {
            return;
        }
        let (mut events, mut services) = (Vec::new(), BTreeMap::new());
        for (name, group) in &mut self.groups {
            group.decide(until, known, &self.stalls);
            services.insert(name.clone(), group.count(window, &mut events));
            group.look_at_lanes(&mut events);
            group.drop_before(until);
        }
        for class in &mut self.classes {
            class.count(window, &services, &mut events);
        }
        (self.settled, self.known) = (until, known);
        let recent = Interval::new(until - PATIENCE - LAG, Mono(u64::MAX));
        self.stalls = self.stalls.within(recent);
        events.push(Event::Settled(until));
        if self.end == Some(until) {
            let lanes = self.groups.values_mut().flat_map(|group| group.lanes.values_mut());
            lanes.for_each(|lane| lane.count(|tally| tally.end(&mut events)));
            self.classes.iter_mut().for_each(|class| class.tally.end(&mut events));
        }
        events.extend(self.report_late());
        self.history.explain(&mut events, until);
        for event in &events {
            if let Event::Gap(place, gap, _) = event {
                self.healed(place.group.is_none(), gap.until);
            }
        }
        self.events.extend(events);
        self.look_at_health();
    }

    fn look_at_health(&mut self) {
        let mut worst = (Health::Led, None);
        for class in &mut self.classes {
            let (health, since) = class.look(&self.groups);
            let earlier =
                health == worst.0 && since.is_some_and(|at| worst.1.is_none_or(|b| at < b));
            if health.badness() > worst.0.badness() || earlier {
                worst = (health, since);
            }
        }
        let ((health, since), (before, began)) = (worst, self.health);
        if health != before {
            // A worse health starts when the first leader is lost, a better one when the last
            // leader is found. A role that is led for the first time is led from now on.
            let worse = since.filter(|_| health.badness() > before.badness());
            let lanes = self.groups.values().flat_map(|group| group.lanes.values());
            let found = lanes.filter_map(lane::Lane::led_since).max();
            let found = found.filter(|_| before != Health::Starting);
            let since = worse.or(found).map_or(self.now, |since| since.max(began));
            self.health = (health, since);
            self.events.push_back(Event::Health { now: health, since });
        }
        self.look_since();
    }
}

/// The instant at which the content of a fact became true.
fn changed_at(fact: &Fact) -> Mono {
    if let What::Member(MemberEvent::Claimed { from: at, .. } | MemberEvent::Lapsed { at, .. }) =
        &fact.what
    {
        return *at;
    }
    fact.t
}
