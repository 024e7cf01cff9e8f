//! The queries of the live fold.

use super::joint::Class;
use super::lane::Lane;
use super::{Brokers, Causes, FaultWindow, Health, Live, MemberState, Totals};
use crate::timeline::Hindrances;
use tandem_facts::ids::{FaultId, GroupName, Life, MemberId, PartitionId, RoleIndex};
use tandem_facts::time::Mono;

/// How far the facts are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finality {
    /// Everything before this instant is final.
    pub settled: Mono,
    /// When that was decided, all facts stamped before this instant had arrived.
    pub known: Mono,
    /// Whether nothing after it is counted.
    pub is_over: bool,
}

/// The state of a role in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleState<'a> {
    /// The lives that claim it.
    pub leaders: Vec<&'a Life>,
    /// Whether it is led.
    pub is_led: bool,
    /// Since when it is led without a gap; zero if it was never led.
    pub led_since: Mono,
    /// Since when it is not led, if it was led before.
    pub unled_since: Option<Mono>,
}

impl Live {
    /// The current health of all roles, and since when.
    #[must_use]
    pub fn health(&self) -> (Health, Mono) {
        self.health
    }

    /// The lives that lead a role in a group now, and since when; `None` if none ever led it.
    #[must_use]
    pub fn leaders(&self, group: &GroupName, role: RoleIndex) -> (Vec<&Life>, Option<Mono>) {
        self.lane(group, role).map_or((Vec::new(), None), |lane| {
            (lane.leaders.iter().map(|(life, _)| life).collect(), lane.since)
        })
    }

    /// The partition of a role in a group.
    #[must_use]
    pub fn partition(&self, group: &GroupName, role: RoleIndex) -> Option<PartitionId> {
        self.class(role)?.at.get(group).copied()
    }

    /// How many groups lead a role now.
    #[must_use]
    pub fn led(&self, role: RoleIndex) -> usize {
        self.class(role).map_or(0, |class| class.led)
    }

    /// The counters of a role in one group, or in all groups together.
    #[must_use]
    pub fn totals(&self, group: Option<&GroupName>, role: RoleIndex) -> Totals {
        let tally = || match group {
            None => Some(&self.class(role)?.tally),
            Some(group) => Some(&self.lane(group, role)?.tally),
        };
        tally().map(|tally| tally.totals).unwrap_or_default()
    }

    /// The faults that are not known to be healed.
    pub fn faults(&self) -> impl Iterator<Item = (&FaultId, &FaultWindow)> {
        self.faults.0.iter()
    }

    /// The brokers that the run started, and those that are lost.
    #[must_use]
    pub fn brokers(&self) -> &Brokers {
        &self.brokers
    }

    /// Other causes why a role may not be led.
    #[must_use]
    pub fn causes(&self) -> &Causes {
        &self.causes
    }

    /// How long the host kept the instrument or a member from running, by trial.
    #[must_use]
    pub fn hindrances(&self) -> &Hindrances {
        &self.hindrances
    }

    /// The members of a group: those of the roster, and those that the run did not start.
    pub fn members(&self, group: &GroupName) -> impl Iterator<Item = &MemberId> {
        self.groups.get(group).into_iter().flat_map(|group| group.members.keys())
    }

    /// A member in its latest life.
    #[must_use]
    pub fn member(&self, member: &MemberId) -> Option<&MemberState> {
        self.groups.get(self.homes.get(member)?)?.members.get(member)
    }

    /// The state of the roles of one partition of a group.
    #[must_use]
    pub fn role_state(&self, group: &GroupName, role: RoleIndex) -> Option<RoleState<'_>> {
        let lane = self.lane(group, role)?;
        Some(RoleState {
            leaders: lane.leaders.iter().map(|(life, _)| life).collect(),
            is_led: lane.is_led(),
            led_since: lane.served_since(),
            unled_since: lane.unled_since(),
        })
    }

    /// Since when every role has been led in every group, by the facts alone; meaningful while all
    /// are led.
    #[must_use]
    pub fn led_from(&self) -> Mono {
        let lanes = self.groups.values().flat_map(|group| group.lanes.values());
        lanes.map(Lane::served_since).max().unwrap_or(Mono::ZERO)
    }

    /// Everything before this instant is final.
    #[must_use]
    pub fn settled(&self) -> Mono {
        self.settled
    }

    /// How far the facts are final, and which facts had arrived by then.
    #[must_use]
    pub fn finality(&self) -> Finality {
        let is_over = self.end == Some(self.settled);
        Finality { settled: self.settled, known: self.known, is_over }
    }

    fn lane(&self, group: &GroupName, role: RoleIndex) -> Option<&Lane> {
        self.groups.get(group)?.lanes.get(&self.partition(group, role)?)
    }

    pub(super) fn class(&self, role: RoleIndex) -> Option<&Class> {
        let step = self.classes.first()?.tally.place.roles.step;
        let class = self.classes.get(usize::try_from(role.0 % step).ok()?)?;
        class.tally.place.roles.contains(role).then_some(class)
    }
}
