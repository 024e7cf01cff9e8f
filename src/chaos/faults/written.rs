//! A step of an experiment file, from which its fault reads its own fields.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Word;
use crate::time::Span;
use crate::yaml::{Cursor, Node, Origin, Problem, Value, read};

/// A step of an experiment file.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    word: &'static Word,
    /// The step's node.
    pub place: Cursor<'a>,
}

/// The field of a fault with a duration.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    /// How long the fault lasts. Faults that end with a restart have no `for`; a broker fault has
    /// it only with `how: pause`; for a storm or churn it is the length of the series.
    #[serde(rename = "for")]
    lasts: Option<Span>,
}

impl<'a> Written<'a> {
    /// A step whose fault has this word.
    #[must_use]
    pub fn new(word: &'static Word, place: Cursor<'a>) -> Self {
        Self { word, place }
    }

    /// The fields that the word takes.
    pub(super) fn fields<T: DeserializeOwned>(self) -> Result<T, Problem> {
        let own = self.place.entries().iter().filter(|it| self.word.fields.contains(&&*it.key));
        let node = Node::new(Value::Map(own.cloned().collect()), self.place.origin());
        // Only the first problem of a step is reported.
        read(&node).map_err(|problems| {
            let first = problems.into_iter().next();
            first.unwrap_or_else(|| self.wrong("it cannot be read"))
        })
    }

    /// The duration of a fault that takes no other field.
    pub(super) fn held(self) -> Result<Span, Problem> {
        let Held { lasts } = self.fields()?;
        self.lasts(lasts)
    }

    /// The duration, which is required.
    pub(super) fn lasts(self, lasts: Option<Span>) -> Result<Span, Problem> {
        lasts.filter(|lasts| !lasts.get().is_zero()).ok_or_else(|| {
            self.wrong(format!("a {} must say how long it lasts: `for`", self.word.noun))
                .hint("as in for: 3s")
        })
    }

    /// The noun for the fault in messages.
    pub(super) fn noun(self) -> &'static str {
        self.word.noun
    }

    /// A problem of the step as a whole, shown at the word.
    pub(super) fn wrong(self, message: impl Into<String>) -> Problem {
        Problem::at(self.place.key("fault").origin(), message)
    }

    /// Where the name of a field stands.
    pub(super) fn name(self, field: &str) -> Origin {
        self.place.key(field).name()
    }

    /// Where the value of a field stands.
    pub(super) fn value(self, field: &str) -> Origin {
        self.place.key(field).origin()
    }
}

/// The schema of the fields, in place.
pub(super) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}
