//! Who leads each role in each group, and how the role stands for that.

use std::collections::BTreeMap;

use super::Level;
use super::picture::RolePicture;
use super::table::{Cell, Table, ms};
use crate::ids::{GroupName, MemberId, RoleName};
use crate::time::Mono;

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
        let (health, since) = stands(&cells.values().copied().collect::<Vec<_>>());
        let leaders = |cell: &Cell| -> Vec<MemberId> {
            cell.leaders.iter().map(|life| life.member.clone()).collect()
        };
        RolePicture {
            role: role.clone(),
            health,
            health_for_ms: ms(now.since(since)),
            leaders: cells.iter().map(|(&name, cell)| (name.clone(), leaders(cell))).collect(),
        }
    }
}

/// How a role stands, and since when, that is in these cells, one a group.
fn stands(cells: &[&Cell]) -> (Level, Mono) {
    let unled = || cells.iter().filter(|cell| cell.leaders.is_empty());
    let level = if cells.iter().any(|cell| !cell.ever) {
        Level::Starting
    } else if unled().next().is_none() {
        Level::Led
    } else if unled().count() == cells.len() {
        Level::Down
    } else {
        Level::Degraded
    };
    let since = match level {
        // The last group to lose it took it down; the first made it degraded.
        Level::Down => unled().map(|cell| cell.since).max(),
        Level::Degraded => unled().map(|cell| cell.since).min(),
        Level::Starting | Level::Led => cells.iter().map(|cell| cell.since).max(),
    };
    (level, since.unwrap_or(Mono::ZERO))
}
