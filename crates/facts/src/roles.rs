//! The roles of a topology, named or counted, and the classes of them that share everything.
//!
//! Role `j` is on partition `j mod |M|` of each group. So two roles are on the same partitions of
//! every group exactly where they are the same number modulo the least common multiple of the
//! widths: what befalls one befalls the other, and both are judged as one [`RoleClass`]. A million
//! roles on 64 partitions are 64 classes.

use std::fmt;
use std::num::NonZeroU32;

use crate::ids::{RoleIndex, RoleName};

#[cfg(feature = "serde")]
use {
    schemars::JsonSchema,
    serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer},
    serde::de::{Deserializer, MapAccess, SeqAccess, Visitor},
    serde::{Deserialize, Serialize},
};

/// The roles: their names, or how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, JsonSchema), serde(untagged))]
pub enum Roles {
    /// By name.
    Named(Vec<RoleName>),
    /// `{count: 64, prefix: slot-}` names `slot-0` to `slot-63`.
    Counted(Count),
}

/// So many roles, named by a prefix and a number from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields, expecting = "a count of roles, as in {count: 64, prefix: slot-}")
)]
pub struct Count {
    /// How many.
    pub count: u32,
    /// What each name begins with.
    #[cfg_attr(feature = "serde", schemars(with = "String"))]
    pub prefix: RoleName,
}

/// Roles that share their partitions in every group, or in one: each `step`-th from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleClass {
    /// The first of them.
    pub first: RoleIndex,
    /// How far they are apart.
    pub step: NonZeroU32,
    /// How many there are, one at least.
    pub count: u32,
}

impl Roles {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        match self {
            Self::Named(names) => u32::try_from(names.len()).unwrap_or(u32::MAX),
            Self::Counted(of) => of.count,
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a role; nothing where there is no such role, or its name would be no legal one.
    #[must_use]
    pub fn name(&self, role: RoleIndex) -> Option<RoleName> {
        match self {
            Self::Named(names) => names.get(usize::try_from(role.0).ok()?).cloned(),
            Self::Counted(of) if role.0 < of.count => format!("{}{role}", of.prefix).parse().ok(),
            Self::Counted(_) => None,
        }
    }

    /// Which role bears a name.
    #[must_use]
    pub fn find(&self, name: &RoleName) -> Option<RoleIndex> {
        match self {
            Self::Named(names) => {
                let place = names.iter().position(|role| role == name)?;
                u32::try_from(place).ok().map(RoleIndex)
            }
            Self::Counted(of) => {
                let number = name.as_str().strip_prefix(of.prefix.as_str())?;
                let role = RoleIndex(number.parse().ok()?);
                // `slot-07` is none of them.
                self.name(role).filter(|found| found == name).map(|_| role)
            }
        }
    }

    /// All of them, in order.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = RoleIndex> + Clone + use<> {
        (0..self.len()).map(RoleIndex)
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = RoleName> + '_ {
        self.indices().filter_map(|role| self.name(role))
    }

    /// The classes over partitions of these widths, in the order of their first roles. There are
    /// no more than roles, and no more than the least common multiple of the widths.
    pub fn classes(&self, widths: &[NonZeroU32]) -> impl Iterator<Item = RoleClass> + use<> {
        let count = self.len();
        // Beyond the number of roles each is a class of its own, wherever the next would be.
        let step = widths.iter().fold(NonZeroU32::MIN, |all, one| multiple(all, *one, count));
        (0..count.min(step.get())).map(move |first| RoleClass {
            first: RoleIndex(first),
            step,
            count: (count - first).div_ceil(step.get()),
        })
    }
}

/// The least common multiple of two numbers; `most`, where it would be more.
fn multiple(one: NonZeroU32, other: NonZeroU32, most: u32) -> NonZeroU32 {
    let (mut divisor, mut rest) = (u64::from(one.get()), u64::from(other.get()));
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let multiple = u64::from(one.get()) / divisor * u64::from(other.get());
    let multiple = u32::try_from(multiple).unwrap_or(u32::MAX).min(most);
    NonZeroU32::new(multiple).unwrap_or(NonZeroU32::MIN)
}

impl RoleClass {
    /// One role alone.
    #[must_use]
    pub fn of(role: RoleIndex) -> Self {
        Self { first: role, step: NonZeroU32::MIN, count: 1 }
    }

    /// Its roles, ascending.
    pub fn roles(self) -> impl Iterator<Item = RoleIndex> + Clone {
        (0..self.count).map(move |nth| RoleIndex(self.first.0 + nth * self.step.get()))
    }

    /// Whether a role is one of them.
    #[must_use]
    pub fn contains(self, role: RoleIndex) -> bool {
        let after = role.0.checked_sub(self.first.0);
        after.is_some_and(|after| after % self.step == 0 && after / self.step.get() < self.count)
    }
}

/// `eurusd`, or `64 roles`.
impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(names) if names.len() == 1 => {
                names.iter().try_for_each(|name| fmt::Display::fmt(name, f))
            }
            Self::Named(_) | Self::Counted(_) => write!(f, "{} roles", self.len()),
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RolesVisitor;
        impl<'de> Visitor<'de> for RolesVisitor {
            type Value = Roles;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of roles, or {count: 64, prefix: slot-}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Roles, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Roles::Named)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Roles, A::Error> {
                Count::deserialize(MapAccessDeserializer::new(map)).map(Roles::Counted)
            }
        }
        deserializer.deserialize_any(RolesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u32) -> Roles {
        Roles::Counted(Count { count, prefix: "slot-".parse().unwrap() })
    }

    fn width(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    #[test]
    fn a_counted_role_is_found_by_the_name_that_it_bears() {
        let roles = counted(20);
        let name = |text: &str| text.parse::<RoleName>().unwrap();
        assert_eq!(roles.name(RoleIndex(7)), Some(name("slot-7")));
        assert_eq!(roles.find(&name("slot-19")), Some(RoleIndex(19)));
        for other in ["slot-20", "slot-07", "slot-", "7", "slot-+7"] {
            assert_eq!(other.parse().ok().and_then(|it| roles.find(&it)), None, "{other}");
        }
    }

    #[test]
    fn classes_are_the_roles_that_share_their_partitions_everywhere() {
        for (count, widths) in [
            (1_000, vec![64, 64]),
            (10, vec![4, 6]),
            (13, vec![4, 6]),
            (5, vec![64, 63]),
            (1, vec![1]),
        ] {
            let widths: Vec<_> = widths.into_iter().map(width).collect();
            let on = |role: RoleIndex| -> Vec<_> {
                widths.iter().map(|width| role.partition(*width)).collect()
            };
            let classes: Vec<_> = counted(count).classes(&widths).collect();
            for role in counted(count).indices() {
                let mine: Vec<_> = classes.iter().filter(|class| class.contains(role)).collect();
                assert_eq!(mine.len(), 1, "{role} of {count} on {widths:?}: {classes:?}");
                let all = counted(count).indices().filter(|other| on(*other) == on(role));
                assert!(mine[0].roles().eq(all), "{role} of {count} on {widths:?}: {classes:?}");
            }
        }
    }

    #[test]
    fn widths_without_a_common_divisor_make_a_class_a_role() {
        let classes: Vec<_> = counted(1_000_000).classes(&[999, 998, 997].map(width)).collect();
        assert_eq!(classes.len(), 1_000_000);
        assert!(classes.iter().all(|class| class.count == 1));
    }
}
