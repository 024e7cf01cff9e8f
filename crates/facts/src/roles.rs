//! The roles of a topology, named or counted, and the classes of roles on the same partitions.
//!
//! Role `j` is on partition `j mod |M|` of each group. So two roles are on the same partitions of
//! every group exactly if their numbers are equal modulo the least common multiple of the widths.
//! Such roles share every fate and are judged together, as one [`RoleClass`]. A million roles on 64
//! partitions make 64 classes.

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

/// The roles, by name or by number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, JsonSchema), serde(untagged))]
pub enum Roles {
    /// By name.
    Named(Vec<RoleName>),
    /// `{count: 64, prefix: slot-}` names `slot-0` to `slot-63`.
    Counted(Count),
}

/// A number of roles, whose names are a prefix and a number from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(deny_unknown_fields, expecting = "a count of roles, as in {count: 64, prefix: slot-}")
)]
pub struct Count {
    /// The number of roles.
    pub count: u32,
    /// The prefix of each name.
    #[cfg_attr(feature = "serde", schemars(with = "String"))]
    pub prefix: RoleName,
}

/// Roles that share their partitions, in every group or in one: every `step`-th role from `first`
/// on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoleClass {
    /// The first role of the class.
    pub first: RoleIndex,
    /// The distance between two neighbours.
    pub step: NonZeroU32,
    /// The number of roles in the class, at least 1.
    pub count: u32,
}

impl Roles {
    /// The number of roles.
    #[must_use]
    pub fn len(&self) -> u32 {
        match self {
            Self::Named(names) => u32::try_from(names.len()).unwrap_or(u32::MAX),
            Self::Counted(of) => of.count,
        }
    }

    /// Whether there are no roles.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a role; none if there is no such role or its name would be illegal.
    #[must_use]
    pub fn name(&self, role: RoleIndex) -> Option<RoleName> {
        match self {
            Self::Named(names) => names.get(usize::try_from(role.0).ok()?).cloned(),
            Self::Counted(of) if role.0 < of.count => format!("{}{role}", of.prefix).parse().ok(),
            Self::Counted(_) => None,
        }
    }

    /// The role with this name.
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
                // `slot-07` is not the name of role 7.
                self.name(role).filter(|found| found == name).map(|_| role)
            }
        }
    }

    /// All roles, in order.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = RoleIndex> + Clone + use<> {
        (0..self.len()).map(RoleIndex)
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = RoleName> + '_ {
        self.indices().filter_map(|role| self.name(role))
    }

    /// The classes over partitions of these widths, in the order of their first roles. There are at
    /// most as many as there are roles, and at most the least common multiple of the widths.
    pub fn classes(&self, widths: &[NonZeroU32]) -> impl Iterator<Item = RoleClass> + use<> {
        let count = self.len();
        // A step beyond the number of roles makes each role a class of its own.
        let step = widths.iter().fold(NonZeroU32::MIN, |all, one| multiple(all, *one, count));
        (0..count.min(step.get())).map(move |first| RoleClass {
            first: RoleIndex(first),
            step,
            count: (count - first).div_ceil(step.get()),
        })
    }
}

/// The least common multiple of two numbers, but no more than `most`.
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
    /// A class of one role.
    #[must_use]
    pub fn of(role: RoleIndex) -> Self {
        Self { first: role, step: NonZeroU32::MIN, count: 1 }
    }

    /// The roles of the class, ascending.
    pub fn roles(self) -> impl Iterator<Item = RoleIndex> + Clone {
        (0..self.count).map(move |nth| RoleIndex(self.first.0 + nth * self.step.get()))
    }

    /// Whether the class contains a role.
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
