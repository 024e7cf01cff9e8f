//! The leaders of each role in each group, and the health that follows.

use std::collections::BTreeMap;

use super::Level;
use super::picture::RolePicture;
use super::table::{Table, ms};
use crate::ids::{GroupName, MemberId};
use crate::live::{Health, Live, RoleState};
use crate::roles::RoleClass;
use crate::time::Mono;

/// With more roles than this, those that share their partitions have one entry.
const EACH_MAX: u32 = 10_000;

impl Table {
    /// Each role in the topology's order, or each class of roles if there are very many.
    pub(super) fn roles(&self, live: &Live, now: Mono) -> Vec<RolePicture> {
        let classes = self.plan.classes().filter_map(|roles| self.class(live, roles, now));
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

    fn class(&self, live: &Live, roles: RoleClass, now: Mono) -> Option<(RoleClass, RolePicture)> {
        let names = self.plan.groups.keys();
        let states = names.filter_map(|name| Some((name, live.role_state(name, roles.first)?)));
        let states: BTreeMap<&GroupName, RoleState<'_>> = states.collect();
        let joint = live.joint_gap_until(roles.first);
        let (health, since) = stands(&states.values().collect::<Vec<_>>(), joint);
        let idle = states.iter().filter(|(_, state)| !state.leaders.is_empty() && !state.is_led);
        let idle = idle.map(|(name, _)| (*name).clone()).collect();
        let leaders = |state: &RoleState<'_>| -> Vec<MemberId> {
            state.leaders.iter().map(|life| life.member.clone()).collect()
        };
        let picture = RolePicture {
            role: self.plan.roles.name(roles.first)?,
            more: roles.count - 1,
            health,
            health_for_ms: ms(now.since(since.max(self.began))),
            leaders: states.iter().map(|(&name, state)| (name.clone(), leaders(state))).collect(),
            idle,
        };
        Some((roles, picture))
    }
}

/// The health of a role, and since when. `groups` has its state in each group; `joint` is when its
/// last joint gap ended.
fn stands(groups: &[&RoleState<'_>], joint: Option<Mono>) -> (Level, Mono) {
    let led = groups.iter().filter(|state| state.is_led).count();
    let lost = || groups.iter().filter_map(|state| state.unled_since);
    let never = groups.len().saturating_sub(led + lost().count());
    let level = Level::from(Health::of(led, lost().count(), never));
    let all_led = || groups.iter().map(|state| state.led_since).max();
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
