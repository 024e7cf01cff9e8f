//! What must hold of a group, at every instant and in the end.

use std::collections::{BTreeMap, BTreeSet};

use tandem::groups::State;
use tandem::neli::membership::GroupMember;

use super::world::{SESSION, World};

impl World {
    /// While the coordinator keeps its state, two members never both have a proof, younger than a
    /// session, for what both hold. Nor do two members hold a partition that renew their ids: no
    /// Join that they gave up counts for them.
    pub(super) fn check_holders(&mut self) {
        // Members that prove it lead by what they prove, and not by what they hold.
        if self.epoch > 0 || self.story.proves.is_some() {
            return;
        }
        let sure = |core: &GroupMember| {
            let proof = core.proof().is_some_and(|it| self.now.since(it.since) < SESSION);
            proof || (self.story.renews_id && !self.story.is_static)
        };
        let (mut holders, mut all, mut doubled) = (BTreeMap::new(), BTreeSet::new(), false);
        for (at, place) in self.places.iter().enumerate() {
            let Some(core) = &place.core else { continue };
            for partition in core.held() {
                doubled |= !all.insert(partition);
                if sure(core) {
                    let other = holders.insert(partition, at);
                    assert_eq!(other, None, "{partition} is held by m{at} as well");
                }
            }
        }
        self.was_doubled |= doubled;
    }

    /// Why the group is not settled, if it is not: every living member stable, each partition held
    /// once, and none but the living in the coordinator's list.
    pub(super) fn unsettled(&mut self) -> Option<String> {
        let now = self.coordinator_now();
        let mut held = BTreeMap::new();
        let mut ids = BTreeSet::new();
        for (at, place) in self.places.iter().enumerate() {
            let Some(core) = &place.core else { continue };
            if !core.is_stable() {
                return Some(format!("m{at} is not stable"));
            }
            ids.insert(core.member_id().unwrap_or_default().to_owned());
            for partition in core.held() {
                if let Some(other) = held.insert(partition, at) {
                    return Some(format!("{partition} is held by m{other} and m{at}"));
                }
            }
        }
        if ids.is_empty() {
            return None;
        }
        let Some(group) = self.coordinator.handle_describe(now, "g") else {
            return Some("the coordinator knows no group".to_owned());
        };
        let known: BTreeSet<String> = group.members.into_iter().map(|it| it.member_id).collect();
        if group.state != State::Stable || known != ids {
            return Some(format!("{} with {known:?}, alive {ids:?}", group.state));
        }
        let width = usize::try_from(self.story.width).unwrap();
        (held.len() != width).then(|| format!("{} of {width} partitions are held", held.len()))
    }

    pub(super) fn generations(&self) -> Vec<Option<i32>> {
        self.places.iter().map(|it| it.core.as_ref().and_then(GroupMember::generation)).collect()
    }
}
