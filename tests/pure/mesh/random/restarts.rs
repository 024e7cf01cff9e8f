//! Deaths that follow each other within one rebalance, while the dead are started again.

use proptest::prelude::*;
use support::cases::cases;

use super::{World, process};

proptest! {
    #![proptest_config(cases(0x5EED_0019, 256))]

    /// Each dead member is started again, and one dies after the other before the group assigns
    /// anything anew. An orphan has one stand-in while a member of its generation lives. After
    /// that it has at least one: each death may give it to a member that came later as well.
    #[test]
    fn kills_within_one_rebalance_leave_no_orphan_alone(
        count in 2_usize..6,
        killed in 1_usize..9,
        draws in prop::collection::vec(any::<u32>(), 0..100),
    ) {
        let mut world = World::new(count, draws);
        for number in 2..killed + 2 {
            let living = world.living();
            let victim = living[world.draw(living.len())];
            world.kill(victim);
            world.settle();
            let name = world.nodes[victim].life.life.member.clone();
            let again = world.add(process(&format!("{name}.{number}")));
            world.state(again);
            world.settle();
            let most = if world.nodes[..count].iter().any(|node| node.alive) { 1 } else { count };
            for node in world.nodes.iter().filter(|node| !node.alive) {
                for &partition in &node.own.holds {
                    let found = world.stand_ins(partition);
                    let wanted = (1..=most).contains(&found.len());
                    prop_assert!(wanted, "{} of {}: {:?}", partition, node.life, found);
                }
            }
        }
    }
}
