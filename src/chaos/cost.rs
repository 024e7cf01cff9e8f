//! What one step may cost one group: the high ends of what the plan's bounds say of its fault, and
//! of the return that follows.

mod machine;

use std::time::Duration;

use super::{Departure, Far, Fault, How, Network, Pick, Step, Target};
use crate::edge::{Direction, Effect};
use crate::ids::GroupName;
use crate::topology::{
    Address, Bound, Bounds, Plan, PlannedGroup, RECONNECT, Recall, Terms, outage_bound,
};
use crate::wire::{COORDINATOR, DATA};

/// From a process's start to its first request, where nobody is left who could lead meanwhile.
const START_UP: Duration = Duration::from_secs(1);
/// `group.initial.rebalance.delay.ms`: how long a broker waits before it fills an empty group.
const INITIAL_DELAY: Duration = Duration::from_secs(3);

/// The longest gap and the longest overlap; [`Duration::MAX`] where no bound is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cost {
    pub gap: Duration,
    pub overlap: Duration,
    /// The part of the overlap that the victims' return adds to that of the fault.
    pub back: Duration,
}

impl Cost {
    fn of(bound: Bound) -> Self {
        let (gap, overlap) = (bound.gap.high.get(), bound.overlap.high.get());
        Self { gap, overlap, back: Duration::ZERO }
    }

    /// The worse of two, each part by itself.
    pub(super) fn worst(self, other: Self) -> Self {
        let back = if other.overlap > self.overlap { other.back } else { self.back };
        Self { gap: self.gap.max(other.gap), overlap: self.overlap.max(other.overlap), back }
    }
}

/// What nobody knows a bound of.
const UNKNOWN: Cost = Cost { gap: Duration::MAX, overlap: Duration::MAX, back: Duration::ZERO };

/// What a step can do to a group.
pub(super) fn cost(step: &Step, target: &Target, plan: &Plan, name: &GroupName) -> Cost {
    let Some(group) = plan.groups.get(name) else { return Cost::default() };
    if let Target::Machine(_) = target {
        return machine::machine(step, target.hosts(plan).into_iter(), plan, name);
    }
    let bounds = &group.bounds;
    let fault = match &step.fault {
        // A second process joins as any other does, and leaves again.
        Fault::End { by: Departure::Leave, .. } | Fault::Duplicate { .. } => Cost::of(bounds.leave),
        Fault::End { by: Departure::Kill | Departure::Stop | Departure::Host, .. } => {
            Cost::of(bounds.kill)
        }
        Fault::Pause { .. } => Cost::of(bounds.pause),
        Fault::Broker { how, away } => Cost::of(outage(*how, away.get(), target, plan, group)),
        Fault::Network(network) => isolation(network, bounds, one_broker(plan, group)),
        // Claims rest on monotonic time; a series costs what its strikes do.
        Fault::Clock { .. } | Fault::Noop { .. } | Fault::Storm(_) | Fault::Rollout { .. } => {
            return Cost::default();
        }
    };
    let mut gap = fault.gap.max(bounds.restart.gap.high.get());
    let second = matches!(step.fault, Fault::Duplicate { .. });
    if !second && leaves_nobody(target, group.members.len()) {
        // Then nobody takes over: the gap ends when the victims are back.
        let away = match &step.fault {
            Fault::End { .. } => away(step, plan, name) + START_UP,
            Fault::Network(network) => returned(network, plan, group),
            Fault::Pause { lasts } => lasts.get(),
            // Where somebody else is there, nobody is away.
            Fault::Duplicate { .. }
            | Fault::Broker { .. }
            | Fault::Clock { .. }
            | Fault::Storm(_)
            | Fault::Rollout { .. }
            | Fault::Noop { .. } => Duration::ZERO,
        };
        let delay = match plan.clusters.get(&group.cluster).map(|cluster| &cluster.address) {
            Some(Address::Bootstrap(_)) => INITIAL_DELAY,
            Some(Address::Embedded) | None => Duration::ZERO,
        };
        gap = gap.saturating_add(away + delay);
    }
    let back = bounds.restart.overlap.high.get();
    // What moved when the victims went may move again when they come back, before the first claims
    // lapsed.
    let first = gap.max(bounds.kill.gap.high.get());
    let soon = away(step, plan, name) <= first.saturating_add(fault.overlap);
    let moved = match &step.fault {
        Fault::Network(network) => {
            let again = again(network, target, group).min(back);
            again + if soon { back } else { Duration::ZERO }
        }
        Fault::End { .. } | Fault::Duplicate { .. } if soon => back,
        Fault::End { .. }
        | Fault::Duplicate { .. }
        | Fault::Broker { .. }
        | Fault::Clock { .. }
        | Fault::Storm(_)
        | Fault::Rollout { .. }
        | Fault::Noop { .. } => Duration::ZERO,
        // Who wakes has been given up for dead, and joins again.
        Fault::Pause { .. } => bounds.leave.gap.high.get(),
    };
    Cost { gap, overlap: fault.overlap.saturating_add(moved), back: moved }
}

/// How long nobody leads where all were cut off: what each believed it goes on believing for a
/// threshold; what they had asked is heard late, and waits for its session to end.
fn returned(network: &Network, plan: &Plan, group: &PlannedGroup) -> Duration {
    let Some(cluster) = plan.clusters.get(&group.cluster) else { return Duration::ZERO };
    let terms = Terms::on(&group.pace, cluster);
    let again = terms.age + terms.takeover() + terms.handover();
    (network.lasts.get() + again).saturating_sub(terms.threshold)
}

/// How long after the first of its victims has joined again a group may still hand out its
/// partitions anew: what moved then moves once more.
fn again(network: &Network, target: &Target, group: &PlannedGroup) -> Duration {
    let bounds = &group.bounds;
    match network.effect {
        // What had been asked before is heard, of a member that nobody is any more: it is waited
        // for until its session is over.
        Effect::Stall => bounds.kill.gap.high.get(),
        Effect::Drop | Effect::Reset if one_member(target) => Duration::ZERO,
        Effect::Drop | Effect::Reset => RECONNECT + bounds.leave.gap.high.get(),
        // Nothing is bounded.
        Effect::Slow { .. } | Effect::Answer { .. } => Duration::ZERO,
    }
}

fn one_member(target: &Target) -> bool {
    match target {
        Target::Member(_) | Target::LeaderOf { .. } | Target::LeadersAcross { .. } => true,
        Target::Group { mode, .. } | Target::GroupsAcross { mode, .. } => match mode {
            Pick::One => true,
            Pick::Count(count) => *count == 1,
            Pick::Minority | Pick::Majority | Pick::All | Pick::Leaders | Pick::Percent(_) => false,
        },
        Target::Coordinator { .. }
        | Target::Leading { .. }
        | Target::Brokers { .. }
        | Target::Host(_)
        | Target::Machine(_)
        | Target::Cluster(_) => false,
    }
}

/// For how long the victims are gone, where they come back.
pub(super) fn away(step: &Step, plan: &Plan, group: &GroupName) -> Duration {
    let planned = plan.groups.get(group).map(|group| group.restart_after).unwrap_or_default();
    match &step.fault {
        Fault::End { restart_after, .. } | Fault::Rollout { restart_after } => {
            restart_after.unwrap_or(planned).get()
        }
        Fault::Broker { away, .. } => away.get(),
        Fault::Network(network) => network.lasts.get(),
        Fault::Duplicate { lasts } => lasts.get(),
        Fault::Pause { .. } | Fault::Clock { .. } | Fault::Storm(_) | Fault::Noop { .. } => {
            Duration::ZERO
        }
    }
}

/// For how long what is struck is held, or away, before what that costs comes to its end.
pub(super) fn held(step: &Step) -> Duration {
    match &step.fault {
        Fault::Network(network) => network.lasts.get(),
        // What it costs that the second one goes begins then.
        Fault::Duplicate { lasts } => lasts.get(),
        // Claims outlive their brokers: what that costs begins later than the fault.
        Fault::Broker { away, .. } => away.get(),
        Fault::End { .. } | Fault::Pause { .. } => match &step.target {
            Some(Target::Machine(_)) => {
                step.fault.of_brokers().map_or(Duration::ZERO, |(_, away)| away.get())
            }
            Some(_) | None => Duration::ZERO,
        },
        Fault::Clock { .. } | Fault::Storm(_) | Fault::Rollout { .. } | Fault::Noop { .. } => {
            Duration::ZERO
        }
    }
}

/// For how long a strike has its victim in its hands.
pub(super) fn taken(step: &Step, plan: &Plan, group: &GroupName) -> Duration {
    away(step, plan, group).max(step.fault.lasts().unwrap_or_default())
}

/// What it costs that brokers are away: where others take their place, a failover; where nobody is
/// left, all the time until the cluster serves again.
fn outage(how: How, away: Duration, target: &Target, plan: &Plan, group: &PlannedGroup) -> Bound {
    let Some(cluster) = plan.clusters.get(&group.cluster) else { return group.bounds.broker };
    let all = matches!(target, Target::Brokers { .. }) || cluster.is_alone();
    if !all {
        return group.bounds.broker;
    }
    let terms = Terms::on(&group.pace, cluster);
    let embedded = cluster.address == Address::Embedded;
    let (down, recall) = match how {
        How::Kill | How::Stop if embedded => (away + terms.start_up, Recall::Nothing),
        How::Kill | How::Stop => (away + terms.start_up, Recall::Reads),
        // Who wakes finds that its cluster has given it up.
        How::Pause if embedded => (away + terms.failover, Recall::All),
        How::Pause => (away + terms.failover, Recall::Reads),
    };
    outage_bound(&terms, down, recall)
}

/// What a fault of the network costs where it is one of the two that are understood: members that
/// no longer reach any broker, or no longer its coordinator. The victims' roles overlap as the
/// bound says; those that move among the others, and back, as at a death.
fn isolation(network: &Network, bounds: &Bounds, one_broker: bool) -> Cost {
    let everything = one_broker || matches!(network.from, Far::Cluster(_));
    let cut = match network.effect {
        Effect::Drop | Effect::Stall | Effect::Reset => network.direction == Direction::Both,
        // Late is not lost, and what an error makes of a client is the client's own affair.
        Effect::Slow { .. } | Effect::Answer { .. } => false,
    };
    let known = Cost::of(bounds.cut_off());
    match &network.apis {
        None if cut && everything => known,
        // A member that hears on believes on, until its client gives up of itself.
        Some(apis)
            if cut
                && (everything || matches!(network.from, Far::Coordinator(None)))
                && COORDINATOR.iter().all(|api| apis.contains(api))
                && !DATA.iter().any(|api| apis.contains(api)) =>
        {
            Cost { overlap: Duration::MAX, ..known }
        }
        None | Some(_) => UNKNOWN,
    }
}

fn one_broker(plan: &Plan, group: &PlannedGroup) -> bool {
    let address = plan.clusters.get(&group.cluster).map(|cluster| &cluster.address);
    matches!(address, Some(Address::Embedded) | None)
}

fn leaves_nobody(target: &Target, members: usize) -> bool {
    let members = u32::try_from(members).unwrap_or(u32::MAX);
    match target {
        Target::Coordinator { .. } | Target::Leading { .. } | Target::Brokers { .. } => false,
        Target::Host(_) | Target::Machine(_) | Target::Cluster(_) => true,
        Target::Member(_) | Target::LeaderOf { .. } | Target::LeadersAcross { .. } => members <= 1,
        Target::Group { mode, .. } | Target::GroupsAcross { mode, .. } => {
            mode.of(members) >= members
        }
    }
}
