//! Steps of many strikes: a storm, whose strikes are drawn, and a rollout, in which each strike
//! waits for the one before. Pure: the seed determines everything.
//!
//! A storm stays within its limits by itself: it knows how long each strike takes its victim away,
//! and skips a strike that would exceed them. It accounts only for its own strikes; those of other
//! steps are checked when they strike.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::cost::taken;
use super::resolve::shuffled;
use super::{AnyFault, Sight, Step, Storm, Strike, Target};
use crate::ids::{GroupName, MemberId, PartitionId, StepId};
use crate::topology::{Allowance, Plan};

/// What a strike may take in addition to its victim's absence: to close a client, to start a
/// process, to see that it runs.
pub(super) const SLACK: Duration = Duration::from_secs(2);

/// The strikes of a storm that begins with `first`.
pub(super) fn storm(
    first: &Strike,
    storm: &Storm,
    plan: &Plan,
    limits: Allowance,
    chance: &mut ChaCha12Rng,
) -> Vec<Strike> {
    let pool = pool(first, plan);
    let mut away = Away { plan, limits, until: BTreeMap::new() };
    let mut strikes = Vec::new();
    for round in 0..storm.rounds() {
        // Each round draws equally often, so that a skipped strike does not change the others.
        let (offset, weight, seed) = (chance.next_u64(), chance.next_u64(), chance.next_u64());
        let every = storm.every.get();
        let offset = Duration::from_nanos(offset % nanos(every).max(1));
        let at = every.saturating_mul(round).saturating_add(offset);
        let Some(fault) = weighed(storm, weight) else { continue };
        let free = pool.iter().filter(|member| away.allows(member, at)).cloned();
        let mut draw = ChaCha12Rng::seed_from_u64(seed);
        let Some(victim) = shuffled(free, &mut draw).into_iter().next() else { continue };
        let Some(id) = name(&first.step.id, strikes.len()) else { continue };
        let step = Step {
            id,
            fault: fault.clone(),
            target: Some(Target::Member(victim.clone())),
            ..first.step.clone()
        };
        away.take(victim, at, &step);
        let delay = first.delay.saturating_add(at);
        strikes.push(Strike { step, delay, seed, drawn: true, ..first.clone() });
    }
    strikes
}

/// The strikes of a rollout: group by group, member by member.
pub(super) fn rollout(first: &Strike, plan: &Plan) -> Vec<Strike> {
    let mut strikes: Vec<Strike> = Vec::new();
    for fault in first.step.fault.strikes() {
        for member in pool(first, plan) {
            let Some(id) = name(&first.step.id, strikes.len()) else { continue };
            let target = Some(Target::Member(member));
            let step = Step { id, fault: fault.clone(), target, ..first.step.clone() };
            let once_settled = strikes.last().map(|before| before.step.id.clone());
            let drawn = true;
            strikes.push(Strike { step, once_settled, drawn, ..first.clone() });
        }
    }
    strikes
}

/// The name of a strike of a series; `None` if the series' own name is too long.
pub(super) fn name(series: &StepId, place: usize) -> Option<StepId> {
    format!("{series}-{}", place + 1).parse().ok()
}

/// All members that a series can hit, if all are running.
fn pool(first: &Strike, plan: &Plan) -> Vec<MemberId> {
    let of = |group: &GroupName| plan.groups.get(group).map(|it| it.members.clone());
    let living = |group: &GroupName| of(group).unwrap_or_default();
    let no_leaders = |_: &GroupName, _: PartitionId| Vec::new();
    let sight = Sight { plan, leaders: &no_leaders, living: &living };
    let target = first.step.target.as_ref();
    target.and_then(|target| target.resolve(sight, first.seed).ok()).unwrap_or_default()
}

fn weighed(storm: &Storm, drawn: u64) -> Option<&AnyFault> {
    let all: u64 = storm.faults.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let mut left = drawn % all.max(1);
    storm.faults.iter().find_map(|(fault, weight)| {
        let weight = u64::from(*weight);
        if left < weight {
            return Some(fault);
        }
        left -= weight;
        None
    })
}

/// The members that are away, and until when.
struct Away<'a> {
    plan: &'a Plan,
    limits: Allowance,
    until: BTreeMap<MemberId, Duration>,
}

impl Away<'_> {
    /// Whether `member` is present at `at`, and the limits allow it to be hit in addition to those
    /// away.
    fn allows(&self, member: &MemberId, at: Duration) -> bool {
        let gone = |member: &MemberId| self.until.get(member).is_some_and(|until| at < *until);
        let Some(own) = self.plan.group_of(member) else { return false };
        if gone(member) {
            return false;
        }
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let mut hit = 0;
        for (name, group) in &self.plan.groups {
            let down = group.members.iter().filter(|one| gone(one)).count();
            let down = number(down + usize::from(name == own));
            hit += u32::from(down > 0);
            let most = self.limits.members.map(|share| share.at_most(number(group.members.len())));
            if name == own && most.is_some_and(|most| down > most) {
                return false;
            }
        }
        self.limits.groups.is_none_or(|most| hit <= most)
    }

    /// Records that `member` is hit: it counts as away until it is back and its group leads again.
    fn take(&mut self, member: MemberId, at: Duration, step: &Step) {
        let Some(group) = self.plan.group_of(&member) else { return };
        let takeover = self.plan.groups.get(group).map(|it| it.bounds.kill.gap.high.get());
        let gone = taken(step, self.plan, group).max(takeover.unwrap_or_default());
        self.until.insert(member, at.saturating_add(gone).saturating_add(SLACK));
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
