//! What one step may cost one group: the upper ends of the plan's bounds for its fault and for the
//! return that follows. Each fault prices its own part.

mod machine;

use std::time::Duration;

use super::{How, Pick, Step, Target};
use crate::ids::GroupName;
use crate::topology::{Address, Bound, Mode, Plan, PlannedGroup, Terms, bounds};

/// From a process's start to its first request, when no other member could lead meanwhile.
pub(super) const START_UP: Duration = Duration::from_secs(1);
/// `group.initial.rebalance.delay.ms`: how long a broker waits before it fills an empty group.
const INITIAL_DELAY: Duration = Duration::from_secs(3);

/// The longest gap and the longest overlap; [`Duration::MAX`] where no bound is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// The longest gap.
    pub gap: Duration,
    /// The longest overlap.
    pub overlap: Duration,
    /// The part of the overlap that the victims' return adds to that of the fault.
    pub back: Duration,
}

/// The cost of a fault without a known bound.
pub(super) const UNKNOWN: Cost =
    Cost { gap: Duration::MAX, overlap: Duration::MAX, back: Duration::ZERO };

impl Cost {
    /// The upper ends of a planned bound.
    pub(super) fn of(bound: Bound) -> Self {
        let (gap, overlap) = (bound.gap.high.get(), bound.overlap.high.get());
        Self { gap, overlap, back: Duration::ZERO }
    }

    /// The worse of two costs, part by part.
    pub(super) fn worst(self, other: Self) -> Self {
        let back = if other.overlap > self.overlap { other.back } else { self.back };
        Self { gap: self.gap.max(other.gap), overlap: self.overlap.max(other.overlap), back }
    }
}

/// A fault hits a group.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// The target.
    pub target: &'a Target,
    /// The plan.
    pub plan: &'a Plan,
    /// The group.
    pub name: &'a GroupName,
    /// The group as planned.
    pub group: &'a PlannedGroup,
}

/// The cost of a fault, in parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Price {
    /// The cost of the fault alone.
    pub fault: Cost,
    /// How long its victims are away.
    pub away: Duration,
    /// How long a role has no leader if the fault takes the whole group, or the majority that it
    /// needs: no member takes over, and the gap ends when the victims are back. `None` if enough
    /// members stay.
    pub unled: Option<Duration>,
    /// The overlap of roles that move when the victims return.
    pub moved: Duration,
    /// The same if a role that moved when the victims left can move again on their return, before
    /// the first claims have lapsed.
    pub moved_soon: Duration,
}

impl Hit<'_> {
    /// The terms of the group on its cluster.
    pub(super) fn terms(&self) -> Option<Terms> {
        let cluster = self.plan.clusters.get(&self.group.cluster)?;
        Some(Terms::on(&self.group.pace, self.group.replication, cluster))
    }

    /// From the loss of an owner to the first service of its successor.
    pub(super) fn succession(&self) -> Duration {
        self.terms().map_or(Duration::ZERO, |terms| terms.succession())
    }

    /// How much a further rebalance adds to the overlap of a role that moves once more.
    pub(super) fn moved_again(&self) -> Duration {
        let Some(terms) = self.terms() else { return Duration::ZERO };
        if terms.statement.is_some() { terms.moved() } else { terms.succession() }
    }

    /// The bound of a pause of several members, which may be most of a group: then no member
    /// suspects them. None if one is paused, or suspicion is off.
    pub(super) fn unsuspected(&self, lasts: Duration) -> Option<Bound> {
        let terms = self.terms().filter(|terms| terms.suspicion.is_some())?;
        let unsuspicious = Terms { suspicion: None, ..terms };
        let one = self.target.is_one_member();
        (!one).then(|| bounds(&unsuspicious, Some(lasts)).pause)
    }

    /// How many of its members the group cannot lose at once: all, or those without whom there is
    /// no majority.
    fn stalls(&self) -> usize {
        let members = self.group.members.len();
        let electorate = self.plan.electorate_of(self.group);
        let votes = electorate.is_some_and(|it| it.election.votes());
        if votes { members.div_ceil(2) } else { members }
    }

    /// When the topology starts a victim again.
    pub(super) fn usual_restart(&self) -> Duration {
        self.group.restart_after.get()
    }

    /// The price of the fault, and that of the return.
    pub(super) fn total(&self, price: Price) -> Cost {
        let Price { fault, away, unled, moved, moved_soon } = price;
        let bounds = &self.group.bounds;
        let mut gap = fault.gap.max(bounds.restart.gap.high.get());
        if let Some(unled) = unled
            && self.target.takes(self.stalls(), self.group.members.len())
        {
            let cluster = self.plan.clusters.get(&self.group.cluster);
            let delay = match cluster.map(|cluster| &cluster.address) {
                Some(Address::Bootstrap(_)) => INITIAL_DELAY,
                // A candidate that is refused asks again, and lets the others in order do so.
                Some(Address::Members(all)) => self.group.pace.heartbeat.get() * all.members,
                // One that dies with the leader was heard a heartbeat later.
                Some(Address::Nats(_)) => self.group.pace.heartbeat.get(),
                Some(Address::Embedded | Address::Etcd(_) | Address::ZooKeeper(_)) | None => {
                    Duration::ZERO
                }
            };
            gap = gap.saturating_add(unled + delay);
        }
        let first = gap.max(bounds.kill.gap.high.get());
        let soon = away <= first.saturating_add(fault.overlap);
        let back = if soon { moved_soon } else { moved };
        Cost { gap, overlap: fault.overlap.saturating_add(back), back }
    }
}

/// The most that a step can cost a group.
pub(super) fn cost(step: &Step, target: &Target, plan: &Plan, name: &GroupName) -> Cost {
    let Some(group) = plan.groups.get(name) else { return Cost::default() };
    let cost = if let Target::Machine(_) = target {
        machine::machine(step, target.hosts(plan).into_iter(), plan, name)
    } else {
        step.fault.cost(&Hit { target, plan, name, group })
    };
    let promised = match group.pace.mode {
        Mode::NonExclusive | Mode::Fast => false,
        Mode::Exclusive => is_covered_by_proof(step, target, plan, group),
        // What the paper promises, so that a run shows where it does not hold.
        Mode::ExclusivePaper => true,
    };
    if promised {
        return Cost { overlap: Duration::ZERO, back: Duration::ZERO, ..cost };
    }
    cost
}

/// Whether the proof of the exclusive mode holds under this fault. It rests on brokers that keep
/// their groups: an embedded one comes back without.
fn is_covered_by_proof(step: &Step, target: &Target, plan: &Plan, group: &PlannedGroup) -> bool {
    let cluster = plan.clusters.get(&group.cluster);
    let embedded = cluster.is_some_and(|cluster| cluster.address == Address::Embedded);
    let ends = matches!(step.fault.of_brokers(), Some((How::Kill | How::Stop, _)));
    let forgets = embedded && ends && target.may_be_brokers();
    !forgets && !step.fault.can_break_proof()
}

/// How long the victims are away, if they come back.
pub(super) fn away(step: &Step, plan: &Plan, group: &GroupName) -> Duration {
    let usual = plan.groups.get(group).map(|group| group.restart_after).unwrap_or_default();
    step.fault.away(usual.get())
}

/// How long a victim is held or away before the cost of that ends.
pub(super) fn held(step: &Step) -> Duration {
    let brokers = match &step.target {
        Some(Target::Machine(_)) => step.fault.of_brokers().map(|(_, away)| away.get()),
        Some(_) | None => None,
    };
    step.fault.held().max(brokers.unwrap_or_default())
}

/// How long a strike keeps its victim reserved.
pub(super) fn taken(step: &Step, plan: &Plan, group: &GroupName) -> Duration {
    away(step, plan, group).max(step.fault.lasts().unwrap_or_default())
}

impl Target {
    /// Whether the target is a single member of a group.
    pub(super) fn is_one_member(&self) -> bool {
        match self {
            Self::Member(_) | Self::LeaderOf { .. } | Self::LeadersAcross { .. } => true,
            Self::Group { mode, .. } | Self::GroupsAcross { mode, .. } => match mode {
                Pick::One => true,
                Pick::Count(count) => *count == 1,
                Pick::Minority | Pick::Majority | Pick::All | Pick::Leaders | Pick::Percent(_) => {
                    false
                }
            },
            Self::Coordinator { .. }
            | Self::Leading { .. }
            | Self::Brokers { .. }
            | Self::Host(_)
            | Self::Machine(_)
            | Self::Cluster(_) => false,
        }
    }

    /// Whether the target has brokers among its victims.
    const fn may_be_brokers(&self) -> bool {
        self.names_brokers() || matches!(self, Self::Machine(_))
    }

    /// Whether the target can be so `many` of a group of `members`.
    fn takes(&self, many: usize, members: usize) -> bool {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (many, members) = (count(many), count(members));
        match self {
            Self::Coordinator { .. } | Self::Leading { .. } | Self::Brokers { .. } => false,
            Self::Host(_) | Self::Machine(_) | Self::Cluster(_) => true,
            Self::Member(_) | Self::LeaderOf { .. } | Self::LeadersAcross { .. } => many <= 1,
            Self::Group { mode, .. } | Self::GroupsAcross { mode, .. } => mode.of(members) >= many,
        }
    }
}
