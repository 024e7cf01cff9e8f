//! A leader that reaches its coordinator and hears nothing on its partition: the bound of the gap
//! after its claim has lapsed.

use std::time::Duration;

use support::world::{Luck, World};
use tandem::ids::PartitionId;
use tandem::time::Mono;
use tandem::topology::{Terms, bounds};

use super::{EXACT, MS, ROUND, SOON, STEP, exclusive, terms};

/// One of three members does not hear its partition any more, from just after its last message on.
/// At worst it gives way just after the others have sent their heartbeats.
fn falls_silent(terms: Terms) -> (World, Mono, Mono) {
    let round = if terms.mode.is_exclusive() { SOON } else { ROUND };
    let mut world = World::new(terms, Luck::Worst, 3, 3, round);
    world.run(Mono::ZERO + 1000 * MS);
    let (victim, partition) = (1, world.holds(1)[0]);
    let gives_way = world.settled + 40 * terms.silence() + STEP;
    let last = gives_way - terms.threshold;
    if terms.mode.is_exclusive() {
        // The last proof was as old as it can be.
        world.prove(victim, last - terms.age);
        world.run(last - terms.age);
    }
    world.run(last);
    world.hear(victim, partition);
    world.deafen(victim, partition, last);
    world.run(gives_way + 2000 * MS);
    let of = |it: &&(Mono, usize, PartitionId)| it.2 == partition;
    let ended = world.ended.iter().filter(of).filter(|it| it.1 == victim).map(|it| it.0).max();
    let next = |it: &&(Mono, usize, PartitionId)| of(it) && it.1 != victim && it.0 > last;
    let succeeded = world.acquired.iter().find(next).expect("another one leads it").0;
    (world, ended.unwrap(), succeeded)
}

#[test]
fn a_silent_partition_is_led_again_exactly_when_the_bound_says() {
    for all in [Terms { statement: None, ..terms() }, exclusive()] {
        let (world, ended, succeeded) = falls_silent(all);
        let gap = succeeded.since(ended);
        let of = |terms: &Terms| bounds(terms, None).silence.unwrap().gap.high.get();
        let high = of(&all);
        assert!(gap <= high + EXACT && gap + EXACT >= high, "gap {gap:?}, bound {high:?}");
        let zero = Duration::ZERO;
        let mut without = vec![
            ("B", Terms { rebalance: zero, ..all }),
            ("h' in B", Terms { rebalance: all.rebalance - all.silence(), ..all }),
            ("poll in B", Terms { rebalance: all.rebalance - all.wake, ..all }),
            ("2 rtt in B", Terms { rebalance: all.silence() + all.wake, ..all }),
            ("F", Terms { first: zero, ..all }),
        ];
        if all.mode.is_exclusive() {
            without.push(("a", Terms { age: zero, ..all }));
        }
        for (term, terms) in without {
            let high = of(&terms);
            assert!(gap > high + EXACT, "without {term} the bound is {high:?}");
        }
        // The others lead what they led: in the exclusive mode a rebalance later, else all along.
        let others: Vec<PartitionId> = (0..3).map(PartitionId).collect();
        let leaders = |k| (0..3).filter(|&client| world.leads(client, k)).count();
        assert!(others.into_iter().all(|k| leaders(k) == 1), "each has one leader in the end");
    }
    let librdkafka = Terms { gives_way: None, ..terms() };
    assert_eq!(bounds(&librdkafka, None).silence, None);
}
