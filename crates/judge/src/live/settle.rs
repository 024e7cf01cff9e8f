//! The current claims of members, and whether a group is settled: for the gate before a trial, and
//! for the choice of victims. Nothing here judges.

use std::collections::{BTreeMap, BTreeSet};

use super::Live;
use super::group::GroupState;
use super::member::LifeState;
use tandem_facts::ids::{ClusterName, FaultId, GroupName, Life, MemberId, PartitionId};
use tandem_facts::time::{Mono, Wall};

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

impl Live {
    /// The living members of `group` whose claim on `partition` lasts beyond `now`. Stopped members
    /// are among them, because they would act on the claim once they continue.
    pub fn claimants(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = &MemberId> {
        self.claiming(now, group, partition).map(|(member, _)| member)
    }

    /// Those of them whose process is not stopped, so that they can serve.
    pub fn serving(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = &MemberId> {
        let claiming = self.claiming(now, group, partition);
        claiming.filter(|(_, life)| !life.line.is_stopped()).map(|(member, _)| member)
    }

    /// The partitions that living members of `group` claim beyond `now`. A group may be settled
    /// while members have yet to claim partitions without roles.
    #[must_use]
    pub fn claimed(&self, now: Mono, group: &GroupName) -> BTreeSet<PartitionId> {
        let lives = self.groups.get(group).into_iter().flat_map(GroupState::living);
        let claims = lives.flat_map(|(_, life)| life.line.claims());
        claims.filter(|(_, _, until)| now < *until).map(|(partition, ..)| partition).collect()
    }

    fn claiming(
        &self,
        now: Mono,
        group: &GroupName,
        on: PartitionId,
    ) -> impl Iterator<Item = (&MemberId, &LifeState)> {
        let lives = self.groups.get(group).into_iter().flat_map(GroupState::living);
        lives.filter(move |(_, life)| life.line.claims_on_at(on, now))
    }

    /// The members of `group` whose latest life has not ended, as far as known.
    pub fn living(&self, group: &GroupName) -> impl Iterator<Item = &MemberId> {
        let living = self.groups.get(group).into_iter().flat_map(GroupState::living);
        living.map(|(member, _)| member).collect::<BTreeSet<_>>().into_iter()
    }

    /// The last reading of the life's wall clock, and when, if there was one.
    #[must_use]
    pub fn clock(&self, life: &Life) -> Option<(Mono, Wall)> {
        self.groups.get(self.homes.get(&life.member)?)?.lives.get(life)?.clock
    }

    /// Since when `group` is settled, if it is: exactly one living member claims every partition
    /// that has roles, no member is stopped or has still to join, and since then no process came or
    /// went and no partition moved.
    #[must_use]
    pub fn settled_since(&self, now: Mono, group: &GroupName) -> Option<Mono> {
        self.settles(now, group).ok()
    }

    /// What keeps `group` from being settled, if anything does.
    #[must_use]
    pub fn obstacle(&self, now: Mono, group: &GroupName) -> Option<Obstacle> {
        self.settles(now, group).err()
    }

    fn settles(&self, now: Mono, name: &GroupName) -> Result<Mono, Obstacle> {
        let Some(group) = self.groups.get(name) else {
            return Err(Obstacle::Stranger(name.clone()));
        };
        let taken = |fault: &&FaultId| {
            let window = self.faults.0.get(*fault);
            window.is_some_and(|window| self.brokers.taken_by(window).contains(name))
        };
        if let Some(fault) = self.faults.0.keys().find(taken) {
            return Err(Obstacle::Broker(fault.clone()));
        }
        if let Some(cluster) = self.brokers.dead_of(name) {
            return Err(Obstacle::Dead(cluster.clone()));
        }
        let held = |member: &MemberId| Some((member.clone(), self.faults.holding(member)?.clone()));
        if let Some((member, fault)) = group.members.keys().find_map(held) {
            return Err(Obstacle::Cut { member, fault });
        }
        group.settles(now)
    }
}

impl GroupState {
    /// The lives that have not ended, as far as known.
    fn living(&self) -> impl Iterator<Item = (&MemberId, &LifeState)> {
        let living = self.lives.iter().filter(|(_, life)| life.line.is_alive());
        living.map(|(life, state)| (&life.member, state))
    }

    fn settles(&self, now: Mono) -> Result<Mono, Obstacle> {
        let mut since = self.changed;
        // A member that gets no partition may not learn so.
        let all_join = self.living().count() <= self.width;
        let mut leaders: BTreeMap<_, usize> = self.lanes.keys().map(|&on| (on, 0)).collect();
        for (member, life) in self.living() {
            if life.line.is_stopped() {
                return Err(Obstacle::Stopped(member.clone()));
            }
            if all_join && life.between {
                return Err(Obstacle::Rebalancing(member.clone()));
            }
            if all_join && !life.joined {
                return Err(Obstacle::Unjoined(member.clone()));
            }
            let mut last = None;
            for (partition, _, until) in life.line.claims() {
                let Some(count) = leaders.get_mut(&partition) else { continue };
                if until <= now {
                    since = since.max(until); // it ran out, and no fact says so yet
                } else if last.replace(partition) != Some(partition) {
                    *count += 1;
                }
            }
        }
        // What no life leads, another member may.
        let fits = |leaders| leaders == 1 || (leaders == 0 && self.foreign);
        match leaders.into_iter().find(|&(_, leaders)| !fits(leaders)) {
            Some((partition, leaders)) => Err(Obstacle::Leaders { partition, leaders }),
            None => Ok(since),
        }
    }
}
