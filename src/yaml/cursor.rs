//! Walks through a document to the position that a problem is about.

use super::{Entry, Node, Origin, Value};

/// A position in a document. If the walk leads to something that is not written, it stays at the
/// last existing node.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    node: Option<&'a Node>,
    value: &'a Origin,
    name: &'a Origin,
}

impl<'a> Cursor<'a> {
    /// The root of a document.
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

    /// The entries of a mapping; empty if the value is not a mapping.
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

    /// Whether the node exists.
    #[must_use]
    pub fn exists(self) -> bool {
        self.node.is_some()
    }

    /// The position of the value.
    #[must_use]
    pub fn origin(self) -> Origin {
        self.value.clone()
    }

    /// The position of its key; for an element of a list, that of the element.
    #[must_use]
    pub fn name(self) -> Origin {
        self.name.clone()
    }

    /// A missing node is shown at the key of its nearest existing parent: the parent's value begins
    /// with its first entry, which is unrelated to what is missing.
    fn nowhere(self) -> Self {
        Self { node: None, value: self.name, name: self.name }
    }
}
