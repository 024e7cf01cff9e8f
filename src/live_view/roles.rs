//! The leaders of each role in each group, and the health that follows.

use std::collections::BTreeMap;

use super::Level;
use super::picture::RolePicture;
use super::table::{Cell, Table, ms};
use crate::ids::{GroupName, MemberId};
use crate::live::Health;
use crate::roles::RoleClass;
use crate::time::Mono;

/// With more roles than this, those that share their partitions have one entry.
const EACH_MAX: u32 = 10_000;

impl Table {
    /// Each role in the topology's order, or each class of roles if there are very many.
    pub(super) fn roles(&self, now: Mono) -> Vec<RolePicture> {
        let classes = self.plan.classes().filter_map(|roles| self.class(roles, now));
        let classes: Vec<(RoleClass, RolePicture)> = classes.collect();
        if self.plan.roles.len() > EACH_MAX {
            return classes.into_iter().map(|(_, picture)| picture).collect();
        }
        let mut all = BTreeMap::new();
        for (class, picture) in classes {
            for role in class.roles() {
                let Some(name) = self.plan.roles.name(role) else { continue };
                all.insert(role, RolePicture { role: name, more: 0, ..picture.clone() });
            }
        }
        all.into_values().collect()
    }

    fn class(&self, roles: RoleClass, now: Mono) -> Option<(RoleClass, RolePicture)> {
        let cells: BTreeMap<&GroupName, &Cell> = self
            .plan
            .groups
            .iter()
            .filter_map(|(name, group)| {
                let partition = group.partition(roles.first);
                Some((name, self.groups.get(name)?.partitions.get(&partition)?))
            })
            .collect();
        let joint = self.joint_gap_until(roles, cells.values().copied());
        let (health, since) = stands(&cells.values().copied().collect::<Vec<_>>(), joint);
        let idle = cells.iter().filter(|(_, cell)| !cell.leaders.is_empty() && !cell.is_led());
        let idle = idle.map(|(name, _)| (*name).clone()).collect();
        let leaders = |cell: &Cell| -> Vec<MemberId> {
            cell.leaders.iter().map(|life| life.member.clone()).collect()
        };
        let picture = RolePicture {
            role: self.plan.roles.name(roles.first)?,
            more: roles.count - 1,
            health,
            health_for_ms: ms(now.since(since)),
            leaders: cells.iter().map(|(&name, cell)| (name.clone(), leaders(cell))).collect(),
            idle,
        };
        Some((roles, picture))
    }

    /// When the last joint gap of these roles ended, by the current claims, but not before the time
    /// up to which the watch is certain that the gap went on.
    fn joint_gap_until<'a>(
        &self,
        roles: RoleClass,
        cells: impl Iterator<Item = &'a Cell>,
    ) -> Option<Mono> {
        let certain = self.open.keys().any(|at| at.group.is_none() && at.roles == roles);
        let led = cells.filter(|cell| certain && cell.is_led());
        let led = led.map(|cell| cell.led_since.max(self.settled)).max();
        led.max(self.joint_until.get(&roles.first).copied())
    }
}

/// The health of a role, and since when. `cells` has its partition in each group; `joint` is when
/// its last joint gap ended.
fn stands(cells: &[&Cell], joint: Option<Mono>) -> (Level, Mono) {
    let led = cells.iter().filter(|cell| cell.is_led()).count();
    let lost = || cells.iter().filter_map(|cell| cell.unled_since());
    let never = cells.len().saturating_sub(led + lost().count());
    let level = Level::from(Health::of(led, lost().count(), never));
    let all_led = || cells.iter().map(|cell| cell.led_since).max();
    let since = match level {
        // Since the last group lost it.
        Level::Down => lost().max(),
        // Since the first group lost it, or since it was last down.
        Level::Degraded => lost().min().max(joint),
        Level::Starting => all_led().max(joint),
        // A change of leader without a gap does not count as a new start.
        Level::Led => all_led(),
    };
    (level, since.unwrap_or(Mono::ZERO))
}
