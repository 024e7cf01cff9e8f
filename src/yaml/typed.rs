//! Deserializes a [`Node`]. An error is placed at the value, or the key, that caused it. Serde
//! reports only one error; to find all unknown keys, each is removed from a copy, which is read
//! again.

use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Entry, Node, Problem, Value};

/// The most unknown keys that are reported.
const STRAYS_MAX: usize = 20;

/// Reads a `T` from a document.
///
/// # Errors
/// The first value that does not fit, and all unknown keys.
pub fn read<T: DeserializeOwned>(node: &Node) -> Result<T, Vec<Problem>> {
    let mut rest = node.clone();
    let mut problems: Vec<Problem> = Vec::new();
    for _ in 0..STRAYS_MAX {
        let problem = match T::deserialize(Typed(&rest)) {
            Ok(value) if problems.is_empty() => return Ok(value),
            Ok(_) => break,
            Err(problem) => problem.or_at(&node.origin),
        };
        let Some(origin) = problem.origin.clone() else { break };
        let stray = problem.stray.clone();
        // A later error may be caused by the removed keys, so it is dropped.
        if stray.is_some() || problems.is_empty() {
            problems.push(problem);
        }
        let removed = match &stray {
            Some(name) => rest.remove(&|key, at| key == Some(name) && *at == origin),
            None => rest.remove(&|_, at| *at == origin),
        };
        if !removed {
            break;
        }
    }
    Err(problems)
}

/// A deserializer over a node.
#[derive(Clone, Copy)]
struct Typed<'a>(&'a Node);

impl Typed<'_> {
    fn mismatch(self, expected: &dyn de::Expected) -> Problem {
        let text;
        let found = match &self.0.value {
            Value::Nothing => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Float(number) => Unexpected::Float(*number),
            Value::Integer(_) => {
                text = format!("the number {}", self.0.as_text().unwrap_or_default());
                Unexpected::Other(&text)
            }
            Value::Text(text) => Unexpected::Str(text),
            Value::List(_) => Unexpected::Seq,
            Value::Map(_) => Unexpected::Map,
        };
        <Problem as de::Error>::invalid_type(found, expected).or_at(&self.0.origin)
    }
}

impl<'de> Deserializer<'de> for Typed<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.0.value {
            Value::Nothing => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Float(number) if !number.is_finite() => Err(self.mismatch(&visitor)),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                (Err(_), Err(_)) => Err(self.mismatch(&visitor)),
            },
            Value::Text(text) => visitor.visit_str(text),
            Value::List(nodes) => visitor.visit_seq(List(nodes.iter())),
            Value::Map(entries) => visitor.visit_map(Map { rest: entries.iter(), entry: None }),
        }
    }

    /// A number can be a name, and the reader of a duration reports a missing unit best.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.0.as_text() {
            Some(text) => visitor.visit_string(text),
            None => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    /// A key without a value is an error; only a missing key means the default.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    /// An empty value is an empty mapping, so that all of its lines can be commented out.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        if self.0.value == Value::Nothing {
            return visitor.visit_map(Map { rest: [].iter(), entry: None });
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if let Value::Map(entries) = &self.0.value {
            return match entries.as_slice() {
                [entry] => visitor.visit_enum(Variant { entry }),
                _ => Err(self.mismatch(&"a mapping with one key")),
            };
        }
        match self.0.as_text() {
            Some(name) => visitor.visit_enum(name.into_deserializer()),
            None => Err(self.mismatch(&"a word")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        seq tuple tuple_struct identifier ignored_any
    }
}

struct List<'a>(std::slice::Iter<'a, Node>);

impl<'de> SeqAccess<'de> for List<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        let Some(node) = self.0.next() else { return Ok(None) };
        seed.deserialize(Typed(node)).map(Some).map_err(|problem| problem.or_at(&node.origin))
    }
}

struct Map<'a> {
    rest: std::slice::Iter<'a, Entry>,
    entry: Option<&'a Entry>,
}

impl<'de> MapAccess<'de> for Map<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        self.entry = self.rest.next();
        let Some(entry) = self.entry else { return Ok(None) };
        let key: StringDeserializer<Problem> = entry.key.clone().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|problem| problem.or_at(&entry.key_origin))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let Some(entry) = self.entry.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(Typed(&entry.node)).map_err(|problem| placed(problem, entry))
    }
}

/// Places a missing field at the key of its mapping.
fn placed(problem: Problem, entry: &Entry) -> Problem {
    let origin = if problem.absent { &entry.key_origin } else { &entry.node.origin };
    problem.or_at(origin)
}

/// `{env: NAME}`: the one key names the variant.
struct Variant<'a> {
    entry: &'a Entry,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Problem> {
        let key: StringDeserializer<Problem> = self.entry.key.clone().into_deserializer();
        let variant =
            seed.deserialize(key).map_err(|problem| problem.or_at(&self.entry.key_origin))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        Err(Typed(&self.entry.node).mismatch(&"nothing"))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Problem> {
        seed.deserialize(Typed(&self.entry.node)).map_err(|problem| placed(problem, self.entry))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Problem> {
        Typed(&self.entry.node).deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        Typed(&self.entry.node).deserialize_map(visitor)
    }
}
