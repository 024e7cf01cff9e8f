//! What a fact records: an event of a member, or one of the run. In JSON both are one key, whose
//! name says which event it is.

use std::fmt;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::de::value::{EnumAccessDeserializer, Error as Unread};
use serde::de::{DeserializeSeed, EnumAccess, Error, IntoDeserializer, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, forward_to_deserialize_any};

use super::{MemberEvent, RunEvent};

/// What happened, by who reports it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum What {
    /// A member reports it about itself.
    Member(MemberEvent),
    /// The controller reports it.
    Run(RunEvent),
}

impl What {
    /// Whether members write such facts about themselves. The controller writes the others.
    #[must_use]
    pub const fn is_by_member(&self) -> bool {
        matches!(self, Self::Member(_))
    }
}

impl From<MemberEvent> for What {
    fn from(event: MemberEvent) -> Self {
        Self::Member(event)
    }
}

impl From<RunEvent> for What {
    fn from(event: RunEvent) -> Self {
        Self::Run(event)
    }
}

// Derived, the two would be tried in turn, and an error in a field would read "no variant matches".
impl<'de> Deserialize<'de> for What {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = names();
        deserializer.deserialize_enum("What", names.all, Either { members: names.members })
    }
}

/// The names of the events, as the two enums list them.
struct Names {
    /// Those of members come first.
    all: &'static [&'static str],
    members: usize,
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let (members, runs) = (listed::<MemberEvent>(), listed::<RunEvent>());
        // Made once: serde wants names that last.
        let all: &'static [&'static str] = Vec::leak([members, runs].concat());
        Names { all, members: members.len() }
    })
}

/// The names of an enum's variants, as its derived deserialization asks for them.
fn listed<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    struct Listing<'a>(&'a mut &'static [&'static str]);
    impl<'de> Deserializer<'de> for Listing<'_> {
        type Error = Unread;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unread> {
            Err(Unread::custom("no enum"))
        }

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            _: &'static str,
            variants: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Unread> {
            *self.0 = variants;
            Err(Unread::custom("only the names were asked for"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier
            ignored_any
        }
    }
    let mut found: &[&str] = &[];
    // It is an error by design: nothing is read.
    drop(T::deserialize(Listing(&mut found)));
    found
}

/// Reads the one or the other, by the name.
struct Either {
    /// So many of the names are those of members.
    members: usize,
}

impl<'de> Visitor<'de> for Either {
    type Value = What;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of a member or of the run")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<What, A::Error> {
        let (name, variant) = data.variant::<String>()?;
        let names = names();
        let Some(place) = names.all.iter().position(|one| **one == name) else {
            return Err(A::Error::unknown_variant(&name, names.all));
        };
        let named = EnumAccessDeserializer::new(Named { name, variant });
        if place < self.members {
            MemberEvent::deserialize(named).map(What::Member)
        } else {
            RunEvent::deserialize(named).map(What::Run)
        }
    }
}

/// A variant whose name was read, to be read as a whole.
struct Named<V> {
    name: String,
    variant: V,
}

impl<'de, V: VariantAccess<'de>> EnumAccess<'de> for Named<V> {
    type Error = V::Error;
    type Variant = V;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, V), V::Error> {
        let name = IntoDeserializer::<V::Error>::into_deserializer(self.name);
        seed.deserialize(name).map(|name| (name, self.variant))
    }
}
