//! Who claims what at this moment: the live view, fed fact by fact while a run goes on.
//!
//! It serves the gate before a trial and the choice of victims. It judges nothing: the report is
//! computed afterwards from all facts, those that came late included.

use std::collections::{BTreeMap, BTreeSet};

use super::away::Away;
use super::hindrances::Hindrances;
use crate::roster::Roster;
use tandem_facts::ids::{
    ClusterName, FaultId, GroupName, Incarnation, Life, MemberId, PartitionId, Term,
};
use tandem_facts::observation::{Fact, Horizon, What};
use tandem_facts::time::{Mono, Wall};

/// The live view of all groups of a roster.
#[derive(Debug, Clone)]
pub struct Standing {
    homes: BTreeMap<MemberId, GroupName>,
    groups: BTreeMap<GroupName, Company>,
    away: Away,
    hindrances: Hindrances,
}

/// One group.
#[derive(Debug, Clone)]
struct Company {
    /// The partitions that bear a role.
    bearing: BTreeSet<PartitionId>,
    /// How many partitions there are.
    width: usize,
    seats: BTreeMap<MemberId, Chair>,
    /// The latest fact that unsettles a group.
    changed: Mono,
}

/// One member: its lives, which are two where a second process bears its name.
#[derive(Debug, Clone, Default)]
struct Chair {
    lives: BTreeMap<Incarnation, Seat>,
    /// Faults that have it in their hands until they are healed.
    cut: BTreeSet<FaultId>,
}

/// One life of a member.
#[derive(Debug, Clone, Default)]
struct Seat {
    alive: bool,
    stopped: bool,
    /// Its partitions were taken back, and it was given none since: a rebalance is under way.
    between: bool,
    /// The group gave this life partitions, or it claims some.
    joined: bool,
    claims: BTreeMap<PartitionId, (Term, Mono)>,
    /// What its wall clock said last, and when.
    clock: Option<(Mono, Wall)>,
}

/// What keeps a group from being settled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The roster knows no such group.
    #[error("there is no group {0}")]
    Stranger(GroupName),
    /// A member is stopped, and would wake with claims of its own.
    #[error("{0} is stopped")]
    Stopped(MemberId),
    /// What passes between a member and its brokers is not what should: what it believes says
    /// little.
    #[error("{member} is still in the hands of fault {fault}")]
    Cut {
        /// Which member.
        member: MemberId,
        /// Which fault.
        fault: FaultId,
    },
    /// A member's partitions were taken back, and it waits for others.
    #[error("{0} is in a rebalance")]
    Rebalancing(MemberId),
    /// A member lives, and the group does not count on it yet: its join is still to come.
    #[error("{0} has not joined yet")]
    Unjoined(MemberId),
    /// A fault took a broker of the group.
    #[error("the broker of fault {0} is not back")]
    Broker(FaultId),
    /// A broker of the group died of itself.
    #[error("the broker of cluster {0} died")]
    Dead(ClusterName),
    /// A partition that bears a role has no leader, or several.
    #[error("partition {partition} has {leaders} leaders")]
    Leaders {
        /// Which partition.
        partition: PartitionId,
        /// How many living members claim it.
        leaders: usize,
    },
}

impl Standing {
    /// Nobody lives yet.
    #[must_use]
    pub fn new(roster: impl Into<Roster>) -> Self {
        let roster = &roster.into();
        let home = |(name, group): (&GroupName, &crate::roster::RosterGroup)| {
            let name = name.clone();
            group.members.iter().map(move |member| (member.clone(), name.clone())).collect()
        };
        let company = |group: &crate::roster::RosterGroup| Company {
            bearing: roster.classes_of(group).map(|roles| group.partition(roles.first)).collect(),
            width: PartitionId(group.partitions.get()).index(),
            seats: group.members.iter().map(|member| (member.clone(), Chair::default())).collect(),
            changed: Mono::ZERO,
        };
        Self {
            homes: roster.groups.iter().flat_map::<Vec<_>, _>(home).collect(),
            groups: roster.groups.iter().map(|(name, g)| (name.clone(), company(g))).collect(),
            away: Away::new(roster),
            hindrances: Hindrances::default(),
        }
    }

    /// Takes a fact into account. What a dead or a former life says is ignored here.
    pub fn observe(&mut self, fact: &Fact) {
        self.hindrances.observe(fact);
        let Some(life) = &fact.life else { return self.observe_broker(fact) };
        let Some(home) = self.homes.get(&life.member) else { return };
        let Some(company) = self.groups.get_mut(home) else { return };
        let Some(chair) = company.seats.get_mut(&life.member) else { return };
        // What is between a member and its brokers stays there, whichever life it lives.
        let cut = chair.observe_network(fact);
        let unsettles = if matches!(fact.what, What::Started { .. }) {
            chair.lives.retain(|_, seat| seat.alive);
            chair.lives.insert(life.incarnation, Seat { alive: true, ..Seat::default() });
            true
        } else {
            let seat = chair.lives.get_mut(&life.incarnation).filter(|seat| seat.alive);
            seat.is_some_and(|seat| seat.observe(fact))
        };
        if unsettles || cut {
            company.changed = company.changed.max(fact.t);
        }
    }

    /// What is of nobody's life may be of a broker.
    fn observe_broker(&mut self, fact: &Fact) {
        for name in self.away.observe(fact) {
            if let Some(company) = self.groups.get_mut(&name) {
                company.changed = company.changed.max(fact.t);
            }
        }
    }

    /// The living members of `group` whose claim on `partition` reaches beyond `now`.
    pub fn leaders(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = &MemberId> {
        self.claiming(now, group, partition).map(|(member, _)| member)
    }

    /// Who claims, a line a life.
    fn claiming(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = (&MemberId, &Seat)> {
        let lives = self.groups.get(group).into_iter().flat_map(Company::lives);
        lives.filter(move |(_, seat)| {
            seat.claims.get(&partition).is_some_and(|(_, until)| *until > now)
        })
    }

    /// Those of them that run, and so can act.
    pub fn serving(
        &self,
        now: Mono,
        group: &GroupName,
        partition: PartitionId,
    ) -> impl Iterator<Item = &MemberId> {
        let serving = self.claiming(now, group, partition).filter(|(_, seat)| !seat.stopped);
        serving.map(|(member, _)| member)
    }

    /// The members of `group` whose latest life has not ended, as far as is known.
    pub fn living(&self, group: &GroupName) -> impl Iterator<Item = &MemberId> {
        let seats = self.groups.get(group).into_iter().flat_map(|company| &company.seats);
        seats.filter_map(|(member, chair)| {
            chair.lives.values().any(|seat| seat.alive).then_some(member)
        })
    }

    /// What a member's wall clock said last in this life, and when, if it ever did.
    #[must_use]
    pub fn clock(&self, life: &Life) -> Option<(Mono, Wall)> {
        let company = self.groups.get(self.homes.get(&life.member)?)?;
        company.seats.get(&life.member)?.lives.get(&life.incarnation)?.clock
    }

    /// For how long the host kept the instrument or a member from running, by trial.
    #[must_use]
    pub fn hindrances(&self) -> &Hindrances {
        &self.hindrances
    }

    /// Since when `group` is settled, if it is: every partition that bears a role is claimed by
    /// exactly one living member, nobody is stopped or has still to join, and no process came or
    /// went and no partition moved since.
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
        let Some(company) = self.groups.get(group) else {
            return Err(Obstacle::Stranger(group.clone()));
        };
        if let Some(missed) = self.away.missed_by(group) {
            return Err(missed);
        }
        let mut since = company.changed;
        // Whoever is left without a partition may not be told so.
        let living = company.lives().filter(|(_, seat)| seat.alive).count();
        let all_join = living <= company.width;
        let mut leaders: BTreeMap<_, usize> =
            company.bearing.iter().map(|&partition| (partition, 0)).collect();
        for (member, chair) in &company.seats {
            if let Some(fault) = chair.cut.first() {
                let (member, fault) = (member.clone(), fault.clone());
                return Err(Obstacle::Cut { member, fault });
            }
        }
        for (member, seat) in company.lives() {
            if seat.stopped {
                return Err(Obstacle::Stopped(member.clone()));
            }
            if all_join && seat.alive && seat.between {
                return Err(Obstacle::Rebalancing(member.clone()));
            }
            if all_join && seat.alive && !seat.joined {
                return Err(Obstacle::Unjoined(member.clone()));
            }
            for (partition, &(_, until)) in &seat.claims {
                let Some(count) = leaders.get_mut(partition) else { continue };
                if until > now {
                    *count += 1;
                } else {
                    since = since.max(until); // it ran out, and nobody has said so yet
                }
            }
        }
        match leaders.into_iter().find(|&(_, leaders)| leaders != 1) {
            Some((partition, leaders)) => Err(Obstacle::Leaders { partition, leaders }),
            None => Ok(since),
        }
    }
}

impl Company {
    /// Every life of every member.
    fn lives(&self) -> impl Iterator<Item = (&MemberId, &Seat)> {
        let of = |(member, chair)| {
            let Chair { lives, .. }: &Chair = chair;
            lives.values().map(move |seat| (member, seat))
        };
        self.seats.iter().flat_map(of)
    }
}

impl Chair {
    /// Takes a fact about what is between it and its brokers; says whether that changed.
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

impl Seat {
    /// Takes a fact of its own living life; says whether it unsettles the group.
    fn observe(&mut self, fact: &Fact) -> bool {
        let unsettles = self.take(fact);
        // The fact that told of its assignment may be lost.
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
            // The fact that told of an assignment may be lost in it.
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

    /// A renewal names all claims of a member: one that is new here was told in a fact that was
    /// lost, one that is missing has ended in such a fact.
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
