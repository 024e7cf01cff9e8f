//! One thing that is wrong with a file.

use std::fmt::Display;

use serde::de::{Error, Expected, Unexpected};

use super::{Origin, choices};

/// One thing that is wrong, where, and what was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where; not yet known while an error is on its way up to somebody who knows.
    pub origin: Option<Origin>,
    /// What is wrong, on one line.
    pub message: String,
    /// What was meant, or what would be right.
    pub hint: Option<String>,
    /// Whether something is not there: then the place is that of the name it should stand under.
    pub(super) absent: bool,
    /// Whether what is written there may be shown: a secret may not.
    pub(super) shown: bool,
    /// The key that no field has, where that is what is wrong.
    pub(super) stray: Option<String>,
}

impl Problem {
    /// A problem here.
    #[must_use]
    pub fn at(origin: Origin, message: impl Into<String>) -> Self {
        Self {
            origin: Some(origin),
            message: message.into(),
            hint: None,
            absent: false,
            shown: true,
            stray: None,
        }
    }

    /// The same, with what was meant.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, without showing what is written there.
    #[must_use]
    pub fn unshown(mut self) -> Self {
        self.shown = false;
        self
    }

    /// The same, placed here unless its place is known already.
    #[must_use]
    pub(super) fn or_at(mut self, origin: &Origin) -> Self {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }
}

impl std::error::Error for Problem {}

/// The message alone: [`FileError`](super::FileError) shows it in its place.
impl Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// So that derived types complain in our words.
impl Error for Problem {
    /// A second line, if there is one, is the hint.
    fn custom<T: Display>(message: T) -> Self {
        let text = message.to_string();
        let (message, hint) = match text.split_once('\n') {
            Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        Self { origin: None, message, hint, absent: false, shown: true, stray: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        if found == Unexpected::Unit {
            return Self::custom("there is no value here").hint("give one, or leave the key out");
        }
        let expected = plain(&expected.to_string());
        Self::custom(format!("expected {expected}, found {}", thing(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let problem = Self::custom(format!("unknown field `{field}`"))
            .hint(choices(field, expected.iter().copied()));
        Self { stray: Some(field.to_owned()), ..problem }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format!("unknown value `{variant}`"))
            .hint(choices(variant, expected.iter().copied()))
    }

    fn missing_field(field: &'static str) -> Self {
        Self { absent: true, ..Self::custom(format!("`{field}` is missing")) }
    }
}

/// What derived types expect, without the names of Rust.
fn plain(expected: &str) -> String {
    match expected {
        "a string" => "a text",
        "u32" | "u64" | "a nonzero u32" => "a whole number",
        "a sequence" => "a list",
        "a map" => "a mapping",
        other => other,
    }
    .to_owned()
}

/// What was found, as one speaks of it.
fn thing(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        Unexpected::Str(text) => format!("the text {text:?}"),
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a mapping".to_owned(),
        other @ (Unexpected::Char(_)
        | Unexpected::Bytes(_)
        | Unexpected::NewtypeStruct
        | Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant
        | Unexpected::Other(_)) => other.to_string(),
    }
}
