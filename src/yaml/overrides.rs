//! `--set a.b.c=VALUE`: replaces one value of a document before it is read, so that derived values
//! follow.

use std::fmt;
use std::str::FromStr;

use super::parse::value;
use super::{Entry, Node, Origin, Problem, Value};

/// Below these keys the rest of a path is one key, because client properties contain dots.
const DOTTED: [&str; 2] = ["properties", "secrets"];

/// One value to replace.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    text: String,
    path: String,
    node: Node,
}

/// Why a text is not an override.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// No `=`, or nothing before it.
    #[error("{0:?} is no override: write key.key=value, as in defaults.session=300ms")]
    Form(String),
    /// The value is not YAML.
    #[error("the value of {0:?} is not YAML: {1}")]
    Value(String, String),
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let form = || OverrideError::Form(text.to_owned());
        let (path, written) = text.split_once('=').ok_or_else(form)?;
        if path.split('.').any(str::is_empty) || written.trim().is_empty() {
            return Err(form());
        }
        let node = value(written)
            .map_err(|problem| OverrideError::Value(text.to_owned(), problem.message))?
            .from_origin(&Origin::Override(text.to_owned()));
        Ok(Self { text: text.to_owned(), path: path.to_owned(), node })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Override {
    /// Sets the value, and creates missing mappings on the way.
    ///
    /// # Errors
    /// The path leads through something that is not a mapping.
    pub fn apply(&self, root: &mut Node) -> Result<(), Problem> {
        let mut node = root;
        let mut rest = self.path.as_str();
        let mut parent = None;
        loop {
            if node.value == Value::Nothing {
                node.value = Value::Map(Vec::new());
            }
            let Value::Map(entries) = &mut node.value else {
                let done = self.path.strip_suffix(rest).unwrap_or_default().trim_end_matches('.');
                let problem = Problem::at(self.origin(), format!("`{done}` is not a mapping"))
                    .hint(format!("replace all of it: --set {done}={{…}}"));
                return Err(if self.path.contains("secrets") {
                    problem.unshown()
                } else {
                    problem
                });
            };
            let (key, tail) = if parent.is_some_and(|key| DOTTED.contains(&key)) {
                (rest, None)
            } else {
                split(rest, entries)
            };
            if !entries.iter().any(|entry| entry.key == key) {
                let node = Node::new(Value::Nothing, self.origin());
                entries.push(Entry::new(key.to_owned(), self.origin(), node));
            }
            let Some(entry) = entries.iter_mut().find(|entry| entry.key == key) else {
                return Ok(());
            };
            match tail {
                Some(tail) => (node, rest, parent) = (&mut entry.node, tail, Some(key)),
                None => {
                    entry.node = self.node.clone();
                    return Ok(());
                }
            }
        }
    }

    fn origin(&self) -> Origin {
        Origin::Override(self.text.clone())
    }
}

/// The next key of a path, and the rest. Names may contain dots, so the longest existing key wins.
fn split<'a>(path: &'a str, entries: &[Entry]) -> (&'a str, Option<&'a str>) {
    let known = entries
        .iter()
        .filter_map(|entry| {
            let tail = path.strip_prefix(entry.key.as_str())?;
            if tail.is_empty() {
                return Some((path, None));
            }
            let (key, _) = path.split_at(entry.key.len());
            tail.strip_prefix('.').map(|tail| (key, Some(tail)))
        })
        .max_by_key(|(key, _)| key.len());
    known.unwrap_or_else(|| match path.split_once('.') {
        Some((key, tail)) => (key, Some(tail)),
        None => (path, None),
    })
}
