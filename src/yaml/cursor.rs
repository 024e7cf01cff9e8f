//! A walk through a document to the place that a complaint is about.

use super::{Entry, Node, Origin, Value};

/// A place in a document. Where the walk leads to something that was not written, it stays with the
/// last that was.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    node: Option<&'a Node>,
    value: &'a Origin,
    name: &'a Origin,
}

impl<'a> Cursor<'a> {
    /// The whole document.
    #[must_use]
    pub fn of(root: &'a Node) -> Self {
        Self { node: Some(root), value: &root.origin, name: &root.origin }
    }

    /// The value of a key.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        match self.node.and_then(|node| node.entry(key)) {
            Some(entry) => {
                Self { node: Some(&entry.node), value: &entry.node.origin, name: &entry.key_origin }
            }
            None => self.nowhere(),
        }
    }

    /// An element of a list.
    #[must_use]
    pub fn index(self, index: usize) -> Self {
        let element = self.node.and_then(|node| match &node.value {
            Value::List(nodes) => nodes.get(index),
            Value::Nothing
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Map(_) => None,
        });
        match element {
            Some(node) => Self { node: Some(node), value: &node.origin, name: &node.origin },
            None => self.nowhere(),
        }
    }

    /// The entries of a mapping; none where there is no mapping.
    #[must_use]
    pub fn entries(self) -> &'a [Entry] {
        match self.node.map(|node| &node.value) {
            Some(Value::Map(entries)) => entries,
            Some(
                Value::Nothing
                | Value::Bool(_)
                | Value::Integer(_)
                | Value::Float(_)
                | Value::Text(_)
                | Value::List(_),
            )
            | None => &[],
        }
    }

    /// Whether something was written here.
    #[must_use]
    pub fn exists(self) -> bool {
        self.node.is_some()
    }

    /// Where the value stands.
    #[must_use]
    pub fn origin(self) -> Origin {
        self.value.clone()
    }

    /// Where its name stands; an element of a list has none and stands for itself.
    #[must_use]
    pub fn name(self) -> Origin {
        self.name.clone()
    }

    /// The nearest that was written is best shown by its name: a mapping begins with its first
    /// entry, which has no part in what is missing.
    fn nowhere(self) -> Self {
        Self { node: None, value: self.name, name: self.name }
    }
}
