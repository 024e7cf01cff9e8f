//! Whom a member works with, as headers of its beacons. Which versions of the protocol it speaks:
//! the members of a group can be replaced by those of a later version one after the other. And
//! which group it is of, by name: two groups that were given one topic by mistake notice it.
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

/// Why two members cannot be in one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// They speak versions of the protocol that do not work together.
    Versions {
        /// Those of this one.
        ours: Versions,
        /// Those of the other.
        theirs: Versions,
    },
    /// They are of two groups that have one consumer group and topic.
    Group {
        /// The group of this one.
        ours: String,
        /// The group of the other.
        theirs: String,
    },
}

/// The consumer group in the name of a group; others on its topic are no matter of its members.
fn consumer_group(group: &str) -> Option<&str> {
    group.rsplit_once('@').map(|(_, of)| of)
}

/// A member, as another one sees it by its beacons: its versions, and its group if it names one, as
/// `TOPOLOGY/GROUP@CONSUMER-GROUP`.
pub(crate) type Side<'a> = (Versions, Option<&'a str>);

impl Misfit {
    /// Why two cannot be in one group, if they cannot.
    #[must_use]
    pub fn of((ours, our_group): Side<'_>, (theirs, their_group): Side<'_>) -> Option<Self> {
        if !ours.works_with(theirs) {
            return Some(Self::Versions { ours, theirs });
        }
        let are_two = |(our, their): &(&str, &str)| {
            our != their && consumer_group(our) == consumer_group(their)
        };
        let (our, their) = our_group.zip(their_group).filter(are_two)?;
        Some(Self::Group { ours: our.to_owned(), theirs: their.to_owned() })
    }
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
    /// Or the one whose group comes later by name.
    #[must_use]
    pub fn yields_to(self, other: Self, misfit: &Misfit) -> bool {
        match (self.settled, other.settled) {
            (false, true) => true,
            (true, false) => false,
            (true, true) | (false, false) => match misfit {
                Misfit::Versions { ours, theirs } => ours.speaks > theirs.speaks,
                Misfit::Group { ours, theirs } => ours > theirs,
            },
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
        match self {
            Self::Versions { ours, theirs } => {
                write!(f, "this member speaks {ours}, and another one on its topic {theirs}")
            }
            Self::Group { ours, theirs } => {
                write!(
                    f,
                    "this member is of group {ours}, and another one on its topic of {theirs}"
                )
            }
        }
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
        let yields = |one: Author, other: Author, groups: [&str; 2]| {
            let of = |author: Author, group| (author.versions, Some(group));
            let misfit = Misfit::of(of(one, groups[0]), of(other, groups[1]))?;
            Some(one.yields_to(other, &misfit))
        };
        for (one, other) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            for groups in [["t/a", "t/a"], ["t/a", "t/b"]] {
                let fits = one.versions.works_with(other.versions) && groups[0] == groups[1];
                let first = yields(one, other, groups);
                assert_eq!(first.is_none(), fits, "{one:?} {other:?}");
                let second = yields(other, one, [groups[1], groups[0]]);
                assert_eq!(first.map(|first| !first), second, "{one:?} {other:?} {groups:?}");
            }
        }
        let of = |one, other| yields(one, other, ["t/a"; 2]).unwrap();
        assert!(of(author(1, 1, false), author(3, 2, true)), "an old one that comes back");
        assert!(of(author(3, 2, true), author(1, 1, true)), "the group was of the old");
    }

    #[test]
    fn one_that_names_no_group_works_with_all() {
        let of = |group| (Versions::OURS, group);
        assert_eq!(Misfit::of(of(None), of(Some("t/a"))), None);
        assert_eq!(Misfit::of(of(Some("t/a")), of(None)), None);
        let misfit = Misfit::of(of(Some("t-b/a@t-b-a")), of(Some("t/b-a@t-b-a"))).unwrap();
        assert_eq!(
            misfit.to_string(),
            "this member is of group t-b/a@t-b-a, and another one on its topic of t/b-a@t-b-a"
        );
        let share = [Some("t/a@g"), Some("t/b@h")].map(of);
        assert_eq!(Misfit::of(share[0], share[1]), None, "two consumer groups on one topic");
    }

    #[test]
    fn a_misfit_names_both_versions() {
        let [ours, theirs] = [author(3, 2, false), author(1, 1, true)].map(|it| it.versions);
        let text = Misfit::Versions { ours, theirs }.to_string();
        assert_eq!(
            text,
            "this member speaks version 3 of the protocol, which works with 2 and later, and an\
             other one on its topic version 1 of the protocol, which works with 1 and later"
        );
    }
}
