//! Random deaths in a network of meshes. Links keep their order and lose nothing, and a death ends
//! each link after all that was sent on it; otherwise any order is possible. In the end all
//! survivors know the same, and then each orphan has exactly one stand-in, and nothing else has
//! one. Proptest prints the shortest history that breaks this.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

mod broken;
mod restarts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::ids::{Life, PartitionId};
use tandem::neli::mesh::{
    Inquest, LinkId, Mesh, MeshConfig, Notice, Order, Process, Share, StandIn, Word,
};
use tandem::neli::{Statement, UNASSIGNED};
use tandem::time::Mono;

const WIDTH: u32 = 8;
const TERM: Duration = Duration::from_secs(10);

enum Item {
    Word(Word),
    End,
}

struct Node {
    mesh: Mesh,
    life: Process,
    alive: bool,
    /// Its last own statement.
    own: Statement,
    stands: BTreeMap<PartitionId, StandIn>,
}

struct World {
    now: Mono,
    nodes: Vec<Node>,
    /// By sender and receiver.
    pipes: BTreeMap<(usize, usize), VecDeque<Item>>,
    /// All that the ledger ever carried.
    ledger: Vec<Statement>,
    /// Who heard of whose assignment in which generation.
    heard: BTreeSet<(usize, usize, i32)>,
    draws: std::vec::IntoIter<u32>,
}

/// Each life has one process.
fn process(life: &str) -> Process {
    Process { life: Life::try_from(life.to_owned()).unwrap(), number: 7 }
}

fn share(generation: i32, place: usize, of: usize) -> BTreeSet<PartitionId> {
    let shift = generation.unsigned_abs();
    (0..WIDTH).filter(|k| (*k + shift) as usize % of == place).map(PartitionId).collect()
}

impl World {
    fn new(count: usize, draws: Vec<u32>) -> Self {
        let (now, pipes) = (Mono::ZERO, BTreeMap::new());
        let draws = draws.into_iter();
        let (nodes, ledger, heard) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut world = Self { now, nodes, pipes, ledger, heard, draws };
        for place in 0..count {
            world.add(process(&format!("p1-{}.1", place + 1)));
        }
        for place in 0..count {
            world.assign(place, 5, &share(5, place, count));
            world.lead(place);
        }
        world.settle();
        world
    }

    fn draw(&mut self, below: usize) -> usize {
        self.draws.next().unwrap_or(0) as usize % below.max(1)
    }

    /// A new process, with links to all that live.
    fn add(&mut self, life: Process) -> usize {
        let group = "g".parse().unwrap();
        let config = MeshConfig { group, me: life.clone(), stand_in: TERM, suspect: None };
        let (group, holds) = ("g".parse().unwrap(), BTreeSet::new());
        let own = Statement {
            group,
            life: life.life.clone(),
            process: life.number,
            generation: UNASSIGNED,
            leads: holds.clone(),
            holds,
            going: false,
            address: Some("127.0.0.1:1".to_owned()),
            inquest: Inquest::default(),
        };
        let (mesh, stands) = (Mesh::new(self.now, config), BTreeMap::new());
        self.nodes.push(Node { mesh, life, alive: true, own, stands });
        let last = self.nodes.len() - 1;
        for other in (0..last).filter(|&at| self.nodes[at].alive).collect::<Vec<_>>() {
            self.link(last, other);
            self.link(other, last);
        }
        last
    }

    fn link(&mut self, of: usize, to: usize) {
        let life = self.nodes[to].life.clone();
        self.nodes[of].mesh.handle_linked(self.now, LinkId(to as u64), &life);
        self.pipes.insert((of, to), VecDeque::new());
        self.drain(of);
    }

    fn assign(&mut self, at: usize, generation: i32, holds: &BTreeSet<PartitionId>) {
        let own = &mut self.nodes[at].own;
        (own.generation, own.holds, own.leads) = (generation, holds.clone(), BTreeSet::new());
        self.state(at);
    }

    fn lead(&mut self, at: usize) {
        let own = &mut self.nodes[at].own;
        own.leads = own.holds.clone();
        let leads = own.leads.clone();
        // What it stood in for is its own now.
        self.nodes[at].stands.retain(|partition, _| !leads.contains(partition));
        self.state(at);
    }

    /// A rebalance begins: the member holds nothing, and owns what it was given last.
    fn revoke(&mut self, at: usize) {
        let mut own = self.nodes[at].own.clone();
        own.holds.clear();
        own.leads.clear();
        self.nodes[at].mesh.handle_own(self.now, own.clone());
        self.ledger.push(own);
        self.drain(at);
    }

    fn state(&mut self, at: usize) {
        let own = self.nodes[at].own.clone();
        self.nodes[at].mesh.handle_own(self.now, own.clone());
        self.ledger.push(own);
        self.drain(at);
    }

    fn drain(&mut self, at: usize) {
        loop {
            let node = &mut self.nodes[at];
            while let Some(order) = node.mesh.poll_order() {
                match order {
                    Order::Stand(it) => drop(node.stands.insert(it.partition, it)),
                    Order::End { partition } => drop(node.stands.remove(&partition)),
                }
            }
            while let Some((LinkId(to), word)) = node.mesh.poll_word() {
                let pipe = self.pipes.get_mut(&(at, to as usize));
                pipe.into_iter().for_each(|pipe| pipe.push_back(Item::Word(word.clone())));
            }
            if let Some(inquest) = node.mesh.poll_inquest() {
                node.own.inquest = inquest;
                let own = node.own.clone();
                node.mesh.handle_own(self.now, own.clone());
                self.ledger.push(own);
                continue;
            }
            assert_eq!(node.mesh.poll_close(), None, "{} closes a link", node.life);
            // Nobody answers at the address of the dead.
            let Some((life, _)) = node.mesh.poll_dial() else { return };
            node.mesh.handle_undialed(self.now, &life);
        }
    }

    /// It dies between two words: what it said last may have reached some of the others alone.
    fn kill(&mut self, at: usize) {
        self.nodes[at].alive = false;
        self.nodes[at].stands.clear();
        let touched: Vec<_> =
            self.pipes.keys().copied().filter(|&(from, to)| from == at || to == at).collect();
        for key in touched {
            let said = self.pipes[&key].len();
            let kept = said - self.draw(said + 1);
            let hears = key.0 == at && self.nodes[key.1].alive;
            let pipe = self.pipes.get_mut(&key).unwrap();
            pipe.truncate(if hears { kept } else { 0 });
            if hears {
                pipe.push_back(Item::End);
            }
        }
    }

    /// One more step of the network; false if nothing is under way.
    fn deliver(&mut self) -> bool {
        let full: Vec<_> =
            self.pipes.iter().filter(|(_, pipe)| !pipe.is_empty()).map(|(key, _)| *key).collect();
        if full.is_empty() {
            return false;
        }
        let (from, to) = full[self.draw(full.len())];
        self.now = self.now + Duration::from_micros(100);
        match self.pipes.get_mut(&(from, to)).unwrap().pop_front().unwrap() {
            Item::End => self.nodes[to].mesh.handle_ended(self.now, LinkId(from as u64)),
            Item::Word(word) => {
                if let Word::Statement(statement) = &word {
                    self.heard.insert((to, from, statement.generation));
                    self.hand_over(to, &statement.clone());
                }
                self.nodes[to].mesh.handle_word(self.now, LinkId(from as u64), word);
            }
        }
        self.drain(to);
        true
    }

    /// What the core of the member does with a statement.
    fn hand_over(&mut self, at: usize, statement: &Statement) {
        self.nodes[at].stands.retain(|partition, stand| {
            statement.generation <= stand.generation || !statement.leads.contains(partition)
        });
    }

    /// An old message of the ledger reaches somebody.
    fn late(&mut self) {
        let (what, at) = (self.draw(self.ledger.len()), self.draw(self.nodes.len()));
        if self.nodes[at].alive {
            let statement = self.ledger[what].clone();
            self.hand_over(at, &statement);
            self.nodes[at].mesh.handle_statement(self.now, &statement);
            self.drain(at);
        }
    }

    fn settle(&mut self) {
        while self.deliver() {}
    }

    fn living(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&at| self.nodes[at].alive).collect()
    }

    /// Who stands in for a partition.
    fn stand_ins(&self, partition: PartitionId) -> Vec<&Process> {
        let stands = |node: &&Node| node.alive && node.stands.contains_key(&partition);
        self.nodes.iter().filter(stands).map(|node| &node.life).collect()
    }
}

/// Members die one after the other, in any order with the notices of it and with late statements.
fn deaths(count: usize, killed: usize, draws: Vec<u32>) -> Result<World, TestCaseError> {
    let mut world = World::new(count, draws);
    for _ in 0..killed {
        for _ in 0..world.draw(12) {
            match world.draw(4) {
                0 => world.late(),
                1 => {
                    let living = world.living();
                    let at = living[world.draw(living.len())];
                    world.revoke(at);
                }
                _ => drop(world.deliver()),
            }
        }
        let living = world.living();
        let victim = living[world.draw(living.len())];
        world.kill(victim);
    }
    world.settle();
    world.late();
    world.settle();
    for node in &world.nodes {
        for &partition in &node.own.holds {
            let found = world.stand_ins(partition);
            let wanted = usize::from(!node.alive);
            prop_assert_eq!(found.len(), wanted, "{} of {}: {:?}", partition, node.life, found);
        }
    }
    Ok(world)
}

proptest! {
    #![proptest_config(cases(0x5EED_0017, 256))]

    #[test]
    fn each_orphan_has_exactly_one_stand_in(
        count in 2_usize..7,
        killed in 1_usize..6,
        draws in prop::collection::vec(any::<u32>(), 0..200),
    ) {
        deaths(count, killed.min(count - 1), draws)?;
    }

    #[test]
    fn a_restarted_member_takes_over_and_no_old_message_touches_it(
        count in 3_usize..6,
        killed in 1_usize..3,
        draws in prop::collection::vec(any::<u32>(), 0..200),
    ) {
        let mut world = deaths(count, killed, draws)?;
        let dead: Vec<usize> = (0..count).filter(|&at| !world.nodes[at].alive).collect();
        let again: Vec<usize> = dead
            .iter()
            .map(|&at| world.add(process(&format!("p1-{}.2", at + 1))))
            .collect();
        let group = world.living();
        for (place, &at) in group.iter().enumerate() {
            world.assign(at, 6, &share(6, place, group.len()));
            world.lead(at);
        }
        world.settle();
        for (&old, &new) in dead.iter().zip(&again) {
            let holds = world.nodes[old].own.holds.clone();
            let notice = Notice {
                dead: world.nodes[old].life.clone(),
                share: Some(Share { generation: 5, partitions: holds }),
            };
            for at in world.living().into_iter().filter(|&at| at != new) {
                let pipe = world.pipes.get_mut(&(new, at)).unwrap();
                pipe.push_back(Item::Word(Word::Notice(notice.clone())));
            }
        }
        for _ in 0..20 {
            world.late();
        }
        world.settle();
        for k in (0..WIDTH).map(PartitionId) {
            prop_assert!(world.stand_ins(k).is_empty(), "{k}: {:?}", world.stand_ins(k));
        }
    }

    /// Members learn of a new generation one by one, and die at any point.
    #[test]
    fn what_one_survivor_knows_of_the_dead_all_act_on(
        count in 3_usize..7,
        killed in 1_usize..4,
        draws in prop::collection::vec(any::<u32>(), 0..300),
    ) {
        let mut world = World::new(count, draws);
        let mut waiting: Vec<usize> = (0..count).collect();
        let mut killed = killed.min(count - 2);
        while killed > 0 || !waiting.is_empty() {
            match world.draw(6) {
                0 if killed > 0 => {
                    killed -= 1;
                    let living = world.living();
                    let victim = living[world.draw(living.len())];
                    waiting.retain(|&at| at != victim);
                    world.kill(victim);
                }
                1 if !waiting.is_empty() => {
                    let at = waiting[world.draw(waiting.len())];
                    world.revoke(at);
                }
                2 if !waiting.is_empty() => {
                    let at = waiting.swap_remove(world.draw(waiting.len()));
                    world.assign(at, 6, &share(6, at, count));
                }
                // Numbers that are used up are 0, so there is always a next step.
                3 if !waiting.is_empty() => world.late(),
                _ if !world.deliver() => {
                    if let Some(at) = waiting.pop() {
                        world.assign(at, 6, &share(6, at, count));
                    }
                }
                _ => {}
            }
        }
        world.settle();
        for at in world.living() {
            world.lead(at);
        }
        world.settle();
        for k in (0..WIDTH).map(PartitionId) {
            let holders = (0..count).filter(|&at| world.nodes[at].own.holds.contains(&k));
            let Some(at) = holders.max_by_key(|&at| world.nodes[at].own.generation) else {
                continue;
            };
            let (owner, found) = (&world.nodes[at], world.stand_ins(k));
            // If nobody who lives heard of the assignment, nobody knows that it lost its owner.
            let known = world.living().iter().any(|&by| world.heard.contains(&(by, at, 6)));
            if owner.alive {
                prop_assert!(found.is_empty(), "{k} of {}: {found:?}", owner.life);
            } else if owner.own.generation == 6 && known {
                prop_assert_eq!(found.len(), 1, "{} of {}: {:?}", k, owner.life, found);
            }
        }
    }
}
