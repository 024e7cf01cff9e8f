//! One problem of a file.

use std::fmt::Display;

use serde::de::{Error, Expected, Unexpected};

use super::{Origin, choices};

/// A problem, its position, and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The position; `None` until a caller that knows it sets it.
    pub origin: Option<Origin>,
    /// The problem, on one line.
    pub message: String,
    /// A hint at the correct value.
    pub hint: Option<String>,
    /// Whether something is missing: then the position is that of the key it should be under.
    pub(super) absent: bool,
    /// Whether the text at the position may be shown; a secret may not.
    pub(super) shown: bool,
    /// The unknown key, if that is the problem.
    pub(super) stray: Option<String>,
}

impl Problem {
    /// A problem at this position.
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

    /// A key that stands above already.
    pub(super) fn duplicate(key: &str, origin: Origin) -> Self {
        let hint = "the same key stands above, in the same mapping";
        Self::at(origin, format!("duplicate key `{key}`")).hint(hint)
    }

    /// The same, with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with a hint if there is one.
    #[must_use]
    pub fn maybe_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    /// The same, without showing the text at the position.
    #[must_use]
    pub fn unshown(mut self) -> Self {
        self.shown = false;
        self
    }

    /// The same, at this position unless it already has one.
    #[must_use]
    pub(super) fn or_at(mut self, origin: &Origin) -> Self {
        self.origin.get_or_insert_with(|| origin.clone());
        self
    }
}

impl std::error::Error for Problem {}

/// Only the message: [`FileError`](super::FileError) shows it with its position.
impl Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Rewords the errors of derived types.
impl Error for Problem {
    /// A second line of the message becomes the hint.
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

/// The expected type of a derived implementation, without Rust's names.
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

/// The found value in plain words.
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
