//! Which versions of the protocol a member works with, as a header of its beacons: the members of a
//! group can be replaced by those of a later version one after the other.
//!
//! Bytes: the version that it speaks, the oldest with which it works (16 bits each, big-endian),
//! and flags (8 bits: 1, it is settled). Later versions only add fields at the end. A beacon
//! without the header is heard like any other: members of before had none.

use std::fmt;

const SETTLED: u8 = 1;

/// What a member speaks, and with whom it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Versions {
    /// The version that it speaks.
    pub speaks: u16,
    /// The oldest version with which it works.
    pub oldest: u16,
}

/// What a beacon says of its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Author {
    /// Its versions.
    pub versions: Versions,
    /// Whether it has been a member for longer than the threshold: one that has not gives way to
    /// one that has.
    pub settled: bool,
}

/// Two members that cannot be in one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misfit {
    /// The versions of this one.
    pub ours: Versions,
    /// The versions of the other.
    pub theirs: Versions,
}

impl Versions {
    /// Those of this code.
    pub const OURS: Self = Self { speaks: 1, oldest: 1 };

    /// Whether the two can be in one group.
    #[must_use]
    pub const fn works_with(self, other: Self) -> bool {
        self.speaks >= other.oldest && other.speaks >= self.oldest
    }
}

impl Author {
    /// The bytes of the header.
    #[must_use]
    pub const fn encode(self) -> [u8; 5] {
        let [[a, b], [c, d]] =
            [self.versions.speaks.to_be_bytes(), self.versions.oldest.to_be_bytes()];
        [a, b, c, d, if self.settled { SETTLED } else { 0 }]
    }

    /// The author in these bytes, if they name one.
    #[must_use]
    pub const fn decode(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, d, flags, ..] = bytes else { return None };
        let versions =
            Versions { speaks: u16::from_be_bytes([*a, *b]), oldest: u16::from_be_bytes([*c, *d]) };
        Some(Self { versions, settled: *flags & SETTLED != 0 })
    }

    /// Whether this member leaves the group to the other one, with which it does not work. Of two
    /// that are alike in that, the one of the later version does: the group was of the earlier one.
    #[must_use]
    pub const fn yields_to(self, other: Self) -> bool {
        match (self.settled, other.settled) {
            (false, true) => true,
            (true, false) => false,
            (true, true) | (false, false) => self.versions.speaks > other.versions.speaks,
        }
    }
}

/// `version 2 of the protocol, which works with 2 and later`.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { speaks, oldest } = self;
        write!(f, "version {speaks} of the protocol, which works with {oldest} and later")
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours, theirs } = self;
        write!(f, "this member speaks {ours}, and another one on its topic {theirs}")
    }
}

impl std::error::Error for Misfit {}

#[cfg(test)]
mod tests {
    use super::*;

    const fn author(speaks: u16, oldest: u16, settled: bool) -> Author {
        Author { versions: Versions { speaks, oldest }, settled }
    }

    #[test]
    fn an_author_is_read_back_also_from_a_later_version() {
        for one in [author(1, 1, false), author(2, 1, true), author(u16::MAX, 513, true)] {
            assert_eq!(Author::decode(&one.encode()), Some(one));
            let later: Vec<u8> = one.encode().into_iter().chain([7; 9]).collect();
            assert_eq!(Author::decode(&later), Some(one), "fields that are not known yet");
            assert_eq!(Author::decode(&one.encode()[..4]), None, "cut short");
        }
    }

    #[test]
    fn two_work_together_if_each_is_new_enough_for_the_other() {
        let works = |a: (u16, u16), b: (u16, u16)| {
            let [a, b] = [a, b].map(|(speaks, oldest)| Versions { speaks, oldest });
            assert_eq!(a.works_with(b), b.works_with(a), "it is mutual: {a:?} {b:?}");
            a.works_with(b)
        };
        assert!(works((1, 1), (1, 1)) && works((1, 1), (2, 1)) && works((2, 2), (3, 1)));
        assert!(!works((1, 1), (2, 2)) && !works((1, 1), (3, 2)));
    }

    #[test]
    fn of_two_that_do_not_work_together_exactly_one_yields() {
        let all =
            [author(1, 1, false), author(1, 1, true), author(3, 2, false), author(3, 2, true)];
        for (one, other) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            if !one.versions.works_with(other.versions) {
                assert_ne!(one.yields_to(other), other.yields_to(one), "{one:?} {other:?}");
            }
        }
        assert!(author(1, 1, false).yields_to(author(3, 2, true)), "an old one that comes back");
        assert!(author(3, 2, true).yields_to(author(1, 1, true)), "the group was of the old");
    }

    #[test]
    fn a_misfit_names_both_versions() {
        let [ours, theirs] = [author(3, 2, false), author(1, 1, true)].map(|it| it.versions);
        let text = Misfit { ours, theirs }.to_string();
        assert_eq!(
            text,
            "this member speaks version 3 of the protocol, which works with 2 and later, and an\
             other one on its topic version 1 of the protocol, which works with 1 and later"
        );
    }
}
