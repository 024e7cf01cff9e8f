//! The identity of a state: instants count from now, and numbers that only name something count in
//! the order of their first use. So two states are one that differ in their history alone.

use std::hash::{DefaultHasher, Hash, Hasher};

use tandem_facts::time::Mono;

use super::setting::SESSION;

/// The instants of a search lie above this, and all other numbers of 64 bits below: ids of requests
/// and tokens. Above both are the states of generators of chance, which decide nothing here.
pub(super) const BEGIN: u64 = 1 << 50;
const END: u64 = 1 << 51;
/// Wall clocks of a search read more than this, and offsets are less.
const WALL_BEGIN: i64 = 1 << 41;

/// What a wall clock that is right reads at an instant, in milliseconds.
pub(super) fn wall_ms(now: Mono) -> i64 {
    2 * WALL_BEGIN + i64::try_from(now.0.saturating_sub(BEGIN) / 1_000_000).unwrap()
}

/// Hashes what derives `Hash`, and sees through its numbers.
pub(super) struct Identity {
    to: DefaultHasher,
    now: u64,
    /// Whose ids are hashed now: a token names its member in the upper half.
    whose: u64,
    names: Vec<(Kind, u64)>,
    generation: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    Member,
}

impl Identity {
    pub(super) fn new() -> Self {
        Self { to: DefaultHasher::new(), now: 0, whose: 0, names: Vec::new(), generation: None }
    }

    /// Hashes a part of a state, with the clock and the ids of its own.
    pub(super) fn part(&mut self, now: Mono, whose: usize, part: &impl Hash) {
        self.now = now.0;
        self.whose = u64::try_from(whose).unwrap() << 32;
        part.hash(self);
    }

    fn name(&mut self, kind: Kind, number: u64) {
        let known = self.names.iter().position(|it| *it == (kind, number));
        let at = known.unwrap_or_else(|| {
            self.names.push((kind, number));
            self.names.len() - 1
        });
        self.to.write_usize(at);
    }
}

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.to.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        match member_id(bytes) {
            Some((letter, number)) => {
                self.to.write_u8(letter);
                self.name(Kind::Member, u64::from(letter) << 32 | number);
            }
            None => self.to.write(bytes),
        }
    }

    fn write_u64(&mut self, number: u64) {
        match number {
            ..BEGIN => {
                let whose = if number >> 32 == 0 { self.whose } else { 0 };
                self.name(Kind::Request, whose | number);
            }
            // No wait is longer than two sessions, so older instants are alike.
            BEGIN..END => {
                let oldest = self.now - u64::try_from(SESSION.as_nanos() * 2).unwrap();
                self.to.write_u64(number.max(oldest).wrapping_sub(oldest));
            }
            END.. => {}
        }
    }

    /// Counters of failures and of claims: what decides is whether there was one, or several.
    fn write_u32(&mut self, number: u32) {
        self.to.write_u32(number.min(2));
    }

    /// Partitions, generations, ids of brokers. Generations count from the first that is met.
    fn write_i32(&mut self, number: i32) {
        let generation = (2..1_000).contains(&number);
        let first = if generation { *self.generation.get_or_insert(number) } else { 0 };
        self.to.write_u8(generation.into());
        self.to.write_i32(number - first);
    }

    /// Stamps of the wall clock, which count from now as instants do; offsets that are fences,
    /// which decide no claim.
    fn write_i64(&mut self, number: i64) {
        let (now, oldest) =
            (wall_ms(Mono(self.now)), i64::try_from(SESSION.as_millis() * 2).unwrap());
        let is_stamp = number >= WALL_BEGIN;
        self.to.write_i64(if is_stamp { (number - now).max(-oldest) } else { number.min(0) });
    }

    fn write_usize(&mut self, number: usize) {
        self.to.write_usize(number);
    }

    fn write_isize(&mut self, number: isize) {
        self.to.write_isize(number);
    }

    fn write_u8(&mut self, number: u8) {
        self.to.write_u8(number);
    }
}

/// The client and the number of a member id. The later ids of a member are the greater ones; the
/// first of the newer protocol has no number.
fn member_id(bytes: &[u8]) -> Option<(u8, u64)> {
    match bytes {
        [letter @ b'a'..=b'c'] => Some((*letter, 1)),
        [letter, b'-', number @ ..] => {
            Some((*letter, std::str::from_utf8(number).ok()?.parse().ok()?))
        }
        _ => None,
    }
}
