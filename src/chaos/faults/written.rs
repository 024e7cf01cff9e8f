//! A step as it is written, from which its fault reads the fields that are its own.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Word;
use crate::time::Span;
use crate::yaml::{Cursor, Node, Origin, Problem, Value, read};

/// A step as it is written.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    word: &'static Word,
    /// The step.
    pub place: Cursor<'a>,
}

/// The field of a fault that is held for a time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Held {
    /// For how long: all but what ends with a restart; a broker only where it is paused; a storm,
    /// or churn, as a whole.
    #[serde(rename = "for")]
    lasts: Option<Span>,
}

impl<'a> Written<'a> {
    /// A step with a fault of this word.
    #[must_use]
    pub fn new(word: &'static Word, place: Cursor<'a>) -> Self {
        Self { word, place }
    }

    /// The fields that the word takes.
    pub(super) fn fields<T: DeserializeOwned>(self) -> Result<T, Problem> {
        let own = self.place.entries().iter().filter(|it| self.word.fields.contains(&&*it.key));
        let node = Node { value: Value::Map(own.cloned().collect()), origin: self.place.origin() };
        // Who reads a step goes on with the next one after the first problem.
        read(&node).map_err(|problems| {
            let first = problems.into_iter().next();
            first.unwrap_or_else(|| self.wrong("it cannot be read"))
        })
    }

    /// How long it is held, for a fault that takes no other field.
    pub(super) fn held(self) -> Result<Span, Problem> {
        let Held { lasts } = self.fields()?;
        self.lasts(lasts)
    }

    /// How long it lasts, which must be said.
    pub(super) fn lasts(self, lasts: Option<Span>) -> Result<Span, Problem> {
        lasts.filter(|lasts| !lasts.get().is_zero()).ok_or_else(|| {
            self.wrong(format!("a {} must say `for` how long", self.word.noun))
                .hint("as in for: 3s")
        })
    }

    /// What a sentence calls the fault.
    pub(super) fn noun(self) -> &'static str {
        self.word.noun
    }

    /// Something is wrong with the step as a whole: shown at the word.
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
