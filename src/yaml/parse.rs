//! Parses text to a [`Node`], and reports all errors of YAML syntax.

use std::borrow::Cow;

use serde_saphyr::{Error, Localizer, Location, MessageFormatter, UserMessageFormatter};

use super::{Node, Origin, Position, Problem, Value};

/// The deepest nesting: more than real files need, and far from exhausting the stack.
const DEPTH_MOST: usize = 24;
/// The most nodes: more than real files need; each repetition of an alias counts.
const NODES_MOST: usize = 50_000;

const EMPTY: &str = "the file is empty";

/// Reads one document.
///
/// # Errors
/// Invalid YAML, a second document, a duplicate key, aliases that expand beyond the limits, or an
/// empty file.
pub fn parse(text: &str) -> Result<Node, Problem> {
    let node = value(text)?;
    if node.value == Value::Nothing {
        return Err(Problem::at(Origin::File(Position::START), EMPTY));
    }
    Ok(node)
}

/// Reads one value, or an empty text.
pub(super) fn value(text: &str) -> Result<Node, Problem> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MOST, max_nodes: NODES_MOST },
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| problem(&error))
}

/// Rewords the parser's errors.
fn problem(error: &Error) -> Problem {
    if let Error::AliasError { error, .. } = error {
        return problem(error);
    }
    let place = error.location().map_or(Position::START, Position::from);
    let at = |message: String| Problem::at(Origin::File(place), message);
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other messages are clear")]
    match error.without_snippet() {
        Error::DuplicateMappingKey { key: Some(key), .. } => at(format!("duplicate key `{key}`"))
            .hint("the same key stands above, in the same mapping"),
        Error::Eof { .. } => Problem::at(Origin::File(Position::START), EMPTY),
        Error::MultipleDocuments { .. } => {
            at("a second document begins here".to_owned()).hint("a file holds one")
        }
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            at("the document is too large or too deeply nested".to_owned())
                .hint("aliases of aliases and nesting count")
        }
        other => {
            let message =
                UserMessageFormatter.with_localizer(&Placeless).format_message(other).into_owned();
            if message.contains("tab") {
                return at("a tab cannot indent".to_owned()).hint("indent with spaces");
            }
            at(message)
        }
    }
}

/// Leaves out positions, because [`FileError`](super::FileError) shows them.
struct Placeless;

impl Localizer for Placeless {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _: Location) -> Cow<'a, str> {
        base
    }
}
