//! Text to a [`Node`]; all that can be wrong with YAML as such ends here.

use std::borrow::Cow;

use serde_saphyr::{Error, Localizer, Location, MessageFormatter, UserMessageFormatter};

use super::{Node, Origin, Position, Problem, Value};

/// Deeper than any of our files, and far from what would exhaust a stack.
const DEPTH_MOST: usize = 24;
/// More than any file of ours needs; what an alias repeats counts each time.
const NODES_MOST: usize = 50_000;

const EMPTY: &str = "the file is empty";

/// Reads one document.
///
/// # Errors
/// What YAML itself forbids, a second document, a duplicate key, aliases that grow beyond all
/// measure, and nothing at all.
pub fn parse(text: &str) -> Result<Node, Problem> {
    let node = value(text)?;
    if node.value == Value::Nothing {
        return Err(Problem::at(Origin::File(Position::START), EMPTY));
    }
    Ok(node)
}

/// Reads one value, or nothing.
pub(super) fn value(text: &str) -> Result<Node, Problem> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEPTH_MOST, max_nodes: NODES_MOST },
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| problem(&error))
}

/// The same in our words, where ours are better.
fn problem(error: &Error) -> Problem {
    if let Error::AliasError { error, .. } = error {
        return problem(error);
    }
    let place = error.location().map_or(Position::START, Position::from);
    let at = |message: String| Problem::at(Origin::File(place), message);
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest speaks for itself")]
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
            at("this grows beyond any sensible size or depth".to_owned())
                .hint("by aliases of aliases, or by nesting")
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

/// We show the place ourselves.
struct Placeless;

impl Localizer for Placeless {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _: Location) -> Cow<'a, str> {
        base
    }
}
