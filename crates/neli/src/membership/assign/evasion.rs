//! Partitions that a member does not reach: each goes to one that does not say so, and nothing else
//! moves.

use super::{Candidate, Partitions, Shares, give};
use tandem_facts::ids::PartitionId;

/// The shares, where each partition that its taker does not reach goes to a member that wants its
/// topic and does not say so: the one that has it already, else the one with the fewest partitions.
/// Where all say so, it stays.
pub(super) fn evade(mut shares: Shares, members: &[&Candidate]) -> Shares {
    for member in members {
        for (topic, partitions) in &member.unreachable {
            for &partition in partitions {
                let able = members.iter().filter(|it| can_serve(it, topic, partition));
                let taker = able.min_by_key(|it| {
                    let has = it.owned.get(topic).is_some_and(|owned| owned.contains(&partition));
                    (!has, shares.get(&it.member_id).map_or(0, load))
                });
                if let Some(taker) = taker
                    && take(&mut shares, member, topic, partition)
                {
                    give(&mut shares, taker, topic, partition);
                }
            }
        }
    }
    shares
}

fn can_serve(member: &Candidate, topic: &str, partition: PartitionId) -> bool {
    let lacks = member.unreachable.get(topic).is_some_and(|it| it.contains(&partition));
    member.topics.contains(topic) && !lacks
}

fn load(share: &Partitions) -> usize {
    share.values().map(std::collections::BTreeSet::len).sum()
}

/// Takes a partition from a member; false where it does not have it.
fn take(shares: &mut Shares, member: &Candidate, topic: &str, partition: PartitionId) -> bool {
    let Some(share) = shares.get_mut(&member.member_id) else { return false };
    let taken = share.get_mut(topic).is_some_and(|partitions| partitions.remove(&partition));
    share.retain(|_, partitions| !partitions.is_empty());
    taken
}
