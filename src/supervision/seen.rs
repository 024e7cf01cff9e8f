//! Which facts were read already, where the same may come again.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::ids::{Incarnation, MemberId};
use crate::observation::Fact;

/// The latest fact of each member's latest life, and of the supervisor itself.
#[derive(Debug, Clone, Default)]
pub struct Seen(BTreeMap<Option<MemberId>, (Incarnation, u64)>);

impl Seen {
    /// This fact is read.
    pub fn add(&mut self, fact: &Fact) {
        let (writer, place) = place(fact);
        if let Some(latest) = self.0.get_mut(&writer) {
            *latest = (*latest).max(place);
        } else {
            self.0.insert(writer, place);
        }
    }

    /// Whether this fact, or a later one of the same writer, was read.
    #[must_use]
    pub fn has(&self, fact: &Fact) -> bool {
        let (writer, place) = place(fact);
        self.0.get(&writer).is_some_and(|latest| place.cmp(latest) != Ordering::Greater)
    }
}

/// The writer of a fact, and the place of the fact among all that it writes.
fn place(fact: &Fact) -> (Option<MemberId>, (Incarnation, u64)) {
    let life = fact.life.as_ref().filter(|_| fact.what.is_by_member());
    let incarnation = life.map_or(Incarnation(0), |life| life.incarnation);
    (life.map(|life| life.member.clone()), (incarnation, fact.seq))
}
