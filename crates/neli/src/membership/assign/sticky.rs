//! `sticky` and `cooperative-sticky`: even shares, and as few partitions moved as that takes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Shares};
use tandem_facts::ids::PartitionId;

/// A partition of a topic.
type Slot<'a> = (&'a str, PartitionId);

/// What a member gets.
struct Taker<'a> {
    member: &'a Candidate,
    share: BTreeMap<&'a str, BTreeSet<PartitionId>>,
    load: usize,
}

impl<'a> Taker<'a> {
    fn add(&mut self, (topic, partition): Slot<'a>) {
        if self.share.entry(topic).or_default().insert(partition) {
            self.load += 1;
        }
    }

    /// Takes away the last of its partitions of a topic.
    fn give_up(&mut self, topic: &'a str) -> Option<Slot<'a>> {
        let partition = self.share.get_mut(topic)?.pop_last()?;
        self.load -= 1;
        Some((topic, partition))
    }
}

pub(super) fn assign<'a>(topics: &'a BTreeMap<String, u32>, members: &[&'a Candidate]) -> Shares {
    let empty = |member: &&'a Candidate| Taker { member, share: BTreeMap::new(), load: 0 };
    let mut takers: Vec<Taker<'a>> = members.iter().map(empty).collect();
    let kept = kept(topics, members);
    for (slot, at) in &kept {
        if let Some(taker) = takers.get_mut(*at) {
            taker.add(*slot);
        }
    }
    for (topic, &width) in topics {
        for slot in (0..width).map(|k| (topic.as_str(), PartitionId(k))) {
            if !kept.contains_key(&slot)
                && let Some((at, _)) = idlest(&takers, topic)
                && let Some(taker) = takers.get_mut(at)
            {
                taker.add(slot);
            }
        }
    }
    even_out(&mut takers);
    let named = |taker: Taker<'_>| {
        let share = taker.share.into_iter().filter(|(_, partitions)| !partitions.is_empty());
        let share = share.map(|(topic, partitions)| (topic.to_owned(), partitions)).collect();
        (taker.member.member_id.clone(), share)
    };
    takers.into_iter().map(named).collect()
}

/// The partitions that stay where they are for now, each with the place of its member: that to
/// which the latest generation gave them, if it still wants them. Where two members say so of one
/// generation, neither keeps it.
fn kept<'a>(
    topics: &BTreeMap<String, u32>,
    members: &[&'a Candidate],
) -> BTreeMap<Slot<'a>, usize> {
    let mut latest: BTreeMap<Slot<'a>, (Option<i32>, Option<usize>)> = BTreeMap::new();
    for (at, member) in members.iter().enumerate() {
        let wanted = member.owned.iter().filter(|(topic, _)| member.topics.contains(*topic));
        for (topic, partitions) in wanted {
            let width = topics.get(topic).copied().unwrap_or(0);
            for &partition in partitions.iter().filter(|k| k.0 < width) {
                let slot = (topic.as_str(), partition);
                let holder = match latest.get(&slot) {
                    Some((generation, _)) if *generation > member.generation => continue,
                    Some((generation, _)) if *generation == member.generation => None,
                    Some(_) | None => Some(at),
                };
                latest.insert(slot, (member.generation, holder));
            }
        }
    }
    latest.into_iter().filter_map(|(slot, (_, at))| Some((slot, at?))).collect()
}

/// The subscriber with the fewest partitions, the first of several, and how many it has.
fn idlest(takers: &[Taker<'_>], topic: &str) -> Option<(usize, usize)> {
    let able = takers.iter().enumerate().filter(|(_, taker)| taker.member.topics.contains(topic));
    able.map(|(at, taker)| (at, taker.load)).min_by_key(|(_, load)| *load)
}

/// Moves partitions from members that have at least two more to those that have the fewest, until
/// there is no such pair. Each move brings two loads closer together, so this ends.
fn even_out(takers: &mut [Taker<'_>]) {
    loop {
        let mut best: Option<(&str, usize, usize, usize)> = None;
        for (from, taker) in takers.iter().enumerate() {
            let full = taker.share.iter().filter(|(_, partitions)| !partitions.is_empty());
            for &topic in full.map(|(topic, _)| topic) {
                let Some((to, load)) = idlest(takers, topic) else { continue };
                let more = taker.load.saturating_sub(load);
                if more > 1 && best.is_none_or(|(.., most)| more > most) {
                    best = Some((topic, from, to, more));
                }
            }
        }
        let Some((topic, from, to, _)) = best else { return };
        let moved = takers.get_mut(from).and_then(|taker| taker.give_up(topic));
        if let Some(slot) = moved
            && let Some(taker) = takers.get_mut(to)
        {
            taker.add(slot);
        }
    }
}

/// The shares without what another member has to let go of first: it does so in this generation,
/// joins again, and the next generation gives it away.
pub(super) fn held_back(mut shares: Shares, members: &[&Candidate]) -> Shares {
    let holds = |member: &Candidate, topic: &str, partition: &PartitionId| {
        member.owned.get(topic).is_some_and(|partitions| partitions.contains(partition))
    };
    for taker in members {
        let Some(share) = shares.get_mut(&taker.member_id) else { continue };
        for (topic, partitions) in share.iter_mut() {
            partitions.retain(|k| {
                let others = || members.iter().any(|other| holds(other, topic, k));
                holds(taker, topic, k) || !others()
            });
        }
        share.retain(|_, partitions| !partitions.is_empty());
    }
    shares
}
