//! The positions of a topology's parts in its file.

use super::Shareable;
use super::shared_fate::Fate;
use crate::ids::GroupName;
use crate::yaml::{Cursor, Origin, Problem};

/// The positions of a topology's parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a>(Cursor<'a>);

impl<'a> Places<'a> {
    pub(super) fn of(root: Cursor<'a>) -> Self {
        Self(root)
    }

    pub(super) fn root(self) -> Cursor<'a> {
        self.0
    }

    /// A problem of the whole file.
    pub(super) fn whole(self, message: impl Into<String>) -> Problem {
        Problem::at(self.0.origin(), message)
    }

    pub(super) fn group(self, name: &GroupName) -> Cursor<'a> {
        self.0.key("groups").key(name.as_str())
    }

    /// The position of a group's setting: its own, else the default's, else the group's.
    pub(super) fn setting(self, group: &GroupName, key: &str) -> Origin {
        let own = self.group(group).key(key);
        let common = self.0.key("defaults").key(key);
        if own.exists() || !common.exists() { own.origin() } else { common.origin() }
    }

    /// The problem of groups that share what they must not.
    pub(super) fn shared(self, fate: &Fate) -> Problem {
        let origin = match fate.groups.last() {
            Some(last) => self.group(last).key(fate.key).origin(),
            None => self.0.origin(),
        };
        let hint = if fate.what == Shareable::Group {
            "groups that share it are one group".to_owned()
        } else {
            format!("`disjoint` names `{}`", fate.what)
        };
        Problem::at(origin, fate.sentence()).hint(hint)
    }
}
