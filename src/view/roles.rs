//! Who leads each role in each group, and how the role stands for that.

use std::collections::BTreeMap;

use super::Level;
use super::picture::RolePicture;
use super::table::{Cell, Table, ms};
use crate::ids::{GroupName, MemberId, RoleIndex, RoleName};
use crate::time::Mono;
use crate::watch::Health;

impl Table {
    /// Each role, in the topology's order.
    pub(super) fn roles(&self, now: Mono) -> Vec<RolePicture> {
        (0..).zip(&self.plan.roles).map(|(place, role)| self.role(place, role, now)).collect()
    }

    fn role(&self, place: usize, role: &RoleName, now: Mono) -> RolePicture {
        let cells: BTreeMap<&GroupName, &Cell> = self
            .plan
            .groups
            .iter()
            .filter_map(|(name, group)| {
                let partition = group.role_partitions.get(place)?;
                Some((name, self.groups.get(name)?.partitions.get(partition)?))
            })
            .collect();
        let index = u32::try_from(place).ok().map(RoleIndex);
        let joint = index.and_then(|role| self.joint_gap_until(role, cells.values().copied()));
        let (health, since) = stands(&cells.values().copied().collect::<Vec<_>>(), joint);
        let idle = cells.iter().filter(|(_, cell)| !cell.leaders.is_empty() && !cell.is_led());
        let idle = idle.map(|(name, _)| (*name).clone()).collect();
        let leaders = |cell: &Cell| -> Vec<MemberId> {
            cell.leaders.iter().map(|life| life.member.clone()).collect()
        };
        RolePicture {
            role: role.clone(),
            health,
            health_for_ms: ms(now.since(since)),
            leaders: cells.iter().map(|(&name, cell)| (name.clone(), leaders(cell))).collect(),
            idle,
        }
    }
}

impl Table {
    /// When the last gap of a role in all groups at once ended, as far as has been heard: not
    /// before the time up to which it is certain that it went on, despite claims in between.
    fn joint_gap_until<'a>(
        &self,
        role: RoleIndex,
        cells: impl Iterator<Item = &'a Cell>,
    ) -> Option<Mono> {
        let certain = self.open.keys().any(|at| at.group.is_none() && at.roles.contains(&role));
        let led = cells.filter(|cell| certain && cell.is_led());
        let led = led.map(|cell| cell.led_since.max(self.settled)).max();
        led.max(self.joint_until.get(&role).copied())
    }
}

/// How a role stands, and since when, that is in these cells, one a group, and whose last gap in
/// all of them at once ended at `joint`.
fn stands(cells: &[&Cell], joint: Option<Mono>) -> (Level, Mono) {
    let led = cells.iter().filter(|cell| cell.is_led()).count();
    let lost = || cells.iter().filter_map(|cell| cell.unled_since());
    let never = cells.len().saturating_sub(led + lost().count());
    let level = Level::from(Health::of(led, lost().count(), never));
    let all_led = || cells.iter().map(|cell| cell.led_since).max();
    let since = match level {
        // The last group to lose it took it down.
        Level::Down => lost().max(),
        // The first made it degraded, unless it was down meanwhile.
        Level::Degraded => lost().min().max(joint),
        Level::Starting => all_led().max(joint),
        // Whoever leads: a hand-over without a gap begins nothing anew.
        Level::Led => all_led(),
    };
    (level, since.unwrap_or(Mono::ZERO))
}
