//! Subscriptions by a regular expression: a member gets each topic whose whole name matches.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::{Regex, RegexBuilder};

use super::catalog::Catalog;
use super::group::ConsumerGroup;
use super::member::ConsumerMember;

/// The most bytes of a compiled expression. A name has at most 249 bytes, and a match takes at most
/// a step for each of both.
const COMPILED_BYTES_MAX: usize = 64 * 1024;

/// A regular expression for whole names.
#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    /// None if the expression is not valid, or too large.
    pub(super) fn new(regex: &str) -> Option<Self> {
        let compile =
            |text: &str| RegexBuilder::new(text).size_limit(COMPILED_BYTES_MAX).build().ok();
        // On its own as well: `a)(b` is not valid, although it would be in parentheses.
        compile(regex)?;
        compile(&format!("^(?:{regex})$")).map(Self)
    }

    fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl Catalog {
    fn matching(&self, regex: &str) -> BTreeSet<String> {
        let pattern = Pattern::new(regex);
        let matches = |name: &&String| pattern.as_ref().is_some_and(|it| it.matches(name));
        self.names().filter(matches).cloned().collect()
    }
}

impl ConsumerGroup {
    /// The topics that a member subscribes to, as far as they are known.
    pub(super) fn subscription(&self, member: &ConsumerMember) -> BTreeSet<String> {
        let matched = member.regex.as_ref().and_then(|regex| self.resolved.get(regex));
        member.topics.iter().chain(matched.into_iter().flatten()).cloned().collect()
    }

    /// The topics that any member subscribes to.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.members.values().flat_map(|member| self.subscription(member)).collect()
    }

    /// Whether the topics of a member's regular expression are known, or it has none.
    pub(super) fn is_resolved(&self, id: &str) -> bool {
        let regex = self.members.get(id).and_then(|member| member.regex.as_ref());
        regex.is_none_or(|regex| self.resolved.contains_key(regex))
    }

    /// Looks up the topics of each regular expression, if that may bring others. Returns whether
    /// one has other topics than before: its members get them with the next epoch, even if other
    /// members subscribe to them already.
    pub(super) fn resolve(&mut self, catalog: &Catalog) -> bool {
        let renewed = self.resolved_at == catalog.changes() || self.resolved.is_empty();
        if renewed && !self.regexes_changed {
            return false;
        }
        let regexes = self.members.values().filter_map(|member| member.regex.as_ref());
        let regexes: BTreeSet<&String> = regexes.collect();
        let matching = |regex: &String| (regex.clone(), catalog.matching(regex));
        let resolved: BTreeMap<_, _> = regexes.into_iter().map(matching).collect();
        let before = std::mem::replace(&mut self.resolved, resolved);
        self.resolved_at = catalog.changes();
        self.regexes_changed = false;
        let none = BTreeSet::new();
        let known = |regex: &String| before.get(regex).unwrap_or(&none);
        self.resolved.iter().any(|(regex, topics)| known(regex) != topics)
    }
}
