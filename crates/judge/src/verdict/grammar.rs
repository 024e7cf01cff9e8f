//! Parses an [`Assertion`] or a [`Condition`]. An error names the wrong word and what was expected.

use std::str::FromStr;

use super::assertion::{Assertion, BoundOf, Comparison, Limit, Measure, Statistic, Subject};
use super::condition::Condition;
use tandem_facts::time::Span;

/// Why a text is not an assertion or a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AssertionError {
    /// The byte offset of the wrong word.
    pub offset: usize,
    /// What is wrong with the word, and what is expected.
    pub message: String,
}

const SUBJECTS: [&str; 2] = ["joint", "group"];
const MEASURES: [(&str, Measure); 3] =
    [("gap", Measure::Gap), ("overlap", Measure::Overlap), ("takeover", Measure::Takeover)];
const STATISTICS: [(&str, Statistic); 6] = [
    ("count", Statistic::Count),
    ("min", Statistic::Min),
    ("p50", Statistic::P50),
    ("p95", Statistic::P95),
    ("p99", Statistic::P99),
    ("max", Statistic::Max),
];
/// Longest first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("==", Comparison::Equal),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];
/// Intervals that can be detected while they last.
const LASTING: [(&str, Measure); 2] = [("gap", Measure::Gap), ("overlap", Measure::Overlap)];
const EXCESSES: [(&str, Comparison); 2] = [(">=", Comparison::AtLeast), (">", Comparison::Above)];
const BOUNDS: [(&str, BoundOf); 2] = [("gap", BoundOf::Gap), ("overlap", BoundOf::Overlap)];

/// A word and its offset.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Word<'a> {
    fn trimmed(self) -> Self {
        let start = self.text.len() - self.text.trim_start().len();
        Self { text: self.text.trim(), offset: self.offset + start }
    }

    /// The part of this word from byte `at` on.
    fn part(self, at: usize, text: &'a str) -> Self {
        Self { text, offset: self.offset + at }
    }

    fn wrong<T>(self, message: impl Into<String>) -> Result<T, AssertionError> {
        Err(AssertionError { offset: self.offset, message: message.into() })
    }

    /// Looks up the word; `what` names the kind of word.
    fn among<T: Copy>(self, what: &str, known: &[(&str, T)]) -> Result<T, AssertionError> {
        if let Some((_, value)) = known.iter().find(|(name, _)| *name == self.text) {
            return Ok(*value);
        }
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        self.unknown(what, &names)
    }

    fn unknown<T>(self, what: &str, names: &[&str]) -> Result<T, AssertionError> {
        let hint = match nearest(self.text, names) {
            Some(name) => format!(" (did you mean '{name}'?)"),
            None => String::new(),
        };
        self.wrong(format!("unknown {what} '{}': one of {}{hint}", self.text, names.join(", ")))
    }
}

impl FromStr for Assertion {
    type Err = AssertionError;

    fn from_str(text: &str) -> Result<Self, AssertionError> {
        let whole = Word { text, offset: 0 }.trimmed();
        let missing =
            "a comparison is missing: one of ==, <=, <, >=, >, as in joint.gap.max == 0ms";
        let [left, sign, right] = compared(whole, missing)?;
        let comparison = sign.among("comparison", &COMPARISONS)?;
        let measured = measured(left)?;
        let limit = limit(right, &measured)?;
        Ok(Self::new(whole.text, measured, (comparison, limit)))
    }
}

impl FromStr for Condition {
    type Err = AssertionError;

    fn from_str(text: &str) -> Result<Self, AssertionError> {
        let whole = Word { text, offset: 0 }.trimmed();
        let missing = "a comparison is missing: > or >=, as in joint.gap > 30s";
        let [left, sign, right] = compared(whole, missing)?;
        let comparison = sign.among("comparison", &EXCESSES)?;
        let Some(dot) = left.text.rfind('.') else {
            let form = "is not of the form subject.measure, as in joint.gap";
            return left.wrong(format!("'{}' {form}", left.text));
        };
        let (subject, measure) = left.text.split_at(dot);
        let measure = left.part(dot + 1, measure.get(1..).unwrap_or_default());
        if STATISTICS.iter().any(|(name, _)| *name == measure.text) {
            return measure.wrong(format!(
                "there is no '{}' of an interval that is still on: write joint.gap > 30s",
                measure.text
            ));
        }
        let subject = read_subject(left.part(0, subject))?;
        let measured = (subject, measure.among("measure", &LASTING)?);
        match right.text.parse() {
            Ok(than) => Ok(Self::new(whole.text, measured, (comparison, than))),
            Err(error) => right.wrong(tandem_facts::time::SpanError::to_string(&error)),
        }
    }
}

/// The left side, the comparison and the right side.
fn compared<'a>(whole: Word<'a>, missing: &str) -> Result<[Word<'a>; 3], AssertionError> {
    let signs = ['=', '<', '>', '!'];
    let Some(at) = whole.text.find(signs) else {
        return Word { text: "", offset: whole.offset + whole.text.len() }.wrong(missing);
    };
    let (left, right) = whole.text.split_at(at);
    let rest = right.trim_start_matches(signs);
    let (sign, rest) = right.split_at(right.len() - rest.len());
    let right = whole.part(at + sign.len(), rest).trimmed();
    Ok([whole.part(0, left).trimmed(), whole.part(at, sign), right])
}

/// The left side. A group's name may contain dots, so it is parsed from its end.
fn measured(left: Word<'_>) -> Result<(Subject, Measure, Statistic), AssertionError> {
    let dots = left.text.rfind('.').and_then(|second| {
        let first = left.text.get(..second)?.rfind('.')?;
        Some((first, second))
    });
    let Some((first, second)) = dots else {
        return left.wrong(format!(
            "'{}' is not of the form subject.measure.statistic, as in joint.gap.max",
            left.text
        ));
    };
    let part =
        |from: usize, until: usize| left.part(from, left.text.get(from..until).unwrap_or_default());
    let subject = part(0, first);
    let word = part(first + 1, second);
    let statistic = part(second + 1, left.text.len());
    let statistic = statistic.among("statistic", &STATISTICS)?;
    let measure = word.among("measure", &MEASURES)?;
    let subject = read_subject(subject)?;
    if measure == Measure::Takeover && subject == Subject::Joint {
        return word.wrong(
            "a takeover happens within a group: write group.takeover, or joint.gap for all groups",
        );
    }
    Ok((subject, measure, statistic))
}

fn read_subject(word: Word<'_>) -> Result<Subject, AssertionError> {
    match word.text.split_once('.') {
        None if word.text == "joint" => Ok(Subject::Joint),
        None if word.text == "group" => Ok(Subject::EachGroup),
        Some(("group", name)) => {
            let place = word.part("group.".len(), name);
            name.parse()
                .map(Subject::Group)
                .or_else(|error: tandem_facts::ids::NameError| place.wrong(error.to_string()))
        }
        None | Some(_) => {
            let first = word.text.split('.').next().unwrap_or_default();
            word.part(0, first).unknown("subject", &SUBJECTS)
        }
    }
}

/// The right side, whose type must fit the left side.
fn limit(
    word: Word<'_>,
    (subject, _, statistic): &(Subject, Measure, Statistic),
) -> Result<Limit, AssertionError> {
    if word.text.is_empty() {
        return word.wrong("a limit is missing: a duration as 250ms, a count, or bound.group.gap");
    }
    if *statistic == Statistic::Count {
        return word.text.parse().map(Limit::Count).or_else(|_| {
            word.wrong(format!("a count is compared with a whole number, not with '{}'", word.text))
        });
    }
    if word.text.split('.').next() == Some("bound") {
        return bound(word, subject);
    }
    match word.text.parse::<Span>() {
        Ok(span) => Ok(Limit::Duration(span)),
        Err(error) => word.wrong(error.to_string()),
    }
}

fn bound(word: Word<'_>, subject: &Subject) -> Result<Limit, AssertionError> {
    let parts: Vec<&str> = word.text.split('.').collect();
    let &[_, scope, of] = parts.as_slice() else {
        return word.wrong(format!(
            "'{}' is not a bound: write bound.joint.gap or bound.group.overlap",
            word.text
        ));
    };
    let place = word.part("bound.".len(), scope);
    let of = word.part("bound.".len() + scope.len() + 1, of).among("bound", &BOUNDS)?;
    match scope {
        "joint" => Ok(Limit::JointBound(of)),
        "group" if *subject == Subject::Joint => {
            place.wrong("what is joint belongs to no group: compare it with bound.joint")
        }
        "group" => Ok(Limit::GroupBound(of)),
        _ => place.unknown("scope of a bound", &SUBJECTS),
    }
}

/// The closest name, if it is close enough to be a probable misspelling.
fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let mut near: Vec<(usize, &str)> =
        names.iter().map(|name| (strsim::levenshtein(word, name), *name)).collect();
    near.sort_unstable();
    let (best, name) = *near.first()?;
    let alone = near.get(1).is_none_or(|(next, _)| *next > best);
    (alone && best <= 2 && best < name.len()).then_some(name)
}
