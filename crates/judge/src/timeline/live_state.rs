//! The current state of all groups, updated fact by fact while a run goes on.
//!
//! The gate before a trial and the choice of victims use it. It judges nothing: the report is
//! computed afterwards from all facts, late ones included.

use std::collections::{BTreeMap, BTreeSet};

use super::away::Away;
use super::hindrances::Hindrances;
use crate::roster::Roster;
use tandem_facts::ids::{
    ClusterName, FaultId, GroupName, Incarnation, Life, MemberId, PartitionId, Term,
};
use tandem_facts::observation::{Fact, Horizon, What};
use tandem_facts::time::{Mono, Wall};

/// The current state of all groups of a roster.
#[derive(Debug, Clone)]
pub struct LiveState {
    homes: BTreeMap<MemberId, GroupName>,
    groups: BTreeMap<GroupName, GroupState>,
    away: Away,
    hindrances: Hindrances,
}

/// The state of one group.
#[derive(Debug, Clone)]
struct GroupState {
    /// The partitions that have roles.
    bearing: BTreeSet<PartitionId>,
    /// The number of partitions.
    width: usize,
    members: BTreeMap<MemberId, MemberState>,
    /// The latest fact that unsettles the group.
    changed: Mono,
}

/// The state of one member: one life, or two while a second process has its name.
#[derive(Debug, Clone, Default)]
struct MemberState {
    lives: BTreeMap<Incarnation, LifeState>,
    /// Faults that affect the member until they are healed.
    cut: BTreeSet<FaultId>,
}

/// The state of one life of a member.
#[derive(Debug, Clone, Default)]
struct LifeState {
    alive: bool,
    stopped: bool,
    /// Whether its partitions were revoked and none assigned since: a rebalance is under way.
    between: bool,
    /// Whether the group assigned partitions to this life, or the life claims some.
    joined: bool,
    claims: BTreeMap<PartitionId, (Term, Mono)>,
    /// The last reading of its wall clock, and when.
    clock: Option<(Mono, Wall)>,
}

/// What keeps a group from being settled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The roster has no such group.
    #[error("there is no group {0}")]
    Stranger(GroupName),
    /// A member is stopped, and would continue with old claims.
    #[error("{0} is stopped")]
    Stopped(MemberId),
    /// A fault affects the traffic between a member and its brokers, so its claims mean little.
    #[error("fault {fault} still affects {member}")]
    Cut {
        /// The member.
        member: MemberId,
        /// The fault.
        fault: FaultId,
    },
    /// A member's partitions were revoked, and it waits for new ones.
    #[error("{0} is in a rebalance")]
    Rebalancing(MemberId),
    /// A member is alive, but has not joined the group yet.
    #[error("{0} has not joined yet")]
    Unjoined(MemberId),
    /// A fault took a broker of the group.
    #[error("the broker of fault {0} is not back")]
    Broker(FaultId),
    /// A broker of the group died by itself.
    #[error("the broker of cluster {0} died")]
    Dead(ClusterName),
    /// A partition with roles has no leader, or several.
    #[error("partition {partition} has {leaders} leaders")]
    Leaders {
        /// The partition.
        partition: PartitionId,
        /// The number of living members that claim it.
        leaders: usize,
    },
}

impl LiveState {
    /// A state without living members.
    #[must_use]
    pub fn new(roster: impl Into<Roster>) -> Self {
        let roster = &roster.into();
        let home = |(name, group): (&GroupName, &crate::roster::RosterGroup)| {
            let name = name.clone();
            group.members.iter().map(move |member| (member.clone(), name.clone())).collect()
        };
        let state = |group: &crate::roster::RosterGroup| GroupState {
            bearing: roster.classes_of(group).map(|roles| group.partition(roles.first)).collect(),
            width: PartitionId(group.partitions.get()).index(),
            members: group
                .members
                .iter()
                .map(|member| (member.clone(), MemberState::default()))
                .collect(),
            changed: Mono::ZERO,
        };
        Self {
            homes: roster.groups.iter().flat_map::<Vec<_>, _>(home).collect(),
            groups: roster.groups.iter().map(|(name, g)| (name.clone(), state(g))).collect(),
            away: Away::new(roster),
            hindrances: Hindrances::default(),
        }
    }

    /// Takes a fact. Facts of dead and former lives are ignored.
    pub fn observe(&mut self, fact: &Fact) {
        self.hindrances.observe(fact);
        let Some(life) = &fact.life else { return self.observe_broker(fact) };
        let Some(home) = self.homes.get(&life.member) else { return };
        let Some(state) = self.groups.get_mut(home) else { return };
        let Some(member_state) = state.members.get_mut(&life.member) else { return };
        // Faults between a member and its brokers affect all lives of the member.
        let cut = member_state.observe_network(fact);
        let unsettles = if matches!(fact.what, What::Started { .. }) {
            member_state.lives.retain(|_, life_state| life_state.alive);
            member_state
                .lives
                .insert(life.incarnation, LifeState { alive: true, ..LifeState::default() });
            true
        } else {
            let life_state =
                member_state.lives.get_mut(&life.incarnation).filter(|life_state| life_state.alive);
            life_state.is_some_and(|life_state| life_state.observe(fact))
        };
        if unsettles || cut {
            state.changed = state.changed.max(fact.t);
        }
    }

    /// A fact about no life may be about a broker.
    fn observe_broker(&mut self, fact: &Fact) {
        for name in self.away.observe(fact) {
            if let Some(state) = self.groups.get_mut(&name) {
                state.changed = state.changed.max(fact.t);
            }
        }
    }

    /// The living members of `group` whose claim on `partition` lasts beyond `now`.
    pub fn leaders(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = &MemberId> {
        self.claiming(now, group, partition).map(|(member, _)| member)
    }

    /// The members that claim, one entry per life.
    fn claiming(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = (&MemberId, &LifeState)> {
        let lives = self.groups.get(group).into_iter().flat_map(GroupState::lives);
        lives.filter(move |(_, life_state)| {
            life_state.claims.get(&partition).is_some_and(|(_, until)| *until > now)
        })
    }

    /// Those of them whose process is not stopped, so that they can serve.
    pub fn serving(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = &MemberId> {
        let serving =
            self.claiming(now, group, partition).filter(|(_, life_state)| !life_state.stopped);
        serving.map(|(member, _)| member)
    }

    /// The members of `group` whose latest life has not ended, as far as known.
    pub fn living(&self, group: &GroupName) -> impl Iterator<Item = &MemberId> {
        let members = self.groups.get(group).into_iter().flat_map(|state| &state.members);
        members.filter_map(|(member, member_state)| {
            member_state.lives.values().any(|life_state| life_state.alive).then_some(member)
        })
    }

    /// The last reading of the life's wall clock, and when, if there was one.
    #[must_use]
    pub fn clock(&self, life: &Life) -> Option<(Mono, Wall)> {
        let state = self.groups.get(self.homes.get(&life.member)?)?;
        state.members.get(&life.member)?.lives.get(&life.incarnation)?.clock
    }

    /// How long the host kept the instrument or a member from running, by trial.
    #[must_use]
    pub fn hindrances(&self) -> &Hindrances {
        &self.hindrances
    }

    /// Since when `group` is settled, if it is: exactly one living member claims every partition
    /// that has roles, no member is stopped or has still to join, and since then no process came or
    /// went and no partition moved.
    #[must_use]
    pub fn settled_since(&self, now: Mono, group: &GroupName) -> Option<Mono> {
        self.look(now, group).ok()
    }

    /// What keeps `group` from being settled, if anything does.
    #[must_use]
    pub fn obstacle(&self, now: Mono, group: &GroupName) -> Option<Obstacle> {
        self.look(now, group).err()
    }

    fn look(&self, now: Mono, group: &GroupName) -> Result<Mono, Obstacle> {
        let Some(state) = self.groups.get(group) else {
            return Err(Obstacle::Stranger(group.clone()));
        };
        if let Some(missed) = self.away.missed_by(group) {
            return Err(missed);
        }
        let mut since = state.changed;
        // A member without a partition may receive no assignment.
        let living = state.lives().filter(|(_, life_state)| life_state.alive).count();
        let all_join = living <= state.width;
        let mut leaders: BTreeMap<_, usize> =
            state.bearing.iter().map(|&partition| (partition, 0)).collect();
        for (member, member_state) in &state.members {
            if let Some(fault) = member_state.cut.first() {
                let (member, fault) = (member.clone(), fault.clone());
                return Err(Obstacle::Cut { member, fault });
            }
        }
        for (member, life_state) in state.lives() {
            if life_state.stopped {
                return Err(Obstacle::Stopped(member.clone()));
            }
            if all_join && life_state.alive && life_state.between {
                return Err(Obstacle::Rebalancing(member.clone()));
            }
            if all_join && life_state.alive && !life_state.joined {
                return Err(Obstacle::Unjoined(member.clone()));
            }
            for (partition, &(_, until)) in &life_state.claims {
                let Some(count) = leaders.get_mut(partition) else { continue };
                if until > now {
                    *count += 1;
                } else {
                    since = since.max(until); // the claim expired, and its end is not reported yet
                }
            }
        }
        match leaders.into_iter().find(|&(_, leaders)| leaders != 1) {
            Some((partition, leaders)) => Err(Obstacle::Leaders { partition, leaders }),
            None => Ok(since),
        }
    }
}

impl GroupState {
    /// Every life of every member.
    fn lives(&self) -> impl Iterator<Item = (&MemberId, &LifeState)> {
        let of = |(member, member_state)| {
            let MemberState { lives, .. }: &MemberState = member_state;
            lives.values().map(move |life_state| (member, life_state))
        };
        self.members.iter().flat_map(of)
    }
}

impl MemberState {
    /// Takes a fact about the traffic with brokers. Returns whether a fault began or ended.
    fn observe_network(&mut self, fact: &Fact) -> bool {
        if let What::FaultAsked { fault, class, .. } = &fact.what
            && class.holds()
        {
            return self.cut.insert(fault.clone());
        }
        let What::FaultHealed { fault } = &fact.what else { return false };
        self.cut.remove(fault)
    }
}

impl LifeState {
    /// Takes a fact of a living life. Returns whether it unsettles the group.
    fn observe(&mut self, fact: &Fact) -> bool {
        let unsettles = self.take(fact);
        // The fact with the assignment may be lost.
        self.joined |= matches!(fact.what, What::Assigned { .. }) || !self.claims.is_empty();
        unsettles
    }

    fn take(&mut self, fact: &Fact) -> bool {
        match &fact.what {
            What::Claimed { partition, term, until, .. } => {
                self.between = false;
                self.claims.insert(*partition, (*term, *until));
                true
            }
            What::Renewed { claims } => self.renew(claims),
            What::Lapsed { partition, term, .. } => {
                self.claims.retain(|of, (held, _)| of != partition || held != term);
                true
            }
            What::Died { .. } => {
                *self = Self::default();
                true
            }
            What::Clock { wall } => {
                self.clock = Some((fact.t, *wall));
                false
            }
            What::Stopped => {
                self.stopped = true;
                true
            }
            What::Continued => {
                self.stopped = false;
                true
            }
            What::Assigned { .. } => {
                self.between = false;
                true
            }
            What::Revoked { .. } | What::Lost { .. } => {
                self.between = true;
                true
            }
            What::Leaving => true,
            // A fact with an assignment may be lost in the hole.
            What::Hole { .. } => {
                self.between = false;
                false
            }
            What::Ticks { .. }
            | What::Late { .. }
            | What::Unconnected { .. }
            | What::Connected
            | What::Started { .. }
            | What::NotYet
            | What::FaultAsked { .. }
            | What::FaultInForce { .. }
            | What::FaultHealed { .. }
            | What::Reconnected { .. }
            | What::FaultFailed { .. }
            | What::Struck { .. }
            | What::TrialBegan { .. }
            | What::TrialEnded { .. }
            | What::Settled { .. }
            | What::ClusterStarted { .. }
            | What::ClusterDied { .. }
            | What::BrokerLost { .. }
            | What::BrokerBack { .. }
            | What::EdgesStarted { .. }
            | What::EdgesDied
            | What::Stall { .. }
            | What::Processors { .. }
            | What::Suspended { .. }
            | What::Unwritten { .. }
            | What::Unattended { .. }
            | What::Ended { .. } => false,
        }
    }

    /// A renewal contains all claims of a member. A new one began in a lost fact, and a missing one
    /// ended in a lost fact.
    fn renew(&mut self, claims: &[Horizon]) -> bool {
        let known = self.claims.len();
        let mut kept = 0;
        let mut next = BTreeMap::new();
        for horizon in claims {
            kept += usize::from(self.claims.contains_key(&horizon.partition));
            next.insert(horizon.partition, (horizon.term, horizon.until));
        }
        self.claims = next;
        kept != known || kept != claims.len()
    }
}
