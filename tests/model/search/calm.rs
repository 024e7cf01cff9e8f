//! What becomes of a group once its faults cease: its members recover, all messages arrive, and at
//! each instant there is one order of things. So one story follows, and it ends in a circle.

use std::collections::HashMap;
use std::sync::Mutex;

use super::seat::State;
use super::setting::{SESSION, Setting, TICK};
use super::world::World;

/// What is known of calm groups.
#[derive(Debug)]
pub(super) struct Calm {
    /// The most ticks that a group may take.
    most: u32,
    /// By the identity of a calm state: how many ticks later all partitions are led for good; none
    /// if never.
    known: Mutex<HashMap<u64, Option<u32>>>,
}

impl Calm {
    /// A session of a dead member, or joins that never come: as long. Then the members find the
    /// coordinator, join and hear a message.
    pub(super) fn new(setting: &Setting) -> Self {
        let most =
            (SESSION + TICK * 4 + setting.hold * 2 + setting.grace).as_nanos() / TICK.as_nanos();
        Self { most: u32::try_from(most).unwrap(), known: Mutex::default() }
    }

    /// The longest time that a group took.
    pub(super) fn longest(&self) -> Option<u32> {
        self.known.lock().unwrap().values().copied().flatten().max()
    }

    /// Whether all partitions of a group are led soon, and for good, if nothing more befalls it.
    pub(super) fn settles(&self, world: &World) -> bool {
        let mut world = world.clone();
        world.calm_down();
        let mut passed: Vec<(u64, bool)> = Vec::new();
        // Of the end of the story: how many ticks it still takes from there.
        let mut left = loop {
            world.rest();
            let (identity, led) = (world.identity(), world.all_led());
            if let Some(known) = self.known.lock().unwrap().get(&identity) {
                break *known;
            }
            if let Some(at) = passed.iter().position(|(known, _)| *known == identity) {
                break passed[at..].iter().all(|(_, led)| *led).then_some(0);
            }
            passed.push((identity, led));
            world.tick();
        };
        let mut known = self.known.lock().unwrap();
        for (identity, led) in passed.into_iter().rev() {
            left = left.map(|left| if left == 0 && led { 0 } else { left + 1 });
            known.insert(identity, left);
        }
        left.is_some_and(|left| left <= self.most)
    }
}

impl World {
    fn calm_down(&mut self) {
        let now = self.now;
        (self.faults, self.ticks) = (0, 0);
        if self.hub.loads {
            self.hub().load(now);
        }
        for seat in 0..self.seats.len() {
            if self.seats[seat].lives() && self.seats[seat].state != State::Well {
                self.seat(seat).recover(now);
            }
        }
        while !self.late.is_empty() {
            self.release(0);
        }
    }
}
