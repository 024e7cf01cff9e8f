//! Hash slots: which role a key belongs to.
//!
//! A key is hashed into one of a fixed number of slots, and slot `s` belongs to role `s mod |R|`.
//! So a program that works for keys (accounts, devices, symbols) asks who leads a key, and all of
//! its instances give the same answer without talking to each other.
//!
//! | hash | slot of a key | agrees with |
//! |---|---|---|
//! | `murmur2` | `(murmur2(key) & 0x7fffffff) mod count` | Kafka, topics of `count` partitions |
//! | `crc16` | `crc16(tag) mod count` | Redis Cluster, for a count of 16384 |
//!
//! Kafka means its default partitioner. A tag is what stands between the first `{` and the next
//! `}` of the key, if anything does, and else it is the whole key.

use crate::ids::RoleIndex;
use crate::roles::Roles;

#[cfg(feature = "serde")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

/// The most slots: the values that CRC16 has.
pub const SLOTS_MOST: u32 = 65_536;

/// A fixed number of slots, and how keys are hashed into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields, expecting = "slots, as in {count: 16384, hash: murmur2}")
)]
pub struct Slots {
    /// How many there are, at least one a role and at most 65,536. Another number gives most keys
    /// another slot.
    pub count: u32,
    /// How keys are hashed; default: `murmur2`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub hash: SlotHash,
}

/// How keys are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum SlotHash {
    /// MurmurHash2 with 32 bits and Kafka's seed.
    #[default]
    Murmur2,
    /// CRC-16/XMODEM, of the tag of the key.
    Crc16,
}

impl SlotHash {
    /// As a topology names it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Murmur2 => "murmur2",
            Self::Crc16 => "crc16",
        }
    }

    fn of(self, key: &[u8]) -> u32 {
        match self {
            Self::Murmur2 => murmur2(key) & 0x7fff_ffff,
            Self::Crc16 => u32::from(crc16(tag(key))),
        }
    }
}

impl Slots {
    /// The slot of a key.
    #[must_use]
    pub fn slot_of(self, key: &[u8]) -> u32 {
        self.hash.of(key) % self.count.max(1)
    }

    /// The role of a slot among so many roles.
    #[must_use]
    pub fn role_of_slot(self, slot: u32, roles: u32) -> RoleIndex {
        RoleIndex(slot % roles.max(1))
    }

    /// The role of a key.
    #[must_use]
    pub fn role_of(self, key: &[u8], roles: &Roles) -> RoleIndex {
        self.role_of_slot(self.slot_of(key), roles.len())
    }

    /// How many slots belong to another role if there are `now` roles instead of `before`.
    #[must_use]
    pub fn moved(self, before: u32, now: u32) -> u32 {
        let moves = |slot: &u32| self.role_of_slot(*slot, before) != self.role_of_slot(*slot, now);
        u32::try_from((0..self.count).filter(moves).count()).unwrap_or(u32::MAX)
    }
}

/// MurmurHash2 as Kafka's clients compute it.
fn murmur2(key: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const MULTIPLIER: u32 = 0x5bd1_e995;
    let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
    let mut hash = SEED ^ length;
    let mut words = key.chunks_exact(4);
    for word in &mut words {
        let word = word.iter().rev().fold(0u32, |all, byte| (all << 8) | u32::from(*byte));
        let mut mixed = word.wrapping_mul(MULTIPLIER);
        mixed ^= mixed >> 24;
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed.wrapping_mul(MULTIPLIER);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        hash ^= rest.iter().rev().fold(0u32, |all, byte| (all << 8) | u32::from(*byte));
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

/// CRC-16/XMODEM: polynomial 0x1021, from 0, not reflected.
fn crc16(key: &[u8]) -> u16 {
    key.iter().fold(0, |before, byte| {
        (0..8).fold(before ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

/// What of a key is hashed: keys with the same tag have the same slot.
fn tag(key: &[u8]) -> &[u8] {
    let after = key.iter().position(|byte| *byte == b'{').and_then(|at| key.get(at + 1..));
    let tag = after.and_then(|rest| rest.get(..rest.iter().position(|byte| *byte == b'}')?));
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_is_kafkas() {
        // The values that the tests of Kafka's Java client expect, as signed numbers.
        let vectors: [(&str, i32); 6] = [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ];
        for (key, hash) in vectors {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
        let all = Slots { count: 16_384, hash: SlotHash::Murmur2 };
        assert_eq!(all.slot_of(b"foobar"), 15_294);
        let slots = Slots { count: 100, hash: SlotHash::Murmur2 };
        let positive = (-973_932_308_i32 & i32::MAX) % 100;
        assert_eq!(slots.slot_of(b"21"), positive.unsigned_abs());
        assert_eq!(slots.slot_of(b""), slots.slot_of(b""));
    }

    #[test]
    fn crc16_is_that_of_redis_cluster() {
        assert_eq!(crc16(b"123456789"), 0x31c3, "the check value of CRC-16/XMODEM");
        let slots = Slots { count: 16_384, hash: SlotHash::Crc16 };
        for (key, slot) in [("somekey", 11_058), ("foo{hash_tag}", 2_515), ("bar{hash_tag}", 2_515)]
        {
            assert_eq!(slots.slot_of(key.as_bytes()), slot, "{key}");
        }
        let same = [("{user1000}.following", "{user1000}.followers"), ("foo{bar}{zap}", "bar")];
        for (one, other) in same {
            assert_eq!(slots.slot_of(one.as_bytes()), slots.slot_of(other.as_bytes()), "{one}");
        }
        // Without anything between the two, or without an end, the whole key counts.
        for key in ["foo{}{bar}", "foo{bar"] {
            assert_eq!(tag(key.as_bytes()), key.as_bytes());
        }
        assert_eq!(tag(b"foo{{bar}}zap"), b"{bar");
    }

    #[test]
    fn each_role_has_its_share_of_the_slots_and_other_roles_move_most_of_them() {
        let slots = Slots { count: 16_384, hash: SlotHash::Murmur2 };
        assert_eq!(slots.moved(7, 7), 0);
        let moved = (0..16_384).filter(|slot| slot % 3 != slot % 300).count();
        assert_eq!(usize::try_from(slots.moved(3, 300)), Ok(moved));
        for roles in [1, 3, 300, 16_384] {
            let mut shares = vec![0u32; 16_384];
            for slot in 0..slots.count {
                let role = slots.role_of_slot(slot, roles);
                assert!(role.0 < roles);
                shares[usize::try_from(role.0).unwrap()] += 1;
            }
            shares.truncate(usize::try_from(roles).unwrap());
            let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
            assert!(most - least <= 1, "{roles} roles: {least} to {most}");
        }
    }
}
