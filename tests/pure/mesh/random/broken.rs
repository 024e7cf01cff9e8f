//! Links that break between the living, at any time and in any order with what was sent before:
//! each end takes the other for dead, and the ledger refutes that.

use proptest::prelude::*;
use support::cases::cases;

use super::{Item, World};

impl World {
    /// The link between two living members breaks; what was under way may be lost.
    fn sever(&mut self, one: usize, other: usize) {
        for key in [(one, other), (other, one)] {
            let said = self.pipes[&key].len();
            let kept = said - self.draw(said + 1);
            let pipe = self.pipes.get_mut(&key).unwrap();
            pipe.truncate(kept);
            pipe.push_back(Item::End);
        }
    }

    /// A member reads the next statement of the ledger; false if it has read all.
    fn read(&mut self, at: usize, read: &mut [usize]) -> bool {
        let Some(statement) = self.ledger.get(read[at]).cloned() else { return false };
        read[at] += 1;
        self.now = self.now + std::time::Duration::from_micros(100);
        if self.nodes[at].alive {
            self.hand_over(at, &statement);
            self.nodes[at].mesh.handle_statement(self.now, &statement);
            self.drain(at);
        }
        true
    }

    /// All that is under way arrives, on links and on the ledger.
    fn calm(&mut self, read: &mut [usize]) {
        loop {
            self.settle();
            if !(0..read.len()).fold(false, |any, at| self.read(at, read) | any) {
                return;
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0018, 256))]

    #[test]
    fn the_ledger_refutes_every_false_death_and_true_ones_stay(
        count in 2_usize..6,
        broken in 1_usize..6,
        draws in prop::collection::vec(any::<u32>(), 0..200),
    ) {
        let mut world = World::new(count, draws);
        let mut read = vec![0; count];
        let mut whole: Vec<_> =
            (0..count).flat_map(|one| (0..one).map(move |other| (one, other))).collect();
        let mut severed = Vec::new();
        world.calm(&mut read);
        for _ in 0..broken.min(whole.len()) {
            for _ in 0..world.draw(8) {
                let at = world.draw(count);
                match world.draw(2) {
                    0 => drop(world.deliver()),
                    _ => drop(world.read(at, &mut read)),
                }
            }
            let (one, other) = whole.swap_remove(world.draw(whole.len()));
            world.sever(one, other);
            severed.push((one, other));
        }
        world.calm(&mut read);
        for node in &world.nodes {
            prop_assert!(node.stands.is_empty(), "{} stands in: {:?}", node.life, node.stands);
            prop_assert!(node.own.inquest.is_empty(), "{}: {:?}", node.life, node.own.inquest);
        }
        // The network heals, and then one dies: what it said of its life before is late.
        for (one, other) in severed {
            world.link(one, other);
            world.link(other, one);
        }
        world.calm(&mut read);
        let victim = world.draw(count);
        world.kill(victim);
        for _ in 0..world.draw(8) {
            world.late();
        }
        world.settle();
        world.late();
        world.settle();
        for &partition in &world.nodes[victim].own.holds {
            let found = world.stand_ins(partition);
            prop_assert_eq!(found.len(), 1, "{}: {:?}", partition, found);
        }
    }
}
