//! The assignors: which member shall hold which partition.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::catalog::{Partition, Topic, TopicId};

/// A way to assign partitions, in alphabetical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) enum Assignor {
    /// Each member gets neighbouring partitions of each topic.
    Range,
    /// All members get equally many, and keep what they have.
    #[default]
    Uniform,
}

impl Assignor {
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Range, Self::Uniform].into_iter().find(|assignor| assignor.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::Uniform => "uniform",
        }
    }

    /// Assigns each partition to a member that subscribes to its topic.
    pub(super) fn assign(
        self,
        candidates: Vec<Candidate<'_>>,
        topics: &BTreeMap<String, Topic>,
    ) -> BTreeMap<String, BTreeSet<Partition>> {
        match self {
            Self::Range => range(candidates, topics),
            Self::Uniform => uniform(candidates, topics),
        }
    }
}

/// A member that partitions are assigned to.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'a> {
    pub(super) id: &'a str,
    pub(super) instance: Option<&'a str>,
    /// The topics that it subscribes to.
    pub(super) topics: BTreeSet<TopicId>,
    /// What it shall hold: before, the old target; then the new one.
    pub(super) share: BTreeSet<Partition>,
}

fn shares(candidates: Vec<Candidate<'_>>) -> BTreeMap<String, BTreeSet<Partition>> {
    candidates.into_iter().map(|one| (one.id.to_owned(), one.share)).collect()
}

/// Static members come first, by instance id, so that their partitions stay with the instance.
fn range(
    mut candidates: Vec<Candidate<'_>>,
    topics: &BTreeMap<String, Topic>,
) -> BTreeMap<String, BTreeSet<Partition>> {
    candidates.sort_by_key(|one| (one.instance.is_none(), one.instance, one.id));
    candidates.iter_mut().for_each(|one| one.share.clear());
    for topic in topics.values() {
        let subscribed = |one: &&mut Candidate<'_>| one.topics.contains(&topic.id);
        let members: Vec<_> = candidates.iter_mut().filter(subscribed).collect();
        let Ok(count) = i32::try_from(members.len()) else { continue };
        let mut next = 0;
        for (at, member) in (0..).zip(members) {
            // Not divided by zero: there is a member.
            let extra = i32::from(at < topic.width % count);
            let end = next + topic.width / count + extra;
            member.share.extend((next..end).map(|index| Partition { topic: topic.id, index }));
            next = end;
        }
    }
    shares(candidates)
}

/// Members keep what they have, free partitions go to who has least, and partitions move from
/// members with many to such with few until no move makes the shares more equal.
fn uniform(
    mut candidates: Vec<Candidate<'_>>,
    topics: &BTreeMap<String, Topic>,
) -> BTreeMap<String, BTreeSet<Partition>> {
    let widths: BTreeMap<TopicId, i32> = topics.values().map(|one| (one.id, one.width)).collect();
    let mut free: BTreeSet<Partition> = widths
        .iter()
        .flat_map(|(topic, width)| (0..*width).map(|index| Partition { topic: *topic, index }))
        .collect();
    for one in &mut candidates {
        let topics = &one.topics;
        // What is free no more was kept by another.
        one.share.retain(|at| topics.contains(&at.topic) && free.remove(at));
    }
    for at in free {
        if let Some(one) = least(&mut candidates, at.topic) {
            one.share.insert(at);
        }
    }
    while even_out(&mut candidates) {}
    shares(candidates)
}

/// The subscriber of the topic that has least.
fn least<'a, 'b>(
    candidates: &'b mut [Candidate<'a>],
    topic: TopicId,
) -> Option<&'b mut Candidate<'a>> {
    let subscribers = candidates.iter_mut().filter(|one| one.topics.contains(&topic));
    subscribers.min_by_key(|one| (one.share.len(), one.id))
}

/// Moves one partition from the member that has most to one that has at least two fewer. Every move
/// lowers the sum of the squares, so there is a last one.
fn even_out(candidates: &mut [Candidate<'_>]) -> bool {
    let fewest = candidates.iter().map(|one| one.share.len()).min().unwrap_or_default();
    let mut order: Vec<(Reverse<usize>, usize)> =
        candidates.iter().map(|one| Reverse(one.share.len())).zip(0..).collect();
    order.sort_unstable();
    for (Reverse(most), from) in order {
        if most < fewest + 2 {
            return false;
        }
        let Some(giver) = candidates.get(from) else { continue };
        let last = |topic: &TopicId| {
            let end = Partition { topic: *topic, index: i32::MAX };
            giver.share.range(..=end).next_back().copied().filter(|at| at.topic == *topic)
        };
        let offers: Vec<Partition> = giver.topics.iter().filter_map(last).collect();
        for at in offers {
            let Some(taker) = least(candidates, at.topic) else { continue };
            if taker.share.len() + 2 > most {
                continue;
            }
            taker.share.insert(at);
            if let Some(giver) = candidates.get_mut(from) {
                giver.share.remove(&at);
            }
            return true;
        }
    }
    false
}
