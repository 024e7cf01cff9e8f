//! In which order members stand for a partition, so that votes seldom split.

use std::time::Duration;

use super::{Config, Peer};
use tandem_facts::ids::PartitionId;

/// The member's place in the order, where `former` led last. After a leader the others follow in
/// the order of the members, and begin with another one for each `members` partitions: so what it
/// led does not all move to one of them. The first leaders are spread likewise.
pub(in crate::elections) fn rank(
    config: &Config,
    partition: PartitionId,
    former: Option<Peer>,
) -> u32 {
    let (me, count) = (u32::from(config.me.0), u32::from(config.members.max(2)));
    let k = partition.0;
    match former {
        Some(former) if former == config.me => count - 1,
        Some(former) => {
            let after = (me + count - 1 - u32::from(former.0) % count) % count;
            (after + k / count) % (count - 1)
        }
        None => (me + count - k % count) % count,
    }
}

/// How long after the earliest instant a member of this rank stands, and a little more at random:
/// the `draw`th number that the seed yields.
pub(in crate::elections) fn stagger(
    config: &Config,
    partition: PartitionId,
    rank: u32,
    draw: u64,
) -> Duration {
    let random = mix(config.seed ^ mix(u64::from(partition.0) << 32 ^ draw));
    let part = u32::try_from(random % 256).unwrap_or(0);
    // Others have heard the last heartbeat a little later.
    let least = config.step() / 4;
    least + config.step() * rank + least * part / 256
}

/// The member's id in the election of a partition, where ids decide. Each member has the greatest
/// id of as many partitions as any other. On the first `members` partitions the order of the ids is
/// that of the members, turned; further on it looks drawn.
pub(in crate::elections) fn id(config: &Config, partition: PartitionId, peer: Peer) -> u32 {
    let (count, k) = (u32::from(config.members.max(1)), partition.0);
    let drawn = k / count;
    let place = if drawn == 0 {
        u32::from(peer.0)
    } else {
        let draw = |peer: u32| (mix(u64::from(drawn) << 32 ^ u64::from(peer)), peer);
        let own = draw(u32::from(peer.0));
        let below = (0..count).filter(|other| draw(*other) < own).count();
        u32::try_from(below).unwrap_or(0)
    };
    (place + k) % count
}

/// A number that looks drawn: the finaliser of `splitmix64`.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroU32;

    use super::*;

    fn config(me: u16, members: u16) -> Config {
        Config {
            me: Peer(me),
            members,
            width: NonZeroU32::MIN,
            session: Duration::from_secs(1),
            heartbeat: Duration::from_millis(100),
            seed: 7,
        }
    }

    #[test]
    fn each_member_has_a_rank_of_its_own_and_the_former_leader_the_last() {
        for members in 3..8_u16 {
            for partition in (0..12).map(PartitionId) {
                for former in [None].into_iter().chain((0..members).map(|it| Some(Peer(it)))) {
                    let of = |me| rank(&config(me, members), partition, former);
                    let ranks: BTreeSet<u32> = (0..members).map(of).collect();
                    assert_eq!(ranks, (0..u32::from(members)).collect(), "{partition} {former:?}");
                    if let Some(Peer(former)) = former {
                        assert_eq!(of(former), u32::from(members) - 1);
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_leader_led_moves_to_different_members() {
        let first = |partition, former| {
            let of = |me: &u16| rank(&config(*me, 3), PartitionId(partition), former) == 0;
            (0..3).find(of)
        };
        let spread: Vec<_> = (0..6).map(|partition| first(partition, None)).collect();
        assert_eq!(spread, [0, 1, 2, 0, 1, 2].map(Some));
        let moved: Vec<_> = [0, 3].map(|partition| first(partition, Some(Peer(0)))).to_vec();
        assert_eq!(moved, [Some(1), Some(2)]);
    }

    #[test]
    fn ranks_do_not_meet_at_random() {
        for draw in 0..1_000 {
            let of = |rank| stagger(&config(0, 3), PartitionId(0), rank, draw);
            let (first, second) = (of(0), of(1));
            assert!(first >= Duration::from_micros(12_500) && first < Duration::from_millis(25));
            assert_eq!(second, first + Duration::from_millis(50));
        }
    }

    #[test]
    fn ids_are_a_permutation_and_each_member_has_the_greatest_as_often() {
        for members in 1..8_u16 {
            let of = |partition, peer| id(&config(0, members), partition, Peer(peer));
            let count = u32::from(members);
            for block in 0..4 {
                let mut greatest = BTreeSet::new();
                for partition in (block * count..(block + 1) * count).map(PartitionId) {
                    let ids: BTreeSet<u32> = (0..members).map(|it| of(partition, it)).collect();
                    assert_eq!(ids, (0..count).collect());
                    greatest.insert((0..members).find(|it| of(partition, *it) == count - 1));
                }
                assert_eq!(greatest.len(), usize::from(members));
            }
        }
    }
}
