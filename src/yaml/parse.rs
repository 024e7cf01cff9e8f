//! Parses text to a [`Node`], and reports all errors of YAML syntax.

use std::borrow::Cow;

use serde_saphyr::{Error, Localizer, Location, MessageFormatter, UserMessageFormatter};

use super::{Node, Origin, Position, Problem, Value};

/// The deepest nesting: more than real files need, and far from exhausting the stack.
const DEPTH_MOST: usize = 24;
/// The most nodes: a list of a million names has its place.
const NODES_MOST: usize = 1_200_000;
/// The most nodes that aliases repeat: a short text must not become a long one.
const REPEATED_MOST: usize = 50_000;

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
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MOST,
            max_nodes: NODES_MOST,
            max_events: 2 * NODES_MOST,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: REPEATED_MOST },
        strict_booleans: true,
        // `1e400` can be a name, and `0x1F` and `31` two of them: their readers decide.
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough,
        with_snippet: false,
    };
    let read = serde_saphyr::from_str_with_options::<Node>(text, options);
    let mut node = read.map_err(|error| problem(&error))?;
    node.spell(text)?;
    Ok(node)
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
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            Problem::duplicate(key, Origin::File(place))
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::read;
    use std::collections::BTreeMap;

    #[test]
    fn what_looks_like_a_number_keeps_its_letters_where_a_name_is_wanted() {
        let letters = [
            "0700",
            "1.10",
            "12e3",
            "0x1F",
            "0o17",
            "1_000",
            "+5",
            "-0",
            ".5",
            "007",
            "true",
            "1e400",
            "00000000000000000000000000000000000000000000001",
            "2026-11-28",
            "12:30",
        ];
        for one in letters {
            let list = parse(&format!("- {one}\n- [a, {one}]\n")).unwrap();
            let Value::List(nodes) = &list.value else { panic!("{list:?}") };
            assert_eq!(read::<String>(&nodes[0]).unwrap(), one);
            assert_eq!(read::<Vec<String>>(&nodes[1]).unwrap(), ["a", one]);
            let flow = parse(&format!("{{ä: {one}, {one}: x}}")).unwrap();
            let map = read::<BTreeMap<String, String>>(&flow).unwrap();
            assert_eq!(map.get("ä").map(String::as_str), Some(one), "{map:?}");
            assert_eq!(map.get(one).map(String::as_str), Some("x"), "{map:?}");
        }
        let alias = parse("a: &x 0700\nb: *x\n").unwrap();
        let map = read::<BTreeMap<String, String>>(&alias).unwrap();
        assert_eq!(map.get("b").map(String::as_str), Some("0700"));
        assert_eq!(read::<BTreeMap<String, u32>>(&parse("a: 0x1F\n").unwrap()).unwrap()["a"], 31);
    }

    #[test]
    fn two_keys_are_the_same_by_their_letters_alone() {
        assert!(parse("1.1: a\n1.10: b\n").is_ok());
        assert!(parse("0x1F: a\n31: b\n").is_ok());
        let same = parse("1: a\n\"1\": b\n").unwrap_err();
        assert_eq!(same.message, "duplicate key `1`");
    }

    #[test]
    fn many_names_have_their_place() {
        let text: String = (0..250_000).map(|number| format!("- r{number}\n")).collect();
        let Value::List(nodes) = parse(&text).unwrap().value else { panic!("a list") };
        assert_eq!(nodes.len(), 250_000);
    }
}
