//! A YAML value with its position.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::Problem;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The position.
    pub origin: Origin,
    /// Which bytes are written, which are elsewhere for an alias.
    defined: Option<Range<usize>>,
    /// The letters of a number or a truth value, where they are known: a reader may want a name.
    letters: Option<String>,
}

/// A YAML value. A scalar keeps its YAML type: its reader decides whether `on` is a name or a
/// boolean.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing after the colon, `~` or `null`.
    Nothing,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Another number.
    Float(f64),
    /// Text, in quotes or not.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order written.
    Map(Vec<Entry>),
}

/// A key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_origin: Origin,
    /// The value.
    pub node: Node,
    /// Which bytes the key is written in, if it was read as a number or a truth value.
    key_defined: Option<Range<usize>>,
}

impl Entry {
    /// An entry that stands in no file.
    pub(super) const fn new(key: String, key_origin: Origin, node: Node) -> Self {
        Self { key, key_origin, node, key_defined: None }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The file, at this position.
    File(Position),
    /// The command line: `key=value`.
    Override(String),
}

/// A position in a file; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// The width in characters.
    pub width: usize,
}

impl Position {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1, width: 1 };
}

impl From<Location> for Position {
    fn from(location: Location) -> Self {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
        Self {
            line: number(location.line()),
            column: number(location.column()),
            width: number(location.span().len()),
        }
    }
}

impl Node {
    /// This value from there.
    #[must_use]
    pub const fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin, defined: None, letters: None }
    }

    /// A scalar as text, in the letters in which it is written: `0700` and `1.10` can be names.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        self.letters.clone().or_else(|| self.value.as_text())
    }

    /// Finds the letters of all scalars, and of all keys, in the text that was read.
    ///
    /// # Errors
    /// Two keys of a mapping are the same name.
    pub(super) fn spell(&mut self, text: &str) -> Result<(), Problem> {
        let defined = self.defined.take();
        match &mut self.value {
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {
                self.letters = defined.and_then(|at| letters(text, &at));
            }
            Value::List(nodes) => {
                for node in nodes {
                    node.spell(text)?;
                }
            }
            Value::Map(entries) => {
                let mut keys = BTreeSet::new();
                for entry in entries {
                    let word = entry.key_defined.take().and_then(|at| letters(text, &at));
                    entry.key = word.unwrap_or_else(|| std::mem::take(&mut entry.key));
                    // `1` and `"1"` are two keys in YAML, but one name here.
                    if !keys.insert(entry.key.clone()) {
                        return Err(Problem::duplicate(&entry.key, entry.key_origin.clone()));
                    }
                    entry.node.spell(text)?;
                }
            }
            Value::Nothing | Value::Text(_) => {}
        }
        Ok(())
    }

    /// The entry of a mapping with this key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key)
    }

    /// Removes the first entry, or list element, for which `is` returns true, at any depth.
    pub(super) fn remove(&mut self, is: &impl Fn(Option<&str>, &Origin) -> bool) -> bool {
        match &mut self.value {
            Value::List(nodes) => {
                let place = nodes.iter().position(|node| is(None, &node.origin));
                place.map(|place| nodes.remove(place)).is_some()
                    || nodes.iter_mut().any(|node| node.remove(is))
            }
            Value::Map(entries) => {
                let here = |it: &Entry| is(Some(&it.key), &it.key_origin);
                let whole = |it: &Entry| here(it) || is(None, &it.node.origin);
                let place = entries.iter().position(whole);
                place.map(|place| entries.remove(place)).is_some()
                    || entries.iter_mut().any(|entry| entry.node.remove(is))
            }
            Value::Nothing
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Text(_) => false,
        }
    }

    /// Sets the origin of this value and everything in it.
    #[must_use]
    pub fn from_origin(mut self, origin: &Origin) -> Self {
        self.origin = origin.clone();
        match &mut self.value {
            Value::List(nodes) => {
                for node in nodes {
                    *node = std::mem::take(node).from_origin(origin);
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    entry.key_origin = origin.clone();
                    entry.node = std::mem::take(&mut entry.node).from_origin(origin);
                }
            }
            Value::Nothing
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Text(_) => {}
        }
        self
    }
}

impl Default for Node {
    fn default() -> Self {
        Self::new(Value::Nothing, Origin::File(Position::START))
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        let origin = Origin::File(spanned.referenced.into());
        let defined = bytes_of(spanned.defined);
        Ok(Self { value: spanned.value, origin, defined, letters: None })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }
    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries: Vec<Entry> = Vec::new();
        while let Some(key) = map.next_key::<Node>()? {
            let name = key.value.as_text().ok_or_else(|| A::Error::custom("a key is a name"))?;
            let key_defined = key.defined.filter(|_| !matches!(key.value, Value::Text(_)));
            let node = map.next_value()?;
            entries.push(Entry { key: name, key_origin: key.origin, node, key_defined });
        }
        Ok(Value::Map(entries))
    }
}

/// What is written there, if it is one word without quotes.
fn letters(text: &str, at: &Range<usize>) -> Option<String> {
    let word = text.get(at.clone())?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-._:".contains(c);
    (!word.is_empty() && word.chars().all(is_plain)).then(|| word.to_owned())
}

/// The bytes of a value in the text that is read.
fn bytes_of(location: Location) -> Option<Range<usize>> {
    let span = location.span();
    let number = |n: u64| usize::try_from(n).ok();
    let from = number(span.byte_offset()?)?;
    Some(from..from.checked_add(number(span.byte_len()?)?)?)
}

impl Value {
    /// A scalar as text, where its letters are not known.
    fn as_text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string()),
            Self::Float(number) => Some(number.to_string()),
            Self::Bool(value) => Some(value.to_string()),
            Self::Nothing | Self::List(_) | Self::Map(_) => None,
        }
    }
}
