//! When members left their group, by what they say themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::recent::{retain_latest, retain_latest_of};
use crate::timeline::{Going, GoingStep};
use tandem_facts::ids::Life;
use tandem_facts::observation::{Fact, What};
use tandem_facts::time::Mono;

/// The leaves of the lives of one group. A life may leave several times: while its program is
/// unhealthy it is not in the group.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaves {
    /// Each with the instant from which on the life leads no more.
    leaves: BTreeSet<(Mono, Life)>,
    /// Lives that have left, and have not come back.
    left: BTreeSet<Life>,
    /// The way out of each life, and when its first claim ended as those of a leave do.
    ends: BTreeMap<Life, (Going, Option<Mono>)>,
}

impl Leaves {
    /// Takes a fact that `life` wrote, in the order of `seq`.
    pub(super) fn hear(&mut self, life: &Life, fact: &Fact) {
        let What::Member(event) = &fact.what else { return };
        // Nearly all facts are of a life that is known, and need no copy of its name.
        let (going, first) = match self.ends.get_mut(life) {
            Some(known) => known,
            None => self.ends.entry(life.clone()).or_default(),
        };
        match going.observe(event) {
            GoingStep::Other => {}
            GoingStep::Stays => {
                *first = None;
                // It is back, if it had left.
                self.left.remove(life);
            }
            GoingStep::Loses | GoingStep::Releases => *first = None,
            GoingStep::Ends(at) => *first = Some(first.map_or(at, |first| at.min(first))),
            GoingStep::Left => {
                let began = first.take().map_or(fact.t, |end| end.min(fact.t));
                self.leaves.insert((began, life.clone()));
                self.left.insert(life.clone());
            }
        }
    }

    /// Whether the life has left, and has not come back.
    pub(super) fn has_left(&self, life: &Life) -> bool {
        self.left.contains(life)
    }

    /// The latest leave at `at`, less those that were asked for by a fault.
    pub(super) fn latest(
        &self,
        at: Mono,
        is_asked: impl Fn(Mono, &Life) -> bool,
    ) -> Option<(Mono, &Life)> {
        let mut leaves = self.leaves.iter().rev().filter(|(began, _)| *began <= at);
        leaves.find(|(began, life)| !is_asked(*began, life)).map(|(began, life)| (*began, life))
    }

    /// Forgets leaves before `at`.
    pub(super) fn drop_before(&mut self, at: Mono) {
        self.leaves.retain(|(began, _)| *began >= at);
        retain_latest(&mut self.left);
        retain_latest_of(&mut self.ends);
    }
}
